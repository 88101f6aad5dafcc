"""Fewer settings for tests in which all combinations would take too long."""

from collections.abc import Iterable
from itertools import combinations
from typing import Any


def with_all_pairs(settings: Iterable[tuple[object, ...]]) -> list[tuple[Any, ...]]:
    """Choose settings so that every pair of values that occurs in any of them occurs in a chosen one."""
    chosen, seen = [], set[object]()
    for each in settings:
        pairs = set(combinations(enumerate(each), 2))
        if not pairs <= seen:
            chosen.append(each)
            seen |= pairs
    return chosen
