"""Table columns of the results that have values for each frame."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel.results.column import Column

MOST_COLUMNS = 16
"""Largest number of columns for one result; further columns are left out."""


def frame_columns(
    frames: NDArray[np.int64], times: NDArray[np.float64], results: Mapping[str, Any], units: Mapping[str, str]
) -> list[Column]:
    """Return columns for frame, time and every result that has one entry for each frame.

    Parameters
    ----------
    frames, times : ndarray, shape (n_frames,)
        Frame numbers, and times in ps.
    results : mapping of str to object
        The results. Entries that are not numerical arrays, or have another length, are left out.
    units : mapping of str to str
        Units of the results that have one.
    """
    columns = [Column("frame", "", frames), Column("time", "ps", times)]
    for name, values in results.items():
        if isinstance(values, np.ndarray) and values.dtype.kind in "fiub" and values.shape[:1] == frames.shape:
            split = list(_split(values, frames, times))
            several = len(split) > 1
            for number, column in enumerate(split, 1):
                columns.append(Column(f"{name}_{number}" if several else name, units.get(name, ""), column))
    return columns


def _split(
    values: NDArray[Any], frames: NDArray[np.int64], times: NDArray[np.float64]
) -> Iterator[NDArray[np.float64]]:
    """Yield the columns of a result without leading frame and time columns, which MDAnalysis results may have."""
    table = values.reshape(len(frames), -1)
    for head in (frames, times):
        if table.shape[1] > 1 and np.array_equal(table[:, 0], head):
            table = table[:, 1:]
    yield from np.asarray(table[:, :MOST_COLUMNS], np.float64).T
