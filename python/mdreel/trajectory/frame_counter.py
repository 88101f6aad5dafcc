"""Sources without coordinates, whose frames are numbers."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mdreel._core import FrameSet, Source, foreign_source
from mdreel.trajectory.mdanalysis_source import Frame

_NAMES = ["positions"]


@dataclass(frozen=True)
class _Counted:
    """Trajectory and reader of frames with one atom at the origin."""

    n_frames: int

    def open(self) -> "_Counted":
        """Return the reader, which is this object."""
        return self

    def times(self) -> list[float]:
        """Return the time of each frame, ps, which is its number."""
        return [float(number) for number in range(self.n_frames)]

    def expect(self, frames: FrameSet) -> None:
        """Ignore the frames that will be read."""

    def frame(self, number: int) -> Frame:
        """Return a frame."""
        return [np.zeros((1, 3), np.float32), None, None], None, float(number), number


def counted_source(n_frames: int) -> Source:
    """Return a source of frames with one atom at the origin.

    Parameters
    ----------
    n_frames : int
        Number of frames; frame i is at i ps.

    Returns
    -------
    Source
        The source, which can be pickled.
    """
    recipe = (counted_source, (n_frames,))
    return foreign_source(_Counted(n_frames), Path(), 1, n_frames, 0, _NAMES, {"format": "numbers"}, recipe)
