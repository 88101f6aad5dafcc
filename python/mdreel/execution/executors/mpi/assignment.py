"""Assignments of blocks to the ranks of a round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mdreel.execution.choices import Communication, Schedule


@dataclass(frozen=True)
class Assignment:
    """Blocks and options of a round, which rank 0 sends to the other ranks.

    Attributes
    ----------
    ranges : sequence of (int, int)
        Ranges of blocks in ascending order, given as the first block and the block after the last one. Within a
        round, blocks are numbered from 0.
    schedule : {"demand", "static"}
        How blocks are assigned to ranks.
    one_by_one : bool
        Whether each block is a separate task that is never repeated.
    communication : {"gather", "window", "global-arrays"} or None
        How results are transferred to rank 0. If None, this depends on the hosts.
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
        """Convert a range of numbers within the round to ranges of blocks (number in the round, first block, end)."""
        found, begun = [], 0
        for low, high in self.ranges:
            a, b = max(first - begun, 0), min(end - begun, high - low)
            if a < b:
                found.append((begun + a, low + a, low + b))
            begun += high - low
        return found
