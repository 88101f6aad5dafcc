"""Functions and an analysis of a user."""

import numpy as np

import mdreel


class Spread(mdreel.AnalysisBase):
    """An analysis of a user's: how far atoms are from their centre."""

    def _prepare(self) -> None:
        self.results.spread = np.zeros(self.n_frames)

    def _single_frame(self) -> None:
        self.results.spread[self._frame_index] = spread(self.atomgroup.positions)


def spread(positions: np.ndarray) -> float:
    """A function of a user's: how far atoms are from their centre."""
    return float(np.sqrt(((positions - positions.mean(axis=0, dtype=np.float64)) ** 2).sum(axis=1).mean()))


def gap(first: np.ndarray, second: np.ndarray, dimensions: np.ndarray | None) -> float:
    """A function of a user's: how far the centres of two groups are from each other."""
    return float(np.linalg.norm(first.mean(axis=0, dtype=np.float64) - second.mean(axis=0, dtype=np.float64)))
