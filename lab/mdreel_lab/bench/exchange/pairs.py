"""Pairs: a producer and a consumer, started, set going together with others, and asked for what they have recorded."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from select import select
from time import monotonic
from typing import IO, Any, Self

from mdreel_lab.bench.exchange.process import PROBLEM, READY
from mdreel_lab.bench.exchange.regions import CONSUME, PRODUCE
from mdreel_lab.bench.exchange.work import PATIENCE, Work
from mdreel_lab.bench.processes import end

_LOOK_SECONDS = 0.02
_ONE_THREAD = ("OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "RAYON_NUM_THREADS=1")


@dataclass(frozen=True)
class Node:
    """A place of processes, with the command that runs another one there: this machine by default."""

    address: str = "127.0.0.1"
    entrance: tuple[str, ...] = ()


class _Member:
    """One process of a pair."""

    def __init__(self, role: str, work: Work, entrance: Sequence[str]) -> None:
        self._name = f"the {'producer' if role == PRODUCE else 'consumer'}"
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed at the end
        # Launchers need not hand on variables, and remote shells take words apart: work goes by standard input.
        command = [*entrance, "env", *_ONE_THREAD, sys.executable, "-m", "mdreel_lab.bench.exchange.process", role]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        self._tell(work.to_json())

    def is_ready(self, patience: float) -> bool:
        """Wait a moment for it; raise a `RuntimeError` if it has ended."""
        assert self._process.stdout is not None
        if not select([self._process.stdout], [], [], patience)[0]:
            return False
        if self._process.stdout.readline().strip() != READY:
            raise RuntimeError(self.problem())
        return True

    def begin(self) -> None:
        self._tell("")

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # one that has ended says why
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def found(self, until: float) -> dict[str, Any]:
        """Let it end, and return what it has recorded; raise a `RuntimeError` if it fails, or does not end in time."""
        try:
            output, _ = self._process.communicate(timeout=max(0.1, until - monotonic()))
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{self._name} did not end in time") from None
        if self._process.returncode:
            raise RuntimeError(self.problem())
        found: dict[str, Any] = json.loads(output.splitlines()[-1])
        return found

    def problem(self) -> str:
        self.end()
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip().splitlines()
        ours = [line.removeprefix(PROBLEM) for line in said if line.startswith(PROBLEM)]
        last = [*said, *ours][-1:] or [f"exit code {self._process.returncode}"]
        return f"{self._name}: {last[0]}"

    def end(self) -> None:
        end(self._process)

    def close(self) -> None:
        self.end()
        for file in (self._process.stdin, self._process.stdout, self._errors):
            if file is not None and not file.closed:
                file.close()


class Pairs:
    """Several pairs that do their work at the same time."""

    def __init__(self, works: Sequence[Work], nodes: Sequence[tuple[Node, Node]]) -> None:
        self._works = works
        self._nodes = nodes
        self._members: list[tuple[_Member, _Member]] = []

    def run(self) -> tuple[float, list[dict[str, Any]]]:
        """Run them; return how long it took, s, and the records of ``produce`` and ``consume`` of each pair.

        Raise a `RuntimeError` if one of them fails.
        """
        members = [member for pair in self._members for member in pair]
        _await(members)
        began = monotonic()
        for member in members:
            member.begin()
        slowest = max(work.n_frames * (work.period + work.analysis) + work.seconds for work in self._works)
        until = began + 2 * slowest + PATIENCE
        # A consumer that has failed is why its producer waits.
        found = [{CONSUME: member.found(until)} for _, member in self._members]
        for one, (member, _) in zip(found, self._members, strict=True):
            one[PRODUCE] = member.found(until)
        return monotonic() - began, found

    def __enter__(self) -> Self:
        for work, (producer, consumer) in zip(self._works, self._nodes, strict=True):
            pair = (_Member(PRODUCE, work, producer.entrance), _Member(CONSUME, work, consumer.entrance))
            self._members.append(pair)
        return self

    def __exit__(self, *_: object) -> None:
        for pair in self._members:
            for member in pair:
                member.close()


def _await(members: Sequence[_Member]) -> None:
    """Return when all are ready: who waits for somebody that has failed does not say why."""
    until, waiting = monotonic() + PATIENCE, list(members)
    while waiting:
        waiting = [member for member in waiting if not member.is_ready(_LOOK_SECONDS)]
        if monotonic() > until:
            raise RuntimeError(f"{len(waiting)} of {len(members)} processes were not ready after {PATIENCE:g} s")
