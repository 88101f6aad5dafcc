"""Archive options of a producer."""

import fcntl
import os
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import monotonic, sleep

GROUP = "archive"
"""The group of a channel whose member writes its archive, where nobody says another."""

_LOOK_SECONDS = 0.02


@dataclass(frozen=True)
class Archive:
    """The file in which the frames of a producer are kept, written by a process of its own beside the simulation.

    Attributes
    ----------
    path : path
        The file; its ending is its format. It appears when the simulation has ended.
    precision : float, optional
        For XTC: integers per nm; by default 1000.
    group : str
        The group of the channel that remembers which frames are in the file.
    force : bool
        Whether an existing file may be replaced. It stays until the new one is whole.

    Notes
    -----
    H5MD keeps positions, velocities and forces to the bit, as float32, with steps and times; so do DCD and NetCDF for
    positions, with less exact times. TRR and XTC keep nm: TRR rounds the last bit of a number, XTC to its precision.
    """

    path: str | PathLike[str]
    precision: float | None = None
    group: str = GROUP
    force: bool = False


def part_of(path: Path) -> Path:
    """Return the name under which a file is while it is not whole: a hidden one beside it.

    Parameters
    ----------
    path : Path
        The file.
    """
    final = path.resolve()
    return final.with_name(f".{final.name}.archive")


def is_left(path: Path, seconds: float) -> bool:
    """Wait until nobody writes an archive.

    Parameters
    ----------
    path : Path
        Its file.
    seconds : float
        For how long, s.

    Returns
    -------
    bool
        Whether nobody does.
    """
    until = monotonic() + seconds
    while True:
        try:
            file = os.open(part_of(path), os.O_RDWR | os.O_CLOEXEC)
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
        sleep(_LOOK_SECONDS)
