"""Per-frame results as columns of a table."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel.results.column import Column

MOST_COLUMNS = 16
"""So many columns of one result are told apart; of more, the first."""


def columns_of(
    frames: NDArray[np.int64], times: NDArray[np.float64], results: Mapping[str, Any], units: Mapping[str, str]
) -> list[Column]:
    """Return frame and time, and what of the results has as many entries as there are frames.

    Parameters
    ----------
    frames, times : ndarray, shape (n_frames,)
        Which frames, and when they are, ps.
    results : mapping of str to object
        The results; what is no array of numbers, or of another length, is left out.
    units : mapping of str to str
        Their units, as far as they have some.
    """
    columns = [Column("frame", "", frames), Column("time", "ps", times)]
    for name, values in results.items():
        if isinstance(values, np.ndarray) and values.dtype.kind in "fiub" and values.shape[:1] == frames.shape:
            of_each = list(_of_each(values, frames, times))
            several = len(of_each) > 1
            for number, column in enumerate(of_each, 1):
                columns.append(Column(f"{name}_{number}" if several else name, units.get(name, ""), column))
    return columns


def _of_each(
    values: NDArray[Any], frames: NDArray[np.int64], times: NDArray[np.float64]
) -> Iterator[NDArray[np.float64]]:
    """Give the columns of a result; frame and time, with which it may begin as MDAnalysis's do, are there already."""
    table = values.reshape(len(frames), -1)
    for head in (frames, times):
        if table.shape[1] > 1 and np.array_equal(table[:, 0], head):
            table = table[:, 1:]
    yield from np.asarray(table[:, :MOST_COLUMNS], np.float64).T
