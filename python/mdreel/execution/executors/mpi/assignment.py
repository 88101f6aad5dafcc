"""Assignments of blocks to the ranks of a round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mdreel.execution.choices import Communication, Schedule


@dataclass(frozen=True)
class Assignment:
    """What rank 0 tells the others at the beginning of a round.

    Attributes
    ----------
    ranges : sequence of (int, int)
        The blocks to be done: first and end of consecutive ones, ascending. Within a round they are numbered from 0.
    schedule : {"demand", "static"}
        Who takes which.
    one_by_one : bool
        Whether each block is a ticket of its own, of which no copy is made.
    communication : {"gather", "window", "global-arrays"} or None
        How results come to rank 0; None for what suits.
    """

    ranges: Sequence[tuple[int, int]]
    schedule: Schedule
    one_by_one: bool
    communication: Communication | None

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return sum(end - first for first, end in self.ranges)

    def within(self, first: int, end: int) -> list[tuple[int, int, int]]:
        """Return the stretches of consecutive blocks among those of the round: number in the round, first and end."""
        found, begun = [], 0
        for low, high in self.ranges:
            a, b = max(first - begun, 0), min(end - begun, high - low)
            if a < b:
                found.append((begun + a, low + a, low + b))
            begun += high - low
        return found
