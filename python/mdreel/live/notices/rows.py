"""Growing tables of numbers that need neither NumPy nor one object per number."""

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Rows(Sequence[tuple[float, ...]]):
    """Rows of numbers, which never change.

    A table and its extended versions share memory. Therefore, appending rows does not copy the earlier rows.

    Parameters
    ----------
    width : int
        Number of columns.
    rows : iterable of sequence of float
        The rows, each with `width` numbers. None becomes NaN.

    Examples
    --------
    >>> from mdreel.live.notices.rows import Rows
    >>> rows = Rows(2, [(0, 1.5)])
    >>> longer = rows.extended([(1, None), (2, 2.5)])
    >>> len(rows), len(longer), longer[-1], longer.column(1)
    (1, 3, (2.0, 2.5), [1.5, nan, 2.5])
    """

    __slots__ = ("_n", "_values", "width")

    def __init__(self, width: int, rows: Iterable[Sequence[float | None]] = ()) -> None:
        self.width = width
        self._values = array("d")
        self._n = 0
        self._append(rows)

    def extended(self, rows: Iterable[Sequence[float | None]], *, shares: bool = True) -> "Rows":
        """Return these rows, followed by other rows. This table stays as it is.

        With `shares`, the new table takes over the memory of this one, which is copied when it is extended once more.
        """
        longer = Rows(self.width)
        n_values = self._n * self.width
        longer._values = self._values if shares and len(self._values) == n_values else self._values[:n_values]
        longer._n = self._n
        longer._append(rows)
        return longer

    def column(self, number: int, stride: int = 1) -> list[float]:
        """Return a column, or every n-th number of it."""
        return self._values[number : self._n * self.width : stride * self.width].tolist()

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, index: Any) -> Any:
        """Return a row as a tuple, or several rows as `Rows`."""
        if isinstance(index, slice):
            return Rows(self.width, [self[at] for at in range(*index.indices(self._n))])
        at = index + self._n if index < 0 else index
        if not 0 <= at < self._n:
            raise IndexError(f"expected a row of {self._n:,} rows, got {index}")
        return tuple(self._values[at * self.width : (at + 1) * self.width])

    def __iter__(self) -> Iterator[tuple[float, ...]]:
        return (self[at] for at in range(self._n))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> "NDArray[np.float64]":
        """Return a copy as an array, shape (n_rows, width), for code that uses NumPy."""
        import numpy as np

        values = np.array(self._values[: self._n * self.width], dtype=dtype or np.float64)
        return values.reshape(self._n, self.width)

    def _append(self, rows: Iterable[Sequence[float | None]]) -> None:
        """Append all rows, or none of them if the number of columns is wrong."""
        new, n_new = array("d"), 0
        for row in rows:
            if len(row) != self.width:
                raise ValueError(f"expected rows of {self.width} numbers, got {len(row)}")
            new.extend([math.nan if value is None else value for value in row])
            n_new += 1
        self._values.extend(new)
        self._n += n_new


def is_same_row(one: Sequence[float], other: Sequence[float]) -> bool:
    """Return whether two rows have the same numbers, where NaN equals NaN."""
    pairs = zip(one, other, strict=True)
    return all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in pairs)
