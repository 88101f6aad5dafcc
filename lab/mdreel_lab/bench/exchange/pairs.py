"""Pairs of a producer and a consumer: their processes, and the records of these."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from select import select
from time import monotonic
from typing import IO, Any

from mdreel_lab.bench.exchange.process import PROBLEM, READY
from mdreel_lab.bench.exchange.regions import CONSUME, PRODUCE
from mdreel_lab.bench.exchange.work import PATIENCE, Work
from mdreel_lab.bench.processes import end

_LOOK_SECONDS = 0.02
_ONE_THREAD = ("OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "RAYON_NUM_THREADS=1")


@dataclass(frozen=True)
class Node:
    """A node for processes, with the command that starts a process on it; by default this machine."""

    address: str = "127.0.0.1"
    entrance: tuple[str, ...] = ()


class _Member:
    """One process of a pair."""

    def __init__(self, role: str, work: Work, entrance: Sequence[str]) -> None:
        self._name = f"the {'producer' if role == PRODUCE else 'consumer'}"
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed at the end
        # Launchers may drop variables, and remote shells split words, so the order is sent through standard input.
        command = [*entrance, "env", *_ONE_THREAD, sys.executable, "-m", "mdreel_lab.bench.exchange.process", role]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        self._tell(work.to_json())

    def is_ready(self, patience: float) -> bool:
        """Return whether the process is ready within a timeout; raise a `RuntimeError` if it has ended."""
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
        with suppress(BrokenPipeError):  # a process that has ended reports the reason
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def found(self, until: float) -> dict[str, Any]:
        """Return the record of the process; raise a `RuntimeError` if it fails, or does not end in time."""
        try:
            output, _ = self._process.communicate(timeout=max(0.1, until - monotonic()))
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{self._name} did not end in time") from None
        if self._process.returncode:
            raise RuntimeError(self.problem())
        found: dict[str, Any] = json.loads(output.splitlines()[-1])
        return found

    def problem(self) -> str:
        end(self._process)
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip().splitlines()
        ours = [line.removeprefix(PROBLEM) for line in said if line.startswith(PROBLEM)]
        last = [*said, *ours][-1:] or [f"exit code {self._process.returncode}"]
        return f"{self._name}: {last[0]}"

    def close(self) -> None:
        end(self._process)
        for file in (self._process.stdin, self._process.stdout, self._errors):
            if file is not None and not file.closed:
                file.close()


def run_pairs(works: Sequence[Work], nodes: Sequence[tuple[Node, Node]]) -> tuple[float, list[dict[str, Any]]]:
    """Run pairs that do their work at the same time, each on the node of its producer and that of its consumer.

    Return how long it took, s, and the records of ``produce`` and ``consume`` of each pair. Raise a `RuntimeError` if
    one of them fails.
    """
    with ExitStack() as stack:
        pairs: list[dict[str, _Member]] = []
        for work, of_pair in zip(works, nodes, strict=True):
            pairs.append({})
            for role, node in zip((PRODUCE, CONSUME), of_pair, strict=True):
                pairs[-1][role] = _Member(role, work, node.entrance)
                stack.callback(pairs[-1][role].close)
        members = [member for pair in pairs for member in pair.values()]
        _await(members)
        began = monotonic()
        for member in members:
            member.begin()
        slowest = max(work.n_frames * (work.period + work.analysis) + work.seconds for work in works)
        until = began + 2 * slowest + PATIENCE
        # A producer waits for a consumer that has failed, so report the error of the consumer first.
        found = [{CONSUME: pair[CONSUME].found(until)} for pair in pairs]
        for one, pair in zip(found, pairs, strict=True):
            one[PRODUCE] = pair[PRODUCE].found(until)
        return monotonic() - began, found


def _await(members: Sequence[_Member]) -> None:
    """Return when all processes are ready; raise the error of the first that has failed."""
    until, waiting = monotonic() + PATIENCE, list(members)
    while waiting:
        waiting = [member for member in waiting if not member.is_ready(_LOOK_SECONDS)]
        if monotonic() > until:
            raise RuntimeError(f"{len(waiting)} of {len(members)} processes were not ready after {PATIENCE:g} s")
