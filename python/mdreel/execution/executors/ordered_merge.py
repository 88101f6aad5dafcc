"""Merging of partial results in the order of blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mdreel._core import Part

if TYPE_CHECKING:
    from mdreel.execution.job import Outcome
    from mdreel.execution.work import Work


class OrderedMerge:
    """Merges the parts of a run in the order of the blocks.

    Parameters
    ----------
    work : Work
        The run. Parts that are already in its checkpoint are merged immediately, and new parts are added to the
        checkpoint.
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
        """End of the range of blocks that are needed."""
        return self._end

    @property
    def is_complete(self) -> bool:
        """Whether all blocks that are needed have been merged."""
        return self._whole.end >= self._end

    def make_room(self) -> None:
        """Allocate the memory of all results in advance."""
        self._whole.reserve(self._work.blocks.frames_before(self._end) - self._whole.n_frames, touch=True)

    def missing(self) -> Iterator[tuple[int, int]]:
        """Yield the first block and the end of each range of missing blocks, in ascending order."""
        at = self._whole.end
        for first, part in sorted(self._waiting.items()):
            if at < first:
                yield at, first
            at = part.end
        if at < self._end:
            yield at, self._end

    def add(self, part: Part) -> None:
        """Add a new part to the checkpoint and merge it.

        Raises
        ------
        Exception
            The error of a block. It is raised after all earlier blocks have been merged.
        """
        if self._work.checkpoint is not None:
            self._work.checkpoint.add(part)
        self.take(part)

    def take(self, part: Part) -> None:
        """Merge a part. If its blocks have already been merged, ignore it."""
        if part.first >= self._end or part.first < self._whole.end or part.first in self._waiting:
            return
        self._waiting[part.first] = part
        self.n_frames += part.n_frames
        self.n_waiting_frames += part.n_frames
        if part.is_last:
            self._end_at(part.end)
        self._merge_ready()

    def fail(self, block: int, error: BaseException) -> None:
        """Record the error of a block. The first error is raised after all blocks before it have been merged."""
        if block < self._end:
            self._end_at(block)
            self._error = (block, error)
            self._merge_ready()

    def finish(self) -> Outcome | None:
        """Return the outcome, or None if any block of bytes did not begin at a frame."""
        return self._work.job.finish(self._whole)

    def _end_at(self, end: int) -> None:
        self._end = min(self._end, end)
        self._waiting = {first: part for first, part in self._waiting.items() if first < self._end}
        if self._error is not None and self._error[0] >= end:
            self._error = None

    def _merge_ready(self) -> None:
        while (part := self._waiting.pop(self._whole.end, None)) is not None:
            self.n_waiting_frames -= part.n_frames
            self._whole.merge(part)
        if self._error is not None and self._error[0] == self._whole.end:
            raise self._error[1]
