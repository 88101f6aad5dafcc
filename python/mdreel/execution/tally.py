"""Merged partial results, from which the results of an analysis are derived."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Pass
from mdreel.execution.job import Outcome

_HEAD = 2


@dataclass(frozen=True)
class Tally:
    """Merged partial results of a computation.

    Attributes
    ----------
    rows : ndarray, shape (n_frames, 2 + n_columns), float64
        Frame number, time (in ps) and values for each frame.
    sums : ndarray, shape (n_sums,), float64
        Sums over all frames.
    counts : ndarray, shape (n_counts,), uint64
        Counts over all frames.
    records : ndarray, shape (n_records, 1 + n_values), float64
        Frame number and values of each event. The shape is (0, 0) for computations without events.
    arguments : tuple
        Arguments of the computation.
    own : object
        Value computed in Python.
    """

    rows: NDArray[np.float64]
    sums: NDArray[np.float64]
    counts: NDArray[np.uint64]
    records: NDArray[np.float64]
    arguments: tuple[Any, ...]
    own: Any = None

    @property
    def n_frames(self) -> int:
        """Number of analysed frames."""
        return len(self.rows)

    @property
    def values(self) -> NDArray[np.float64]:
        """Values for each frame, shape (n_frames, n_columns)."""
        return self.rows[:, _HEAD:]

    @classmethod
    def of_each(cls, outcome: Outcome, kernel: Pass) -> Iterator[Self]:
        """Yield the partial results of each computation in a pass."""
        for computation, places in zip(kernel.computations, kernel.places, strict=True):
            (first, end), of_sums, of_counts, of_records, of_own = places
            # The widest rows come first and are not copied, because they may fill most of the memory.
            rows = outcome.rows[:, : _HEAD + end]
            if first:
                rows = np.concatenate([rows[:, :_HEAD], rows[:, _HEAD + first :]], axis=1)
            sums, counts = outcome.sums[slice(*of_sums)], outcome.counts[slice(*of_counts)]
            (records,) = outcome.records[slice(*of_records)] or (np.empty((0, 0)),)
            (own,) = outcome.own[slice(*of_own)] or (None,)
            yield cls(rows, sums, counts, records, computation.arguments, own)
