"""Staging of frames on a local disk."""

from dataclasses import dataclass
from os import PathLike


@dataclass(frozen=True)
class Staging:
    """Where a producer keeps its frames before it publishes them.

    Attributes
    ----------
    path : path
        A directory of the user's on a disk of the node, which is made if it is not there. It belongs to one channel.
    level : {"file", "fsync"}
        What a published frame survives: all processes (``file``), or the machine as well (``fsync``).
    n_frames : int, optional
        So many frames stay at least; what is older may go.
    n_bytes : int, optional
        The most that all files together take, bytes, while there is more than one.
    seconds : float, optional
        What was written so long ago goes, s.
    segment_bytes : int
        A file of so many bytes is followed by the next; files go as a whole.

    Notes
    -----
    Without `n_frames`, `n_bytes` and `seconds` everything stays.
    """

    path: str | PathLike[str]
    level: str = "file"
    n_frames: int | None = None
    n_bytes: int | None = None
    seconds: float | None = None
    segment_bytes: int = 64 << 20
