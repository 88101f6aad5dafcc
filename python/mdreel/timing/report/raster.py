"""Rasterization of intervals into the columns of a plot."""

import numpy as np
from numpy.typing import NDArray


def spread(
    amounts: NDArray[np.float64],
    starts: NDArray[np.float64],
    stops: NDArray[np.float64],
    rows: NDArray[np.integer],
    shape: tuple[int, int],
) -> NDArray[np.float64]:
    """Spread amounts evenly over time, and add them up in the cells of a raster.

    Parameters
    ----------
    amounts : ndarray, shape (n,), float64
        Amounts of the intervals.
    starts, stops : ndarray, shape (n,), float64
        Times in units of columns, such that the first column extends from 0 to 1. An interval of zero length is
        assigned to a single cell.
    rows : ndarray, shape (n,), int
        Rows of the intervals.
    shape : tuple of int
        Numbers of rows and columns.

    Returns
    -------
    ndarray, shape (n_rows, n_columns), float64
        The sums.

    Notes
    -----
    The cost is proportional to the number of amounts plus the number of cells, and does not depend on the lengths of
    the intervals. For this purpose, each amount is converted to a rate, which a cumulative sum distributes over all
    cells between the first and the last cell of the interval.
    """
    n_columns = shape[1]
    first = np.clip(np.floor(starts).astype(np.int64), 0, n_columns - 1)
    last = np.clip(np.floor(stops).astype(np.int64), first, n_columns - 1)
    is_long = last > first
    cells = _sums(rows[~is_long], first[~is_long], amounts[~is_long], shape)
    amounts, starts, stops = amounts[is_long], starts[is_long], stops[is_long]
    rows, first, last = rows[is_long], first[is_long], last[is_long]
    rates = amounts / (stops - starts)
    cells += _sums(rows, first, rates * (first + 1 - starts), shape)
    cells += _sums(rows, last, rates * (stops - last), shape)
    changes = _sums(rows, first + 1, rates, shape) - _sums(rows, last, rates, shape)
    # Sums of rates that began and ended have rounding errors, which can be negative.
    return np.asarray(np.maximum(cells + np.cumsum(changes, axis=1), 0.0))


def _sums(
    rows: NDArray[np.integer], columns: NDArray[np.int64], amounts: NDArray[np.float64], shape: tuple[int, int]
) -> NDArray[np.float64]:
    """Add up the amounts in each cell."""
    places = rows.astype(np.int64) * shape[1] + columns
    return np.bincount(places, amounts, shape[0] * shape[1]).reshape(shape).astype(np.float64)
