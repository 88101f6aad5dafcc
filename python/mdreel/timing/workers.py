"""Workers of a run, with their processes, hosts and peak memory."""

import os
import socket
from dataclasses import dataclass, field
from mmap import PAGESIZE
from typing import Self


@dataclass(frozen=True)
class Member:
    """A process that took part in a run.

    Attributes
    ----------
    host : str
        Name of its host.
    process : int
        Process ID.
    peak_bytes : int
        Largest observed anonymous memory in bytes, which does not include pages of mapped files. It is 0 if the
        operating system does not report it.
    """

    host: str
    process: int
    peak_bytes: int


@dataclass
class Watch:
    """Observes the memory usage of this process.

    Attributes
    ----------
    peak_bytes : int
        Largest anonymous memory so far, in bytes.
    """

    peak_bytes: int = 0
    _host: str = field(default_factory=socket.gethostname)
    _process: int = field(default_factory=os.getpid)

    def look(self) -> Self:
        """Measure the memory."""
        self.peak_bytes = max(self.peak_bytes, anonymous_bytes())
        return self

    @property
    def member(self) -> Member:
        """Description of this process."""
        return Member(self._host, self._process, self.peak_bytes)


def anonymous_bytes() -> int:
    """Return the anonymous memory of this process in bytes, or 0 if the operating system does not report it."""
    # Called every 50 ms, so it reads a short file that is fast to parse.
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:  # noqa: PTH123 (a Path takes as long as the rest)
            _, resident, shared, *_ = file.read().split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * PAGESIZE
