"""Sparklines, which are small bar charts that consist of text characters."""

import math
from collections.abc import Iterator, Sequence

_LEVELS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int, from_zero: bool = False) -> str:
    """Return a sparkline of values. The scale extends from the lowest to the highest value.

    Parameters
    ----------
    values : sequence of float
        The values. NaN is shown as a gap.
    width : int
        Maximum number of characters. Each character shows the mean of its values.
    from_zero : bool
        Whether the scale starts at 0 instead of the lowest value.
    """
    levels = bars(values, width, from_zero)
    return "".join(" " if level is None else _LEVELS[level] for level in levels)


def bars(values: Sequence[float], most: int, from_zero: bool = False) -> list[int | None]:
    """Return up to `most` bar heights (0 to 7); see `sparkline`. NaN becomes None. Equal values get a medium height."""
    means = [_mean(part) for part in _parts(values, min(most, len(values)))]
    known = [mean for mean in means if mean is not None]
    if not known:
        return []
    low, high = 0.0 if from_zero else min(known), max(known)
    n_levels = len(_LEVELS)
    scale = n_levels / (high - low) if high > low else 0.0
    first = 0 if high > low else n_levels // 2 - 1
    return [None if mean is None else min(first + int((mean - low) * scale), n_levels - 1) for mean in means]


def _parts(values: Sequence[float], n_parts: int) -> Iterator[Sequence[float]]:
    """Divide values into consecutive parts, whose lengths differ by at most 1. Longer parts come first."""
    length, n_longer = divmod(len(values), n_parts) if n_parts else (0, 0)
    start = 0
    for part in range(n_parts):
        end = start + length + (part < n_longer)
        yield values[start:end]
        start = end


def _mean(values: Sequence[float]) -> float | None:
    """Return the mean of the finite values, or None if there are none."""
    known = [value for value in values if math.isfinite(value)]
    return math.fsum(known) / len(known) if known else None
