"""Sources without coordinates, whose frames are numbers."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mdreel._core import FrameSet, Source, foreign_source
from mdreel.trajectory.mdanalysis_source import Frame

_NAMES = ["positions"]


@dataclass(frozen=True)
class _Counted:
    """So many frames of one atom, which is where nothing is; what reads them, too."""

    n_frames: int

    def open(self) -> "_Counted":
        """Return what reads: there is nothing to open."""
        return self

    def times(self) -> list[float]:
        """Return the time of each frame, ps: its number."""
        return [float(number) for number in range(self.n_frames)]

    def expect(self, frames: FrameSet) -> None:
        """Be told which frames will be asked for."""

    def frame(self, number: int) -> Frame:
        """Return a frame."""
        return [np.zeros((1, 3), np.float32), None, None], None, float(number), number


def counted_source(n_frames: int) -> Source:
    """Make a source of so many frames of one atom.

    Parameters
    ----------
    n_frames : int
        How many; frame i is at i ps.

    Returns
    -------
    Source
        The source, which any process can be sent.
    """
    recipe = (counted_source, (n_frames,))
    return foreign_source(_Counted(n_frames), Path(), 1, n_frames, 0, _NAMES, {"format": "numbers"}, recipe)
