"""Sparklines, which are small bar charts that consist of text characters."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

_LEVELS = "▁▂▃▄▅▆▇█"


def sparkline(values: ArrayLike, width: int, from_zero: bool = False) -> str:
    """Return a sparkline of values. The scale extends from the lowest to the highest value.

    Parameters
    ----------
    values : array_like, shape (n_values,)
        The values. NaN is shown as a gap.
    width : int
        Maximum number of characters. Each character shows the mean of its values.
    from_zero : bool
        Whether the scale starts at 0 instead of the lowest value.
    """
    levels = bars(values, width, from_zero)
    return "".join(" " if level is None else _LEVELS[level] for level in levels)


def bars(values: ArrayLike, most: int, from_zero: bool = False) -> list[int | None]:
    """Return up to `most` bar heights (0 to 7); see `sparkline`. NaN becomes None. Equal values get a medium height."""
    array = np.asarray(values, np.float64)
    if not np.isfinite(array).any():
        return []
    means = [_mean(part) for part in np.array_split(array, min(most, len(array)))]
    low, high = 0.0 if from_zero else np.nanmin(means), np.nanmax(means)
    n_levels = len(_LEVELS)
    scale = n_levels / (high - low) if high > low else 0.0
    first = 0 if high > low else n_levels // 2 - 1
    return [None if np.isnan(mean) else min(first + int((mean - low) * scale), n_levels - 1) for mean in means]


def _mean(values: NDArray[np.float64]) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
