"""Texts of other processes: nothing in them controls a terminal, whatever they are."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdreel.foundation.printable import printable, printable_json, printable_lines

anything = st.text(st.characters())


def is_safe(text: str) -> bool:
    return not any(unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") for letter in text)


@given(anything)
def test_printable_text_is_one_line_that_controls_nothing(text: str) -> None:
    said = printable(text)
    assert is_safe(said)
    assert "\n" not in said
    assert printable(said) == said
    assert all(is_safe(line) for line in printable_lines(text).split("\n"))
    assert printable_lines(text).count("\n") == text.count("\n")


@given(st.recursive(anything | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(anything, inner)))
def test_printable_json_says_the_same_and_controls_nothing(value: object) -> None:
    for how in ({}, {"indent": 2}):
        said = printable_json(json.dumps(value, ensure_ascii=False, **how))
        assert all(is_safe(line) for line in said.split("\n"))
        assert json.loads(said) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202eabc", r"\u202eabc"),
        ("\U000e0001", r"\U000e0001"),
        ("\udcff", r"\udcff"),
        ("a\r\n b\tc", "a b c"),
        ("Å, µs, ± 3 ▁▂█ …", "Å, µs, ± 3 ▁▂█ …"),
    ],
)
def test_what_no_terminal_draws_is_seen(text: str, said: str) -> None:
    assert printable(text) == said
