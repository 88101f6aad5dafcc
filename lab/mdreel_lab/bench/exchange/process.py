"""A process of a pair: ``python -m mdreel_lab.bench.exchange.process ROLE``.

The first line of its standard input is its work. It prints that it is ready, begins at the second line, and prints the
times of each frame at its end. A producer ends with its input, which ends when the consumer has every frame.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import count
from typing import Any

from mdreel.errors import MdreelError
from mdreel_lab.bench.exchange.barrier import Barrier
from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.regions import CONSUME, PRODUCE, NoRegions, Regions
from mdreel_lab.bench.exchange.solutions.ways import WAYS
from mdreel_lab.bench.exchange.work import ANSWERED, PERIOD, STREAM, Work

READY = "ready"
PROBLEM = "mdreel: "
"""Prefix of the line with the cause of a failure: launchers add lines of their own."""

_REST_SECONDS = 1e-3
"""Pause between two answered frames, s, after which the consumer sleeps."""

_LAST = 2**31 - 1
"""Frame number that marks the end, for a consumer that does not know the number of frames."""


def main() -> None:
    """Run the role on the command line."""
    role, work = sys.argv[1], Work.of_json(sys.stdin.readline())
    try:
        found = produce(work) if role == PRODUCE else consume(work)
    except (MdreelError, OSError, RuntimeError, EOFError) as error:
        print(f"{PROBLEM}{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(1)
    print(json.dumps(found))


def produce(work: Work) -> dict[str, Any]:
    """Compute frames, that is, sleep, and put them.

    Return the times of regions, and for each frame the start (``when``) and the duration (``put``) of putting it, ns.
    """
    regions = Regions() if work.pace == PERIOD else NoRegions()
    frame = SerialisedFrame(work.molecule, seed=1)
    when, taken = [], []
    with WAYS[work.solution][0](work, regions) as sender, _answers(work, listens=True) as answers:
        _await_begin(work, 0)
        for number in due(work, answers):
            frame.mark(number)
            when.append(time.time_ns())
            with regions(PRODUCE):
                sender.put(number, frame)
            taken.append(time.time_ns() - when[-1])
        if work.pace != PERIOD:
            frame.mark(_LAST)
            sender.put(len(when), frame)
        sys.stdin.readline()  # frames may be in transit, so the sender must stay until they have arrived
    return {"regions": regions.as_json(), "when": when, "put": taken}


def due(work: Work, answers: Barrier | None) -> Iterator[int]:
    """Yield the number of each frame when it is due, after the simulation has computed it, that is, slept."""
    if work.pace == PERIOD:
        for number in range(work.n_frames):
            for _ in range(work.n_sleeps):
                time.sleep(work.period / work.n_sleeps)
            yield number
        return
    until = time.monotonic() + work.seconds
    for number in count() if work.pace == STREAM else range(work.n_frames):
        if time.monotonic() >= until:
            return
        if answers is not None:
            if number:
                answers.hear()
            time.sleep(_REST_SECONDS)
        yield number


def consume(work: Work) -> dict[str, Any]:
    """Get frames, check them, and analyse them, that is, sleep.

    Return the times of regions, and the arrival time of each frame, ns.
    """
    regions = Regions() if work.pace == PERIOD else NoRegions()
    frame, when = SerialisedFrame(work.molecule), []
    last = () if work.pace == PERIOD else (_LAST,)
    with WAYS[work.solution][1](work, regions) as receiver, _answers(work, listens=False) as answers:
        _await_begin(work, 1)
        for number in range(work.n_frames) if work.pace == PERIOD else count():
            with regions(CONSUME):
                receiver.get(number, frame)
            there = time.time_ns()
            is_last = frame.check(number, *last) == _LAST
            if not is_last:
                when.append(there)
            if work.analysis:
                time.sleep(work.analysis)
            receiver.done()
            if is_last:
                break
            if answers is not None:
                answers.tell()
    return {"regions": regions.as_json(), "when": when}


def _answers(work: Work, *, listens: bool) -> Any:
    """Return the connection through which a consumer reports that it has a frame; None if it does not report."""
    return Barrier(work, listens=listens, port=work.port + 1) if work.pace == ANSWERED else nullcontext()


def _await_begin(work: Work, side: int) -> None:
    if work.cores is not None:  # binds this thread alone; threads of libraries run on any core
        os.sched_setaffinity(0, {work.cores[side]})
    print(READY, flush=True)
    if not sys.stdin.readline():
        raise RuntimeError("nobody said when to begin")


if __name__ == "__main__":
    main()
