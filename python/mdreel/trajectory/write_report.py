"""Reports on written files."""

from dataclasses import dataclass
from pathlib import Path

from mdreel.execution.damage import DamagedFrame
from mdreel.timing.timing import Timing


@dataclass(frozen=True)
class Written:
    """Report on files that have been written, for example by a conversion.

    Attributes
    ----------
    paths : tuple of Path
        The files, in the order of their frames.
    n_frames : int
        Number of frames in all files.
    n_atoms : int
        Number of atoms.
    timing : Timing
        Timing of the run that wrote the files.
    damage : tuple of DamagedFrame
        Damaged frames that were skipped.

    Examples
    --------
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD
    >>> written = mdreel.trajectory.convert(DCD, "adk.trr", stop=10)
    >>> written.paths[0].name, written.n_frames, written.n_bytes
    ('adk.trr', 10, 402120)
    """

    paths: tuple[Path, ...]
    n_frames: int
    n_atoms: int
    timing: Timing
    damage: tuple[DamagedFrame, ...] = ()

    @property
    def n_bytes(self) -> int:
        """Total size of all files in bytes."""
        return sum(path.stat().st_size for path in self.paths)
