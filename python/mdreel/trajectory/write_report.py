"""Reports of written files."""

from dataclasses import dataclass
from pathlib import Path

from mdreel.execution.damage import DamagedFrame
from mdreel.timing.timing import Timing


@dataclass(frozen=True)
class Written:
    """Files that were written.

    Attributes
    ----------
    paths : tuple of Path
        The files, in the order of their frames.
    n_frames : int
        Frames in all of them.
    n_atoms : int
        Atoms in each frame.
    timing : Timing
        Where the time went.
    damage : tuple of DamagedFrame
        What was left out, if it was asked to go on where a frame is damaged.
    """

    paths: tuple[Path, ...]
    n_frames: int
    n_atoms: int
    timing: Timing
    damage: tuple[DamagedFrame, ...] = ()

    @property
    def n_bytes(self) -> int:
        """Size of the files."""
        return sum(path.stat().st_size for path in self.paths)
