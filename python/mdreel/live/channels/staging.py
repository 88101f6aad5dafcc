"""Staging of frames on disk, so that they survive the memory of the node."""

from dataclasses import dataclass
from os import PathLike


@dataclass(frozen=True)
class Staging:
    """Files on disk to which a producer writes its frames before it publishes them.

    Attributes
    ----------
    path : path
        Directory on a disk of the node, created if it does not exist. Each channel needs its own.
    level : {"file", "fsync"}
        Durability of a published frame: it survives the end of all processes (``file``), or also a crash of the
        machine (``fsync``).
    n_frames : int, optional
        Minimum number of frames to retain; older frames may be deleted.
    n_bytes : int, optional
        Maximum total size of the files, bytes, as long as there is more than one.
    seconds : float, optional
        Age at which frames are deleted, s.
    segment_bytes : int
        Size at which a new file is started. Only whole files are deleted.

    Notes
    -----
    Without `n_frames`, `n_bytes` and `seconds`, all frames are retained.

    mdreel writes new frames into the files of deleted frames, which is faster than creating files. Copy a file to
    keep its frames. A file with a second hard link is deleted and not reused.

    Examples
    --------
    >>> import numpy as np
    >>> import mdreel
    >>> staging = mdreel.live.Staging("run1.staging", n_frames=1000)
    >>> with mdreel.live.Producer("run1", n_atoms=3, staging=staging) as producer:
    ...     producer.publish(np.zeros((3, 3), np.float32), step=0, time=0.0)
    Published(sequence=0, level='file')
    """

    path: str | PathLike[str]
    level: str = "file"
    n_frames: int | None = None
    n_bytes: int | None = None
    seconds: float | None = None
    segment_bytes: int = 64 << 20
