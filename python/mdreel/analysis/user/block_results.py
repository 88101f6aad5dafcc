"""Results that a user's analysis leaves for each block, and their merging."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

import numpy as np

from mdreel.errors import MismatchError
from mdreel.results.results import Results


class Aggregator(Protocol):
    """Makes one of the results of consecutive frames, as MDAnalysis's ``ResultsGroup`` does."""

    def merge(self, objects: Sequence[Any]) -> Any:
        """Return the results of all, in the order of the frames."""


@dataclass(frozen=True)
class Block:
    """What an analysis has left of the frames of a block.

    Attributes
    ----------
    results : Results
        Its results.
    n_frames : int
        How many frames they are of.
    changed : frozenset of str
        Attributes that were set meanwhile, besides the results.
    """

    results: Results
    n_frames: int
    changed: frozenset[str]

    def finished(self) -> "Block":
        """Return it."""
        return self


class Finishing(Protocol):
    """A block, or what becomes one."""

    def finished(self) -> Block:
        """Return the block."""


def blocks_of(value: Sequence[Finishing]) -> list[Block]:
    """Return blocks, some of which may have been under way."""
    return [one.finished() for one in value]


class Joined:
    """Puts what has an entry for each frame, and lists, behind one another."""

    def merge(self, objects: Sequence[Any]) -> Any:
        """Return the results of all."""
        if len(objects) == 1:
            return objects[0]
        return Results(**{name: _joined(name, [one[name] for one in objects]) for name in objects[0]})


def check_blocks(aggregator: Aggregator, blocks: Sequence[Block]) -> None:
    """Check that blocks have what is needed to become one.

    Parameters
    ----------
    aggregator : Aggregator
        What makes one of them. `Joined` and MDAnalysis's ``ResultsGroup`` take the names of results from the first.
    blocks : sequence of Block
        The blocks.

    Raises
    ------
    MismatchError
        If a block lacks a result that another has, or an array to be joined has no entry for each frame.
    """
    is_ours = isinstance(aggregator, Joined)
    if not is_ours and type(aggregator).__name__ != "ResultsGroup":
        return
    names = sorted({*chain.from_iterable(block.results for block in blocks)})
    for name in names:
        n_without = sum(name not in block.results for block in blocks)
        if n_without:
            raise MismatchError(
                f"results.{name} is missing in {n_without:,} of {len(blocks):,} blocks of frames: set it in _prepare, "
                "so that each block has it"
            )
    if not is_ours or len(blocks) == 1:
        return
    for block in blocks:
        for name, value in block.results.items():
            if isinstance(value, np.ndarray) and value.ndim and len(value) != block.n_frames:
                raise MismatchError(
                    f"results.{name} has {len(value):,} entries in a block of {block.n_frames:,} frames: an array "
                    "needs an entry for each frame. For anything else, _get_aggregator must say how to merge blocks"
                )


def _joined(name: str, parts: list[Any]) -> Any:
    if all(isinstance(part, list) for part in parts):
        return [*chain.from_iterable(parts)]
    if not all(isinstance(part, np.ndarray) and part.ndim for part in parts):
        kind = type(parts[0]).__name__
        raise MismatchError(
            f"results.{name} is of {kind}: _get_aggregator must say how those of several blocks become one"
        )
    shapes = sorted({part.shape[1:] for part in parts})
    if len(shapes) > 1:
        raise MismatchError(f"results.{name} has entries of different shapes: {', '.join(map(str, shapes))}")
    return np.concatenate(parts)
