"""Options for the archive of a producer."""

import fcntl
import os
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import monotonic, sleep

GROUP = "archive"
"""Default consumer group of archives."""

_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Archive:
    """File to which a separate process writes the frames of a producer.

    Attributes
    ----------
    path : path
        Output file, whose format is determined by its suffix. A hidden name will be used for this file until the
        simulation has ended.
    precision : float, optional
        Precision of XTC files, in integers per nm. The default is 1000.
    group : str
        Consumer group that records which frames are in the file.
    force : bool
        Whether to replace an existing file, which is kept until the new file is complete.

    Notes
    -----
    H5MD stores float32 positions, velocities and forces exactly, together with steps and times. DCD and NetCDF store
    positions exactly, but times less precisely. TRR and XTC store coordinates in nm. Note that this conversion can
    change the last bit of numbers in TRR files, and that XTC files round positions to their precision.

    Examples
    --------
    >>> import numpy as np
    >>> import mdreel
    >>> archive = mdreel.live.Archive("run1.xtc", precision=100)
    >>> with mdreel.live.Producer("run1", n_atoms=3, archive=archive) as producer:
    ...     for step in range(5):
    ...         frame = producer.publish(np.zeros((3, 3), np.float32), step, 0.002 * step)
    >>> mdreel.open("run1.xtc").n_frames
    5
    """

    path: str | PathLike[str]
    precision: float | None = None
    group: str = GROUP
    force: bool = False


def part_path(path: Path) -> Path:
    """Return the hidden path of an incomplete archive, in the folder of the file."""
    final = path.resolve()
    return final.with_name(f".{final.name}.archive")


def wait_until_unused(path: Path, seconds: float) -> bool:
    """Wait up to `seconds` s until no process is writing an archive. Return whether it is unused."""
    until = monotonic() + seconds
    while True:
        try:
            file = os.open(part_path(path), os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() >= until:
                return False
        else:
            return True
        finally:
            os.close(file)
        sleep(_POLL_SECONDS)
