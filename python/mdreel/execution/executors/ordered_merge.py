"""Merging of partial results in the order of blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mdreel._core import Part

if TYPE_CHECKING:
    from mdreel.execution.job import Outcome
    from mdreel.execution.work import Work


class Gathering:
    """Merges the parts of a run.

    Parameters
    ----------
    work : Work
        The run. What its checkpoint has is there already, and what comes is added to it.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._whole = Part.empty(0, work.job.kernel)
        self._whole.reserve(work.blocks.frames_before(len(work.blocks)))
        self._waiting: dict[int, Part] = {}
        self._error: tuple[int, BaseException] | None = None
        self._end = len(work.blocks)
        self.n_frames = 0
        self.n_waiting_frames = 0
        for part in work.checkpoint.parts() if work.checkpoint is not None else ():
            self.take(part)

    @property
    def end(self) -> int:
        """The end of the blocks that are needed."""
        return self._end

    @property
    def is_complete(self) -> bool:
        """Whether all blocks that are needed are merged."""
        return self._whole.end >= self._end

    def make_room(self) -> None:
        """Have the system give the memory for all that will come, before it does."""
        self._whole.reserve(self._work.blocks.frames_before(self._end) - self._whole.n_frames, touch=True)

    def missing(self) -> Iterator[tuple[int, int]]:
        """Say which blocks have not come: first and end of consecutive ones, ascending."""
        at = self._whole.end
        for first, part in sorted(self._waiting.items()):
            if at < first:
                yield at, first
            at = part.end
        if at < self._end:
            yield at, self._end

    def add(self, part: Part) -> None:
        """Take a part, of blocks that have not come yet.

        Raises
        ------
        Exception
            What a block raised of which all that come before it are merged.
        """
        if self._work.checkpoint is not None:
            self._work.checkpoint.add(part)
        self.take(part)

    def take(self, part: Part) -> None:
        """Take a part that need not be kept; one whose blocks have come already does not count."""
        if part.first >= self._end or part.first < self._whole.end or part.first in self._waiting:
            return
        self._waiting[part.first] = part
        self.n_frames += part.n_frames
        self.n_waiting_frames += part.n_frames
        if part.is_last:
            self._end_at(part.end)
        self._merge()

    def fail(self, block: int, error: BaseException) -> None:
        """Take the error that a block raised: that of the first block is raised, once all before it are merged."""
        if block < self._end:
            self._end_at(block)
            self._error = (block, error)
            self._merge()

    def finish(self) -> Outcome | None:
        """Return the outcome, when all is there; None when blocks of bytes did not join."""
        return self._work.job.finish(self._whole)

    def _end_at(self, end: int) -> None:
        self._end = min(self._end, end)
        self._waiting = {first: part for first, part in self._waiting.items() if first < self._end}
        if self._error is not None and self._error[0] >= end:
            self._error = None

    def _merge(self) -> None:
        while (part := self._waiting.pop(self._whole.end, None)) is not None:
            self.n_waiting_frames -= part.n_frames
            self._whole.merge(part)
        if self._error is not None and self._error[0] == self._whole.end:
            raise self._error[1]
