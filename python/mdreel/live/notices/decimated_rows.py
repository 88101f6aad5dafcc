"""Downsampling of a growing series of rows to a bounded number."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

MOST_ROWS = 2000
"""Default maximum number of rows, which is sufficient for a chart on a screen."""


class DecimatedRows:
    """Series that contains every n-th row and the last row. Whenever there are too many rows, n is doubled.

    Parameters
    ----------
    width : int
        Number of columns.
    most : int
        Maximum number of rows to keep.

    Attributes
    ----------
    rows : ndarray, shape (n_kept, width), float64
        Rows that are kept.
    last : ndarray, shape (width,), float64, or None
        Last row.
    stride : int
        Distance between two kept rows.
    n_rows : int
        Number of rows received.
    """

    def __init__(self, width: int, most: int = MOST_ROWS) -> None:
        self.rows: NDArray[np.float64] = np.empty((0, width))
        self.last: NDArray[np.float64] | None = None
        self.stride = 1
        self.n_rows = 0
        self._most = most

    def extend(self, rows: ArrayLike) -> int:
        """Add rows, shape (n_new, width). Return the number of new rows kept, or -1 if earlier rows were dropped."""
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
        """Return the kept rows, followed by the last row if it is not among them."""
        if self.last is None or (self.n_rows - 1) % self.stride == 0:
            return self.rows
        return np.concatenate([self.rows, self.last[np.newaxis]])
