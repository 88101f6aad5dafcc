"""Sources whose frames are only numbered and have no real coordinates."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mdreel._core import FrameSet, Source, foreign_source
from mdreel.trajectory.mdanalysis_source import Frame

_NAMES = ["positions"]


@dataclass(frozen=True)
class _Counted:
    """A trajectory, and its reader, in which each frame has one atom at the origin."""

    n_frames: int

    def open(self) -> "_Counted":
        """Return the reader, which is this object."""
        return self

    def times(self) -> list[float]:
        """Return the time of each frame in ps, which equals the number of the frame."""
        return [float(number) for number in range(self.n_frames)]

    def expect(self, frames: FrameSet) -> None:
        """Ignore the frames that will be read."""

    def frame(self, number: int) -> Frame:
        """Return a frame."""
        return [np.zeros((1, 3), np.float32), None, None], None, float(number), number


def counted_source(n_frames: int) -> Source:
    """Return a source in which each frame has one atom at the origin.

    Parameters
    ----------
    n_frames : int
        Number of frames. Frame i has the time i ps.

    Returns
    -------
    Source
        The source, which can be pickled.
    """
    recipe = (counted_source, (n_frames,))
    return foreign_source(_Counted(n_frames), Path(), 1, n_frames, 0, _NAMES, {"format": "numbers"}, recipe)
