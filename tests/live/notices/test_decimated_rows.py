"""Tests of the downsampling of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdreel.live.notices.decimated_rows import DecimatedRows


@given(st.lists(st.integers(0, 70), max_size=40), st.integers(1, 20))
def test_kept_rows_are_every_nth_of_all_that_came(chunks: list[int], most: int) -> None:
    thinned, n_rows = DecimatedRows(2, most), 0
    for n_new in chunks:
        numbers = np.arange(n_rows, n_rows + n_new, dtype=float)
        n_before = len(thinned.rows)
        n_kept = thinned.extend(np.column_stack([numbers, -numbers]))
        n_rows += n_new
        every = np.arange(0, n_rows, thinned.stride, dtype=float)
        np.testing.assert_array_equal(thinned.rows, np.column_stack([every, -every]))
        assert len(thinned.rows) <= most
        assert n_kept == -1 or len(thinned.rows) == n_before + n_kept
    assert thinned.n_rows == n_rows
    if n_rows:
        np.testing.assert_array_equal(thinned.last, [n_rows - 1, 1 - n_rows])
        assert thinned.with_last()[-1, 0] == n_rows - 1
        # No coarser than it must be.
        assert thinned.stride == 1 or -(-n_rows // (thinned.stride // 2)) > most


@pytest.mark.parametrize("n_rows", [2000, 2001, 4001, 100_000])
def test_as_each_doubling_halves_the_resolution_the_whole_time_stays(n_rows: int) -> None:
    thinned = DecimatedRows(1)
    for number in range(n_rows):
        thinned.extend([[float(number)]])
    assert 1000 <= len(thinned.rows) <= 2000
    assert thinned.rows[0, 0] == 0
    assert thinned.rows[-1, 0] >= n_rows - 1 - thinned.stride
