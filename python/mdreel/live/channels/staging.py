"""Staging of frames on disk, where they remain available after they have left the memory of the node."""

from dataclasses import dataclass
from os import PathLike


@dataclass(frozen=True)
class Staging:
    """Files on disk to which a producer writes frames before it publishes them.

    Attributes
    ----------
    path : path
        Directory on a disk of the node, which will be created if it does not exist. Each channel needs its own
        directory.
    level : {"file", "fsync"}
        Durability of published frames. Use ``"file"`` if they should remain available after all processes have ended,
        or ``"fsync"`` if they should also survive a crash of the machine.
    n_frames : int, optional
        Minimum number of frames to retain. Older frames can be deleted.
    n_bytes : int, optional
        Maximum total size of the files, in bytes. At least one file is always retained.
    seconds : float, optional
        Age at which frames are deleted, in s.
    segment_bytes : int
        File size, in bytes, at which a new file is started. Only whole files can be deleted.

    Notes
    -----
    If you set none of `n_frames`, `n_bytes` and `seconds`, all frames are retained. If possible, mdreel writes each
    frame directly to a file that consumers read from memory. Frames that are still in the ring of the channel then also
    remain in these files, so more than `n_frames` frames can be retained. If frames have 128 KiB or more, files are
    prepared before they are needed: by the producer when it is created, or by a thread while the simulation continues.
    These files get their names when frames are written to them. They take up to 256 MiB of disk space.

    The files of deleted frames are overwritten with new frames, because this is faster than creating new files. If you
    want to keep the frames in a file, you should therefore copy the file. A file that has a second hard link is deleted
    instead of being reused.

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
