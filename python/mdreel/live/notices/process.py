"""Identities of processes that survive the reuse of process numbers."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_START = 19
"""Which of the fields behind the name of the program is the start: the 22nd of all (proc_pid_stat(5))."""


@dataclass(frozen=True)
class Process:
    """A process.

    Attributes
    ----------
    number : int
        Its number.
    start : int
        When it was started, in ticks since the machine was; 0 where the system does not say.
    """

    number: int
    start: int

    @classmethod
    def this(cls) -> Self:
        """Return the process that asks."""
        return cls.of(os.getpid())

    @classmethod
    def of(cls, number: int) -> Self:
        """Return the process that has a number now."""
        return cls(number, _facts(number)[1] or 0)

    @property
    def is_alive(self) -> bool:
        """Whether it is there, and works on."""
        state, start = _facts(self.number)
        return start == self.start and state not in ("Z", "X")


def _facts(number: int) -> tuple[str, int | None]:
    """Return state and start of a process; no start of one that is not there."""
    try:
        said = Path(f"/proc/{number}/stat").read_bytes()
    except OSError:
        return "", None
    # The name of the program stands in brackets, and may have any.
    fields = said[said.rindex(b")") + 1 :].split()
    return fields[0].decode(), int(fields[_START])
