"""Rasters: what is spread over time is neither lost nor moved."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdreel.timing.report.raster import spread

N_COLUMNS = 13


def slow_spread(amounts: np.ndarray, starts: np.ndarray, stops: np.ndarray, rows: np.ndarray) -> np.ndarray:
    cells = np.zeros((3, N_COLUMNS))
    for amount_, start, stop, row in zip(amounts, starts, stops, rows, strict=True):
        for column in range(N_COLUMNS):
            overlap = min(stop, column + 1) - max(start, column)
            if stop == start:
                cells[row, column] += amount_ if column == min(int(start), N_COLUMNS - 1) else 0
            elif overlap > 0:
                cells[row, column] += amount_ * overlap / (stop - start)
    return cells


stretches = st.tuples(
    st.floats(0, 1e3), st.floats(0, N_COLUMNS), st.one_of(st.just(0.0), st.floats(1e-3, N_COLUMNS)), st.integers(0, 2)
)


@given(st.lists(stretches, max_size=20))
def test_spread_is_what_a_slow_loop_finds(drawn: list[tuple[float, float, float, int]]) -> None:
    amounts, starts, lengths = (np.array([one[i] for one in drawn], np.float64) for i in range(3))
    rows = np.array([one[3] for one in drawn], np.int64)
    stops = np.minimum(starts + lengths, N_COLUMNS)
    cells = spread(amounts, starts, stops, rows, (3, N_COLUMNS))
    np.testing.assert_allclose(cells, slow_spread(amounts, starts, stops, rows), rtol=1e-9, atol=1e-6)
    assert cells.sum() == pytest.approx(amounts.sum(), rel=1e-9, abs=1e-6)
