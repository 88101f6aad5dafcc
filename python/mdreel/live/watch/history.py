"""Histories of channels, with a bounded number of rows."""

from collections.abc import Sequence

from mdreel.live.notices.rows import Rows


class History:
    """Every n-th row of a series and the last row. Whenever there are too many rows, n is doubled.

    It keeps the same rows as `DecimatedRows`, one at a time and without NumPy.

    Parameters
    ----------
    width : int
        Number of columns.
    most : int
        Maximum number of rows to keep.
    """

    def __init__(self, width: int, most: int) -> None:
        self._most = most
        self._kept = Rows(width)
        self._last: Sequence[float] | None = None
        self._stride = 1
        self._n_rows = 0

    def add(self, row: Sequence[float]) -> None:
        """Add a row."""
        if self._n_rows % self._stride == 0:
            self._kept = self._kept.extended([row])
        self._last = row
        self._n_rows += 1
        while len(self._kept) > self._most:
            self._kept = self._kept[::2]
            self._stride *= 2

    def with_last(self) -> Rows:
        """Return the kept rows, followed by the last row if it is not among them."""
        if self._last is None or (self._n_rows - 1) % self._stride == 0:
            return self._kept
        return self._kept.extended([self._last], shares=False)
