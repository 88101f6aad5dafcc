"""Identification of processes, including the distinction from later processes with the same process ID."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_START = 19
"""Index of the start time among the fields after the program name (field 22 in proc_pid_stat(5))."""


@dataclass(frozen=True)
class Process:
    """Process of this machine.

    Attributes
    ----------
    number : int
        Process ID.
    start : int
        Start time in clock ticks since boot, or 0 if it is unknown.
    """

    number: int
    start: int

    @classmethod
    def current(cls) -> Self:
        """Return the current process."""
        return cls.from_id(os.getpid())

    @classmethod
    def from_id(cls, number: int) -> Self:
        """Return the process that currently has a process ID."""
        return cls(number, _facts(number)[1] or 0)

    @property
    def is_alive(self) -> bool:
        """Whether the process exists and is not a zombie."""
        state, start = _facts(self.number)
        return start == self.start and state not in ("Z", "X")


def _facts(number: int) -> tuple[str, int | None]:
    """Return the state and the start time of a process. The start time is None if the process does not exist."""
    try:
        said = Path(f"/proc/{number}/stat").read_bytes()
    except OSError:
        return "", None
    # The program name is in parentheses and may contain parentheses.
    fields = said[said.rindex(b")") + 1 :].split()
    return fields[0].decode(), int(fields[_START])
