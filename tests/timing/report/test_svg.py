"""Axes have round numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdreel.foundation.formatting import SECONDS
from mdreel.timing.report.svg import Axis, round_step


@given(st.floats(1e-9, 1e12))
def test_axis_has_a_few_round_ticks_with_different_labels(end: float) -> None:
    axis = Axis.to(end, "time", SECONDS)
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 7
    assert ticks[0] == (0.0, ticks[0][1])
    assert all(0 <= at <= 1 + 1e-6 for at, _ in ticks)
    assert len({text for _, text in ticks}) == len(ticks)
    for at, text in ticks:
        assert float(text.replace(",", "")) * axis.unit.size == pytest.approx(at * axis.end, rel=1e-6)


@pytest.mark.parametrize(
    ("least", "step"),
    [(0.3, 0.5), (1, 1), (1.01, 2), (2, 2), (2.1, 5), (5.1, 10), (10, 10), (0.001, 0.001), (700, 1000)],
)
def test_steps_are_round(least: float, step: float) -> None:
    assert round_step(least) == pytest.approx(step)
