"""Tests of histories, against those of analyses, which use NumPy."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mdreel.live.notices.decimated_rows import DecimatedRows
from mdreel.live.watch.history import History
from mdreel.live.watch.sparkline import bars


@settings(deadline=None)
@given(st.integers(0, 300), st.integers(1, 20))
def test_history_keeps_the_same_rows_as_that_of_an_analysis(n_rows: int, most: int) -> None:
    history, expected = History(2, most), DecimatedRows(2, most)
    for number in range(n_rows):
        history.add((number, -number))
        expected.extend([[number, -number]])
        np.testing.assert_array_equal(history.with_last(), expected.with_last())


def bars_of_numpy(values: list[float], most: int) -> list[int | None]:
    array = np.asarray(values, np.float64)
    if not np.isfinite(array).any():
        return []
    parts = np.array_split(array, min(most, len(array)))
    means = [part[np.isfinite(part)].mean() if np.isfinite(part).any() else np.nan for part in parts]
    low, high = np.nanmin(means), np.nanmax(means)
    if high <= low:
        return [None if np.isnan(mean) else 3 for mean in means]
    return [None if np.isnan(mean) else min(int((mean - low) * 8 / (high - low)), 7) for mean in means]


@settings(deadline=None)
@given(st.lists(st.integers(-8, 8) | st.just(np.nan), max_size=80), st.integers(1, 20))
def test_bars_are_those_of_means_of_parts(values: list[float], most: int) -> None:
    found, expected = bars(values, most), bars_of_numpy(values, most)
    assert [one is None for one in found] == [one is None for one in expected]
    # Means that lie on a limit between two heights are rounded in one way or the other.
    heights = [pair for pair in zip(found, expected, strict=True) if None not in pair]
    assert all(abs(one - other) <= 1 for one, other in heights)  # type: ignore[operator]
