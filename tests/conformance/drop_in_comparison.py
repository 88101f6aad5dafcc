"""A plugin of pytest that lets tests of MDAnalysis compare no words, or fewer digits."""

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from conformance.foreign_suite import Deselected, name_of

WORDS = Deselected(Path(__file__).with_name("drop_in_words.txt"))
DIGITS = Deselected(Path(__file__).with_name("drop_in_digits.txt"))


class LenientComparison:
    """Compares what each test in the two lists asks for, but no words, or with an absolute tolerance."""

    def __init__(self) -> None:
        self.lenient: dict[str, str] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        name = name_of(item)
        with ExitStack() as patches:
            if line := WORDS.line_of(name):
                self.lenient[name] = line
                for expectation in ("raises", "warns"):
                    patches.enter_context(
                        mock.patch.object(pytest, expectation, without_words(getattr(pytest, expectation)))
                    )
            if line := DIGITS.line_of(name):
                self.lenient[name] = line
                tolerance = float(DIGITS.reasons[line].partition(": ")[0])
                module = item.module  # type: ignore[attr-defined]
                patches.enter_context(
                    mock.patch.object(module, "assert_allclose", with_tolerance(module.assert_allclose, tolerance))
                )
            return (yield)


def without_words(expectation: Callable[..., Any]) -> Callable[..., Any]:
    """Return `pytest.raises` or `pytest.warns` that accepts any words."""

    @functools.wraps(expectation)
    def expect(*arguments: Any, match: str, **options: Any) -> Any:
        return expectation(*arguments, **options)

    return expect


def with_tolerance(compare: Callable[..., None], tolerance: float) -> Callable[..., None]:
    """Return `numpy.testing.assert_allclose` with at least this absolute tolerance."""

    @functools.wraps(compare)
    def assert_allclose(actual: Any, desired: Any, *, atol: float = 0, **options: Any) -> None:
        compare(actual, desired, atol=max(atol, tolerance), **options)

    return assert_allclose
