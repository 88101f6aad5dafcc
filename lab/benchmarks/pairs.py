"""Pairs of processes that are measured: started, set going, and asked for their times."""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
from typing import IO, TYPE_CHECKING, Any, Self

from contender import HERE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peers.channels.work import Work

PIPE_BYTES = 1 << 20
"""Room for the times of all frames that come without a pause: a consumer that cannot tell would wait."""

LIMIT = 120.0
"""What takes longer is ended, s."""


class Pair:
    """A producer and a consumer.

    Parameters
    ----------
    peer
        A module of ``peers.channels``.
    work
        What they do.
    entrances
        Commands that run commands where the producer and the consumer are.
    """

    def __init__(self, peer: str, work: Work, entrances: Sequence[Sequence[str]] = ((), ())) -> None:
        self.name = peer
        self.errors: list[IO[bytes]] = []
        ends = os.pipe()
        fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        try:
            self.consumer = self._start("consume", entrances[1], ends[1], work, None)
            self.producer = self._start("produce", entrances[0], ends[0], work, subprocess.PIPE)
        finally:
            for end in ends:
                os.close(end)
        self.limit = threading.Timer(LIMIT, self.end)
        self.limit.start()

    def _start(
        self, role: str, entrance: Sequence[str], descriptor: int, work: Work, pipe: int | None
    ) -> subprocess.Popen[str]:
        self.errors.append(tempfile.TemporaryFile())  # noqa: SIM115 - closed with the pair
        words = (sys.executable, "-m", "peers.channels.pair", self.name, role, str(descriptor), work.to_json())
        path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
        return subprocess.Popen(
            [*entrance, *words],
            stdin=pipe or subprocess.DEVNULL,
            stdout=pipe or subprocess.DEVNULL,
            stderr=self.errors[-1],
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            pass_fds=[descriptor],
            text=True,
        )

    def await_ready(self) -> None:
        """Wait until both are there."""
        assert self.producer.stdout is not None
        if self.producer.stdout.readline() != "ready\n":
            raise RuntimeError(self._why())

    def begin(self) -> None:
        """Have it publish."""
        assert self.producer.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.producer.stdin.write("\n")
            self.producer.stdin.flush()

    def times(self) -> dict[str, list[int]]:
        """Return what the producer found, ns, when both have ended."""
        output, _ = self.producer.communicate()
        if self.producer.returncode or self.consumer.wait():
            raise RuntimeError(self._why())
        found: dict[str, list[int]] = json.loads(output.splitlines()[-1])
        return found

    def end(self) -> None:
        """End both."""
        for process in (self.producer, self.consumer):
            process.kill()

    def _why(self) -> str:
        self.end()
        lines = []
        for process, file in zip((self.consumer, self.producer), self.errors, strict=True):
            status = process.wait()
            file.seek(0)
            said = file.read().decode(errors="replace").strip().splitlines()
            lines.append(said[-1] if said else f"exit status {status}")
        return f"consumer: {lines[0]}; producer: {lines[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.limit.cancel()
        self.end()
        for process in (self.producer, self.consumer):
            process.wait()
        for file in (self.producer.stdin, self.producer.stdout, *self.errors):
            if file is not None:
                with contextlib.suppress(BrokenPipeError):
                    file.close()


def run(peer: str, work: Work, entrances: Sequence[Sequence[str]] = ((), ())) -> dict[str, list[int]]:
    """Return the times of one pair, ns."""
    with Pair(peer, work, entrances) as pair:
        pair.await_ready()
        pair.begin()
        return pair.times()


def run_at_once(
    peer: str, works: Sequence[Work], entrances: Sequence[Sequence[str]] = ((), ())
) -> list[dict[str, list[int]]]:
    """Return the times of pairs that begin at the same time, ns."""
    with contextlib.ExitStack() as stack:
        pairs = [stack.enter_context(Pair(peer, work, entrances)) for work in works]
        for pair in pairs:
            pair.await_ready()
        for pair in pairs:
            pair.begin()
        found: list[Any] = [None] * len(pairs)
        threads = [threading.Thread(target=_keep, args=(found, number, pair)) for number, pair in enumerate(pairs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for problem in found:
            if isinstance(problem, RuntimeError):
                raise problem
        return found


def _keep(found: list[Any], number: int, pair: Pair) -> None:
    try:
        found[number] = pair.times()
    except RuntimeError as error:
        found[number] = error


def spread(nanoseconds: Sequence[int]) -> dict[str, float]:
    """Return the median and the 99th percentile, µs, and of how many."""
    ordered = sorted(nanoseconds)
    n = len(ordered)
    ranks = {"median": math.ceil(0.5 * n) - 1, "p99": math.ceil(0.99 * n) - 1}
    return {"n": n} | {name: round(ordered[rank] / 1e3, 3) for name, rank in ranks.items()}


def bandwidth(n_bytes: int, times: dict[str, list[int]]) -> float:
    """Return what came in a second, GB/s."""
    when = times["when"]
    if len(when) < 2:
        raise RuntimeError("fewer than two frames came")
    return n_bytes * (len(when) - 1) / (when[-1] - when[0])


def together(n_bytes: int, found: Sequence[dict[str, list[int]]]) -> list[float]:
    """Return what came to each of several pairs while all of them were at it, GB/s."""
    begin, end = max(times["when"][0] for times in found), min(times["when"][-1] for times in found)
    if end <= begin:
        raise RuntimeError("the pairs were never all at it at the same time")
    return [n_bytes * sum(begin < when <= end for when in times["when"]) / (end - begin) for times in found]
