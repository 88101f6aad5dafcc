"""Amounts as people read them."""

import pytest

from mdreel.foundation.formatting import BYTES, SECONDS, amount, counted, digits, percent


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0, "0 s"), (1.5, "1.5 s"), (0.01234, "12.3 ms"), (3e-7, "300 ns"), (5e-10, "0.5 ns"), (12_345.0, "12,300 s")],
)
def test_amounts_have_three_digits_and_a_unit(value: float, said: str) -> None:
    assert amount(value, SECONDS) == said


def test_amounts_that_are_none_are_said_to_be_so() -> None:
    assert (amount(0, BYTES), digits(float("inf")), digits(float("nan"))) == ("0 B", "∞", "–")
    assert [percent(share) for share in (0.0, 0.001, 0.126, 1.0, float("nan"))] == [
        "0 %",
        "< 1 %",
        "13 %",
        "100 %",
        "–",
    ]


def test_nouns_agree_with_their_numbers() -> None:
    assert [counted(number, "firing") for number in (0, 1, 1000)] == ["0 firings", "1 firing", "1,000 firings"]
