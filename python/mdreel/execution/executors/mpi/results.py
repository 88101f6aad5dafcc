"""Assembly of results on rank 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter_ns
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import FormatError, MdreelError
from mdreel.execution.executors.ordered_merge import OrderedMerge
from mdreel.execution.span_log import SpanLog
from mdreel.timing.spans import COORDINATOR

if TYPE_CHECKING:
    from mdreel._core import Part
    from mdreel.execution.executors.mpi.result_transfer import ResultTransfer
    from mdreel.execution.executors.mpi.round import HandedIn
    from mdreel.execution.job import Outcome
    from mdreel.execution.work import Work
    from mdreel.timing.workers import Member


class Results:
    """Results of the rounds of a run.

    Parameters
    ----------
    work : Work
        The run, which starts now.

    Attributes
    ----------
    n_frames : int
        Number of analysed frames.
    is_of_use : bool
        Whether the results can be used. False if a block of bytes did not begin at a frame, because the run then has to
        be planned again.
    """

    def __init__(self, work: Work) -> None:
        self._merge = OrderedMerge(work)
        self._are_of_bytes = work.blocks.are_of_bytes
        self._row_width = work.job.kernel.row_width
        self._begun_ns = perf_counter_ns()
        self._spans: list[NDArray[np.void]] = []
        self._log = SpanLog()
        self._crew: dict[int, Member] = {}
        self._failed: set[int] = set()
        self.is_of_use = True

    @property
    def n_frames(self) -> int:
        """Number of analysed frames."""
        return self._merge.n_frames

    def make_room(self) -> None:
        """Allocate the memory of all results while other ranks compute."""
        self._merge.make_room()

    def missing(self) -> list[tuple[int, int]]:
        """Return the ranges of missing blocks in ascending order, each with the first block and the end."""
        return list(self._merge.missing())

    def take_in(self, since_ns: int, handed_in: Sequence[HandedIn], transfer: ResultTransfer) -> None:
        """Merge the results and the errors that all ranks submit at the end of a round.

        Parameters
        ----------
        since_ns : int
            Start of the round, as returned by `time.perf_counter_ns` on rank 0.
        handed_in : sequence of HandedIn
            Record of each rank.
        transfer : ResultTransfer
            Transfer that contains the rows that are not in a record.

        Raises
        ------
        WorkerError
            If a block has failed twice.
        Exception
            The error of a block. It is raised after all earlier blocks have been merged.
        """
        offset_ns = since_ns - self._begun_ns
        for number, rank in enumerate(handed_in):
            self._crew[number] = rank.watch.member
            self._spans.append(rank.log.spans(rank.begun_ns - offset_ns))
            for part, n_rows in rank.parts:
                self._get(transfer, part, n_rows)
                part.shift(offset_ns)
                merging_ns, n_frames = perf_counter_ns(), part.n_frames
                self._merge.take(part)
                self._log.record("reduce", COORDINATOR, merging_ns, n_frames=n_frames)
        for rank in handed_in:
            for first, failure in rank.failures:
                if not isinstance(failure.error, MdreelError):
                    if first in self._failed:
                        last = f"block {first} failed twice, the last time on {rank.where}"
                        raise failure.blamed_on(last) from failure.error
                    self._failed.add(first)
                elif isinstance(failure.error, FormatError) and self._are_of_bytes:
                    self.is_of_use = False
                    return
                else:
                    self._merge.fail(first, failure.error)

    def finish(self) -> Outcome | None:
        """Return the outcome, or None if any block of bytes did not begin at a frame."""
        outcome = self._merge.finish() if self.is_of_use else None
        if outcome is None:
            return None
        spans = np.concatenate([outcome.spans, *self._spans, self._log.spans(self._begun_ns)])
        return replace(outcome, spans=spans, crew=self._crew)

    def _get(self, transfer: ResultTransfer, part: Part, n_rows: int) -> None:
        """Return the rows to a part, and record how long it took to fetch them."""
        since_ns = perf_counter_ns()
        transfer.get(part, n_rows)
        if transfer.fetches:
            n_bytes = 8 * self._row_width * n_rows
            self._log.record("communicate", 0, since_ns, n_frames=n_rows, n_bytes=n_bytes)
