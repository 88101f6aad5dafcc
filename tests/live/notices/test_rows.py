"""Tests of growing tables, against NumPy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdreel.live.notices.rows import Rows, is_same_row

NUMBERS = st.none() | st.floats(width=64) | st.integers(-(2**53), 2**53)
PIECES = st.lists(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=5), max_size=8)


def as_array(rows: list[tuple[float | None, ...]]) -> np.ndarray:
    return np.array(rows, np.float64).reshape(-1, 3)


@settings(deadline=None)
@given(PIECES, st.integers(1, 4))
def test_tables_have_the_rows_that_were_appended_and_never_change(
    pieces: list[list[tuple[float | None, ...]]], stride: int
) -> None:
    tables, all_rows = [Rows(3)], [[]]  # type: list[Rows], list[list[tuple[float | None, ...]]]
    for number, piece in enumerate(pieces):
        at = number % len(tables)  # also of a table that was extended before
        tables.append(tables[at].extended(piece, shares=number % 3 > 0))
        all_rows.append([*all_rows[at], *piece])
    for table, rows in zip(tables, all_rows, strict=True):
        expected = as_array(rows)
        assert len(table) == len(expected)
        np.testing.assert_array_equal(table, expected)
        for column in range(3):
            np.testing.assert_array_equal(table.column(column, stride), expected[::stride, column])
        np.testing.assert_array_equal(table[::2], expected[::2])
        for row, expected_row in zip(table, expected, strict=True):
            np.testing.assert_array_equal(row, expected_row)


def test_row_of_another_width_leaves_the_table_as_it_is() -> None:
    rows = Rows(2, [(1, 2)])
    with pytest.raises(ValueError, match="expected rows of 2 numbers, got 3"):
        rows.extended([(3, 4), (5, 6, 7)])
    assert list(rows) == [(1.0, 2.0)]
    assert list(rows.extended([(3, 4)])) == [(1.0, 2.0), (3.0, 4.0)]
    assert rows[-1] == (1.0, 2.0)
    for at in (1, -2):
        with pytest.raises(IndexError):
            rows[at]


def test_table_that_grows_does_not_copy_its_rows() -> None:
    tables = [Rows(2)]
    for frame in range(1000):
        tables.append(tables[-1].extended([(frame, frame)]))
    assert len({id(table._values) for table in tables}) == 1


def test_rows_are_the_same_where_both_have_nan() -> None:
    assert is_same_row((1.0, math.nan), (1.0, math.nan))
    assert not is_same_row((1.0, math.nan), (1.0, 2.0))
    assert not is_same_row((1.0, 3.0), (1.0, 2.0))
