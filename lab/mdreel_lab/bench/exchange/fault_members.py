"""Processes that follow orders until they are killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from select import select
from time import monotonic
from typing import Any

from mdreel_lab.bench.exchange.fault_process import BEGIN, DONE, ERROR
from mdreel_lab.bench.exchange.work import Work
from mdreel_lab.bench.processes import processes_by_parent

STARTED_WITHIN = 60.0
"""Timeout of processes that start, and of calls that meet no fault, s."""

MODULE = "mdreel_lab.bench.exchange.fault_process"
WAITS = "waits"
"""Key of the answer of a process that has not answered within a timeout."""


@dataclass(frozen=True)
class Answer:
    """Answer of a process to an order, and the duration of its call, s."""

    key: str
    value: Any = None
    seconds: float = 0.0


class Member:
    """One process of a pair, which follows orders."""

    def __init__(self, role: str, way: str, work: Work, entrance: Sequence[str]) -> None:
        command = [*entrance, sys.executable, "-m", MODULE, role, way]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self._rest = b""
        self._started: dict[int, str] = {}
        self._send(work.to_json())

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n".encode())

    def order(self, what: str, number: int) -> None:
        """Give an order, and return when the process has begun to follow it."""
        self._send(f"{what} {number}")
        answer = self.answer(STARTED_WITHIN)
        if answer.key != BEGIN:
            raise RuntimeError(f"{what} {number}: {answer.key}: {answer.value}")

    def answer(self, patience: float) -> Answer:
        """Return the next answer. Its key is `WAITS` after a timeout, and `ERROR` if the process has ended."""
        until = monotonic() + patience
        assert self._process.stdout is not None
        while b"\n" not in self._rest:
            if not select([self._process.stdout], [], [], max(0.0, until - monotonic()))[0]:
                return Answer(WAITS, seconds=patience)
            came = self._process.stdout.read(65_536)
            if not came:
                return Answer(ERROR, "the process has ended")
            self._rest += came
        line, _, self._rest = self._rest.partition(b"\n")
        return Answer(**json.loads(line))

    def do(self, what: str, number: int) -> Answer:
        """Give an order; return its answer."""
        self.order(what, number)
        answer = self.answer(STARTED_WITHIN)
        if answer.key != DONE:
            raise RuntimeError(f"{what} {number}: {answer.key}: {answer.value}")
        return answer

    def locate(self) -> None:
        """Find the process itself within the namespaces that its entrance has entered, and what it has started."""
        self._started = {process: _since(process) for process in descendants(self._process.pid)}
        words = {process: words_of(process) for process in self._started}
        self._itself = next(one for one, line in words.items() if line[0] == sys.executable and MODULE in line)

    def kill(self) -> None:
        """Kill the process itself with SIGKILL, at once; the processes that it started continue."""
        kill(self._itself)
        self._process.wait()

    def close(self) -> None:
        """Kill the process and what it has started, if they still live."""
        if self._process.poll() is None:
            self._started |= {process: _since(process) for process in descendants(self._process.pid)}
        for process, since in self._started.items():
            if _since(process) == since:
                kill(process)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


def kill(process: int) -> None:
    """Kill a process with SIGKILL, if it still lives."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def descendants(process: int) -> list[int]:
    """Return a process and all that it has started, directly or not."""
    below, found = processes_by_parent(), [process]
    for one in found:
        found += [int(child) for child in below.get(str(one), ())]
    return found


def words_of(process: int) -> list[str]:
    """Return the command line of a process; a single empty word if it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace").split("\0")
    return [""]


def _since(process: int) -> str:
    """Return the start time of a process, which tells it from a later one with the same number."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[19]
    return ""
