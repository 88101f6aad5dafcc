"""Results as arrays with named dimensions."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mdreel.results.labelled_array import LabelledArray


def result_arrays(
    n_frames: int,
    results: Mapping[str, Any],
    dimensions: Mapping[str, tuple[str, ...]],
    units: Mapping[str, str],
    heads: Mapping[str, int],
) -> list[LabelledArray]:
    """Return the results that are arrays or numbers, with names for their dimensions.

    Parameters
    ----------
    n_frames : int
        Number of frames.
    results : mapping of str to object
        The results. Entries that are neither arrays nor numbers are omitted.
    dimensions : mapping of str to tuple of str
        Dimensions of the results whose dimensions are known. A table with only one column of values has no
        dimension for its columns. Dimensions of other results are named after the result and numbered. If there is
        one entry per frame, the first dimension is ``frame``.
    units : mapping of str to str
        Units of the results that have a unit.
    heads : mapping of str to int
        Number of leading columns with the frame and the time, for results that have such columns. These columns are
        omitted.
    """
    found = []
    for name, value in results.items():
        if not is_array(value):
            continue
        values = np.asarray(value)
        if name in heads:
            values = values[:, heads[name] :]
        named = dimensions.get(name)
        if named is None:
            named = tuple(f"{name}_{number}" for number in range(1, values.ndim + 1))
            if values.shape[:1] == (n_frames,):
                named = ("frame", *named[1:])
        elif np.ndim(value) == values.ndim == 2 and values.shape[1] == 1 < np.shape(value)[1]:
            values, named = values[:, 0], named[:1]
        found.append(LabelledArray(name, named, units.get(name, ""), values))
    return found


def is_array(value: object) -> bool:
    """Return whether a result is an array, a number, a string or a Boolean value."""
    return isinstance(value, np.ndarray | np.generic | int | float) and np.asarray(value).dtype.kind in "fiubcU"
