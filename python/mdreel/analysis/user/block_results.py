"""Results of the blocks of a user analysis, and their aggregation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Protocol

import numpy as np

from mdreel.errors import MismatchError
from mdreel.results.results import Results


class Aggregator(Protocol):
    """An aggregator of the results of consecutive blocks, such as MDAnalysis's ``ResultsGroup``."""

    def merge(self, objects: Sequence[Any]) -> Any:
        """Return the merged results of blocks in frame order."""


@dataclass(frozen=True)
class Block:
    """The output of a user analysis for one block of frames.

    Attributes
    ----------
    results : Results
        Results of the block.
    n_frames : int
        Number of frames in the block.
    changed : frozenset of str
        Names of other attributes that the analysis set in the worker.
    kept : mapping of str to bytes or object
        These attributes as pickled by `sent`, or the attributes themselves if they cannot be pickled. The mapping is
        empty unless all frames are analysed in order in one block.
    """

    results: Results
    n_frames: int
    changed: frozenset[str]
    kept: Mapping[str, Any] = field(default_factory=dict)

    def finished(self) -> "Block":
        """Return this block."""
        return self


class FinishableBlock(Protocol):
    """A block that is finished, or an analysis in progress that can be finished."""

    def finished(self) -> Block:
        """Return the finished block."""


def blocks_of(value: Sequence[FinishableBlock]) -> list[Block]:
    """Finish the blocks in progress, and return all finished blocks."""
    return [one.finished() for one in value]


class ConcatenatingAggregator:
    """The default aggregator, which concatenates arrays and lists."""

    def merge(self, objects: Sequence[Any]) -> Any:
        """Return the concatenated results of blocks in frame order."""
        if len(objects) == 1:
            return objects[0]
        return Results(**{name: _concatenated(name, [one[name] for one in objects]) for name in objects[0]})


def check_blocks(aggregator: Aggregator, blocks: Sequence[Block]) -> None:
    """Check that the results of blocks can be merged.

    Parameters
    ----------
    aggregator : Aggregator
        The aggregator. `ConcatenatingAggregator` and MDAnalysis's ``ResultsGroup`` take the names of results from the
        first block.
    blocks : sequence of Block
        The blocks.

    Raises
    ------
    MismatchError
        If a block lacks a result of another block, or if an array to concatenate does not have one entry per frame.
    """
    is_default = isinstance(aggregator, ConcatenatingAggregator)
    if not is_default and type(aggregator).__name__ != "ResultsGroup":
        return
    names = sorted({*chain.from_iterable(block.results for block in blocks)})
    for name in names:
        n_without = sum(name not in block.results for block in blocks)
        if n_without:
            raise MismatchError(
                f"results.{name} is missing in {n_without:,} of {len(blocks):,} blocks of frames: set it in _prepare, "
                "so that each block has it"
            )
    if not is_default or len(blocks) == 1:
        return
    for block in blocks:
        for name, value in block.results.items():
            if isinstance(value, np.ndarray) and value.ndim and len(value) != block.n_frames:
                raise MismatchError(
                    f"results.{name} has {len(value):,} entries in a block of {block.n_frames:,} frames: an array "
                    "needs an entry per frame. To merge other results, override _get_aggregator"
                )


def _concatenated(name: str, parts: list[Any]) -> Any:
    if all(isinstance(part, list) for part in parts):
        return [*chain.from_iterable(parts)]
    if not all(isinstance(part, np.ndarray) and part.ndim for part in parts):
        kind = type(parts[0]).__name__
        raise MismatchError(
            f"results.{name} has the type {kind}: override _get_aggregator to merge the values of several blocks"
        )
    shapes = sorted({part.shape[1:] for part in parts})
    if len(shapes) > 1:
        raise MismatchError(f"results.{name} has entries of different shapes: {', '.join(map(str, shapes))}")
    return np.concatenate(parts)
