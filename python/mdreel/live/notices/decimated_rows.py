"""Decimation of growing time series to a bounded number of rows."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

MOST_ROWS = 2000
"""So many rows are kept, if nobody says otherwise: as many as a chart on a screen can show."""


class Thinned:
    """Every n-th of the rows that have come, and the last of all; n doubles whenever there are too many.

    Parameters
    ----------
    width : int
        How many numbers a row has.
    most : int
        How many rows are kept at most.

    Attributes
    ----------
    rows : ndarray, shape (n_kept, width), float64
        Those that are kept.
    last : ndarray, shape (width,), float64, or None
        The last that has come.
    stride : int
        Which are kept: those whose number, from 0, it divides.
    n_rows : int
        How many have come.
    """

    def __init__(self, width: int, most: int = MOST_ROWS) -> None:
        self.rows: NDArray[np.float64] = np.empty((0, width))
        self.last: NDArray[np.float64] | None = None
        self.stride = 1
        self.n_rows = 0
        self._most = most

    def extend(self, rows: ArrayLike) -> int:
        """Take the next rows.

        Parameters
        ----------
        rows : array_like, shape (n_new, width)
            The rows.

        Returns
        -------
        int
            How many of them are kept, behind those that were; -1 if some that were have gone.
        """
        new = np.asarray(rows, np.float64)
        if not len(new):
            return 0
        kept = new[-self.n_rows % self.stride :: self.stride]
        self.rows = np.concatenate([self.rows, kept])
        self.last = new[-1].copy()
        self.n_rows += len(new)
        if len(self.rows) <= self._most:
            return len(kept)
        while len(self.rows) > self._most:
            self.rows = self.rows[::2]
            self.stride *= 2
        self.rows = self.rows.copy()
        return -1

    def with_last(self) -> NDArray[np.float64]:
        """Return what is kept, and the last row behind it where that is not among them."""
        if self.last is None or (self.n_rows - 1) % self.stride == 0:
            return self.rows
        return np.concatenate([self.rows, self.last[np.newaxis]])
