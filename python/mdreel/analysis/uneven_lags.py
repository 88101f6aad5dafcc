"""Mean square displacements for frames that are unevenly spaced in time."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import MismatchError


@dataclass(frozen=True)
class UnevenLags:
    """The lag times between all pairs of frames.

    Attributes
    ----------
    times : ndarray, shape (n_lags,), float64
        Distinct lag times in ps, in ascending order from 0.
    of_pairs : ndarray, shape (n_frames, n_frames), int64
        Index of the lag time from an earlier frame (row) to a later frame (column), or 0 for all other entries.
    n_pairs : ndarray, shape (n_lags,), int64
        Number of pairs with each lag time.
    """

    times: NDArray[np.float64]
    of_pairs: NDArray[np.int64]
    n_pairs: NDArray[np.int64]

    @classmethod
    def of(cls, times: NDArray[np.float64]) -> Self:
        """Return the lag times of frames.

        Parameters
        ----------
        times : ndarray, shape (n_frames,), float64
            Times of the frames in ps.

        Raises
        ------
        MismatchError
            If times do not increase from frame to frame.

        Notes
        -----
        Lag times that differ by less than a thousandth of the shortest interval are considered equal. Because some
        formats store times in single precision, rounding errors of up to half the shortest interval are also allowed.
        """
        intervals = np.diff(times)
        if (intervals <= 0).any():
            place = int((intervals <= 0).argmax())
            found = f"{times[place]:g} ps is followed by {times[place + 1]:g} ps"
            raise MismatchError(f"mean square displacements need times that increase from frame to frame: {found}")
        earlier, later = np.triu_indices(len(times), 1)
        lags = times[later] - times[earlier]
        order = np.argsort(lags, kind="stable")
        ascending = lags[order]
        shortest = float(intervals.min()) if len(intervals) else 0.0
        rounding = 2 * float(np.finfo(np.float32).eps * np.abs(times).max(initial=0.0))
        tolerance = min(1e-3 * shortest + rounding, 0.5 * shortest)
        starts = np.diff(ascending, prepend=-np.inf) > tolerance
        numbers = np.cumsum(starts)
        of_pairs = np.zeros((len(times), len(times)), np.int64)
        of_pairs[earlier[order], later[order]] = numbers
        return cls(
            np.concatenate([[0.0], ascending[starts]]),
            of_pairs,
            np.concatenate([[len(times)], np.bincount(numbers)[1:]]).astype(np.int64),
        )

    def mean_squares(self, path: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean square displacement for each lag time, averaged over all pairs of frames with this lag time.

        Parameters
        ----------
        path : ndarray, shape (n_particles, n_axes, n_frames), float64
            Coordinates in Å.

        Returns
        -------
        ndarray, shape (n_particles, n_lags), float64
            Mean square displacements in Å^2.
        """
        sums = np.zeros((len(self.times), len(path)))
        for place in range(path.shape[-1] - 1):
            moved = path[:, :, place + 1 :] - path[:, :, place, None]
            np.add.at(sums, self.of_pairs[place, place + 1 :], (moved**2).sum(axis=1).T)
        found: NDArray[np.float64] = (sums / self.n_pairs[:, None]).T
        return found
