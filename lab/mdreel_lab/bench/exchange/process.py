"""A process of a pair: ``python -m mdreel_lab.bench.exchange.process ROLE``.

Its work is the first line of its standard input. It says that it is ready, begins at the second line, and says at its
end what each frame took. That of a producer is the end of its input, which comes when the consumer has every frame.
"""

import json
import sys
import time
from typing import Any

from mdreel.errors import MdreelError
from mdreel_lab.bench.exchange.catalogue import module_of
from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.regions import CONSUME, PRODUCE, Regions
from mdreel_lab.bench.exchange.work import Work

READY = "ready"
PROBLEM = "mdreel: "
"""What a line begins with that says why a process has failed: launchers add lines of their own."""


def main() -> None:
    """Do what the command line says."""
    role, work = sys.argv[1], Work.of_json(sys.stdin.readline())
    try:
        found = produce(work) if role == PRODUCE else consume(work)
    except (MdreelError, OSError, RuntimeError) as error:
        print(f"{PROBLEM}{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(1)
    print(json.dumps(found))


def produce(work: Work) -> dict[str, Any]:
    """Compute frames, that is, sleep, and put them.

    Returns
    -------
    dict
        The times of regions, and when each frame was begun to be put, ns.
    """
    regions, frame, when = Regions(), SerialisedFrame(work.molecule, seed=1), []
    with module_of(work.solution).Sender(work) as sender:
        _await_begin()
        for number in range(work.n_frames):
            time.sleep(work.period)
            frame.mark(number)
            when.append(time.time_ns())
            with regions(PRODUCE):
                sender.put(number, frame, regions)
        sys.stdin.readline()  # frames may be on their way, and what sends them has to stay until they are there
    return {"regions": regions.as_json(), "when": when}


def consume(work: Work) -> dict[str, Any]:
    """Get frames, check them, and analyse them, that is, sleep.

    Returns
    -------
    dict
        The times of regions, and when each frame was there, ns.
    """
    regions, frame, when = Regions(), SerialisedFrame(work.molecule), []
    with module_of(work.solution).Receiver(work) as receiver:
        _await_begin()
        for number in range(work.n_frames):
            with regions(CONSUME):
                receiver.get(number, frame, regions)
            when.append(time.time_ns())
            frame.check(number)
            time.sleep(work.analysis)
            receiver.done(regions)
    return {"regions": regions.as_json(), "when": when}


def _await_begin() -> None:
    print(READY, flush=True)
    if not sys.stdin.readline():
        raise RuntimeError("nobody said when to begin")


if __name__ == "__main__":
    main()
