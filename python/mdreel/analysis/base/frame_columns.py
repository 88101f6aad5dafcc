"""Table columns for results with values for each frame."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel.results.column import Column, unique_names
from mdreel.results.series import series_columns


def frame_columns(
    frames: NDArray[np.int64], times: NDArray[np.float64], results: Mapping[str, Any], units: Mapping[str, str]
) -> list[Column]:
    """Return columns with the frame, the time and every result that has one entry per frame.

    Parameters
    ----------
    frames, times : ndarray, shape (n_frames,)
        Frame numbers, and times in ps.
    results : mapping of str to object
        The results. Entries that are not numerical arrays, or that have a different length, are omitted.
    units : mapping of str to str
        Units of the results that have a unit.
    """
    found: list[tuple[str, str, NDArray[np.float64]]] = []
    for name, values in results.items():
        if is_of_frames(values, len(frames)):
            table = values.reshape(len(frames), -1)
            several = table.shape[1] > 1
            for number, column in enumerate(np.asarray(table, np.float64).T, 1):
                found.append((f"{name}_{number}" if several else name, units.get(name, ""), column))
    names = unique_names(["frame", "time", *(name for name, _, _ in found)])[2:]
    columns = [Column(name, unit, values) for name, (_, unit, values) in zip(names, found, strict=True)]
    return [*series_columns(frames, times), *columns]


def wide_columns(
    frames: NDArray[np.int64],
    times: NDArray[np.float64],
    values: NDArray[np.float64],
    names: Sequence[str],
    unit: str,
) -> list[Column]:
    """Return columns with the frame, the time and each quantity.

    Parameters
    ----------
    frames, times : ndarray, shape (n_frames,)
        Frame numbers, and times in ps.
    values : ndarray, shape (n_frames, n_quantities), float64
        The quantities, in `unit`.
    names : sequence of str
        Name of each quantity. A number is appended to repeated names.
    unit : str
        Unit of the quantities.
    """
    each = zip(unique_names(names), np.ascontiguousarray(values.T), strict=True)
    return [*series_columns(frames, times), *(Column(name, unit, column) for name, column in each)]


def is_of_frames(values: object, n_frames: int) -> bool:
    """Return whether a result is a numerical array with one entry per frame."""
    return isinstance(values, np.ndarray) and values.dtype.kind in "fiub" and values.shape[:1] == (n_frames,)
