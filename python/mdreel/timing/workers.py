"""Workers of a run: process, host and peak memory."""

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
        Its number there.
    peak_bytes : int
        The most anonymous memory that it was seen to take, bytes; pages of mapped files do not count. 0 where the
        system does not say.
    """

    host: str
    process: int
    peak_bytes: int


@dataclass
class Watch:
    """What a process keeps of itself while it works; memory is looked at now and then.

    Attributes
    ----------
    peak_bytes : int
        The most anonymous memory so far, bytes.
    """

    peak_bytes: int = 0
    _host: str = field(default_factory=socket.gethostname)
    _process: int = field(default_factory=os.getpid)

    def look(self) -> Self:
        """Look at the memory."""
        self.peak_bytes = max(self.peak_bytes, anonymous_bytes())
        return self

    @property
    def member(self) -> Member:
        """What others are told."""
        return Member(self._host, self._process, self.peak_bytes)


def anonymous_bytes() -> int:
    """Return the memory of this process that is no file's, bytes; 0 where the system does not say."""
    # Asked every 50 ms: the short file, and nothing to parse.
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:  # noqa: PTH123 (a Path costs as much as all the rest)
            _, resident, shared, *_ = file.read().split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * PAGESIZE
