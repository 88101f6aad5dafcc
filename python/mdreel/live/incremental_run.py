"""Incremental runs over the frames that have arrived."""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSet, Part, Transformation, await_arrival, plan
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.base.observer import ResultsView, views_of
from mdreel.analysis.base.one_pass import job_of, leader_of
from mdreel.analysis.periodic.boundary_check import BoundaryCheck
from mdreel.analysis.transformations import executor_in_order, transformed
from mdreel.errors import FrameIndexError, UnsupportedError
from mdreel.execution.blocks import select_frames
from mdreel.execution.executors.local.threads import Threads
from mdreel.execution.job import Job, Outcome
from mdreel.execution.pipeline import with_opening
from mdreel.execution.source_name import name_of
from mdreel.execution.tally import Tally
from mdreel.live.notices.notice_board import NoticeBoard
from mdreel.live.notices.timing import seconds_of, shares_of
from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK, SPAN
from mdreel.timing.workers import Watch

_MOST_TIMED = 10_000
"""Turns whose spans are kept: a run may go on for weeks."""


class Turns:
    """Runs analyses over a trajectory that grows, as far as it has grown.

    Parameters
    ----------
    analyses : sequence of Analysis
        The analyses, of one trajectory. Frames that they need beforehand, such as a reference, are waited for.
    window : tuple of int or None
        First frame, end and step.
    n_workers : int or None
        How many threads.
    transformations : sequence of Transformation
        As of `Analysis.run`.
    shown : sequence of ResultsView or None
        What others see of each analysis.

    Attributes
    ----------
    n_frames : int
        Frames done.
    is_over : bool
        Whether no more will come.
    has_news : bool
        Whether there are frames that the results do not have.
    board : NoticeBoard
        What others see.

    Raises
    ------
    UnsupportedError
        If the trajectory does not grow, or an analysis needs to know how many frames there will be.
    """

    def __init__(
        self,
        analyses: Sequence[Analysis],
        window: tuple[int | None, int | None, int | None],
        n_workers: int | None = None,
        transformations: Sequence[Transformation] = (),
        shown: Sequence[ResultsView] | None = None,
    ) -> None:
        self._begun_ns = perf_counter_ns()
        self._analyses = analyses
        self._executor = Threads(n_workers)
        opened = transformed(leader_of(analyses).open(), transformations)
        if not opened.is_growing:
            raise UnsupportedError(f"{name_of(opened)}: the trajectory does not grow: run() gives all results at once")
        if any(analysis.leaves_file for analysis in analyses):
            raise UnsupportedError("an analysis that writes a file does that at its end: it has no results before")
        executor_in_order(opened, self._executor, None, has_checkpoint=False)
        select_frames(opened, *window)  # says what is wrong with them
        start, self._stop, step = window
        self._next, self._step = start or 0, 1 if step is None else step
        self._job: Job = job_of(analyses, opened)
        self._check = BoundaryCheck(analyses, opened)
        self._whole = Part.empty(0, self._job.kernel)
        self._opening_ns = perf_counter_ns() - self._begun_ns
        self._watch = Watch()
        self._n_turns = 0
        self._waited_ns = self._looked_ns = 0
        self._free_since_ns = self._ended_ns = self._begun_ns + self._opening_ns
        self._waits: list[tuple[int, int, int]] = []  # start and end of each, and the block that ended it
        self._has_results = False
        self._outcome: Outcome | None = None
        self.n_frames = 0
        self.is_over = False
        self.has_news = False
        self.board = NoticeBoard(self._job.source, views_of(analyses) if shown is None else shown)

    @property
    def has_all(self) -> bool:
        """Whether no frame behind those that are done is wanted."""
        return self._stop is not None and self._next >= self._stop

    @property
    def title(self) -> str:
        """What is computed."""
        return ", ".join(dict.fromkeys(type(analysis).__name__ for analysis in self._analyses))

    @property
    def seconds(self) -> dict[str, float]:
        """Where the time went, s: the whole, waiting for frames, and of looking at them the kinds of spans."""
        if self._has_results and not self.has_news and self._n_turns <= _MOST_TIMED:
            return seconds_of(self._analyses[0].timing)
        shares = shares_of(self._analyses[0].timing) if self._has_results else {}
        looked = {kind: 1e-9 * self._looked_ns * share for kind, share in shares.items()}
        wall_ns = perf_counter_ns() - self._begun_ns
        return {"wall": 1e-9 * wall_ns, "wait": 1e-9 * self._waited_ns, **looked}

    def add_wait(self, seconds: float) -> None:
        """Count time in which nobody has asked for a turn, s, as waiting for frames."""
        self._waited_ns += round(1e9 * seconds)

    def turn(self, seconds: float) -> None:
        """Wait for frames, at most so many s, and look at those that are there."""
        source = self._job.source
        begun_ns = perf_counter_ns()
        n_there, is_ended = await_arrival(source, self._next, self._step, seconds)
        self._waited_ns += perf_counter_ns() - begun_ns
        end = n_there if self._stop is None else min(n_there, self._stop)
        n_frames = len(range(self._next, end, self._step))
        if n_frames:
            if not self.n_frames:
                self._check.before(self._next)  # it is there
                self._check.warn()
            self._look_at(FrameSet.range(self._next, self._step, n_frames))
            self._next += n_frames * self._step
            self.n_frames += n_frames
            self.has_news = True
        self.is_over, self._ended_ns = is_ended or self.has_all, perf_counter_ns()
        self.board.hear(self.n_frames, lambda: self.seconds)

    def _look_at(self, frames: FrameSet) -> None:
        n_workers, begun_ns = self._executor.n_workers, perf_counter_ns()
        blocks = plan(self._job.source, frames, None, n_workers, False, 8 * self._job.kernel.row_width)
        part = self._job.map(blocks, 0, len(blocks), n_threads=n_workers, monitor=lambda _: self._watch.look())
        self._n_turns += 1
        if self._n_turns > _MOST_TIMED:
            part.forget_spans()
        else:
            self._waits.append((self._free_since_ns, begun_ns, self._whole.end))
        part.shift(begun_ns - self._begun_ns - self._opening_ns)
        part.move_to(self._whole.end)
        self._whole.merge(part)
        self._free_since_ns = perf_counter_ns()
        self._looked_ns += self._free_since_ns - begun_ns

    def show(self, is_last: bool) -> None:
        """Give the analyses the results so far, if there are any that they do not have, and let others see them."""
        if self.has_news:
            self._take()
        if self.n_frames and (is_last or self.board.is_due):
            self.board.tell(self.n_frames, self.seconds)
        if self.is_over:
            self.board.end("finished")
            self._warn_of_all()

    def _take(self) -> None:
        so_far = Part.empty(0, self._job.kernel)  # which understands what users' code has made
        so_far.merge(Part.from_bytes(self._whole.to_bytes()))
        outcome = self._job.finish(so_far)
        assert outcome is not None  # its frames have numbers
        outcome = replace(outcome, spans=self._with_waits(outcome.spans))
        outcome = with_opening(outcome, self._opening_ns, self._watch.look().member)
        for analysis, tally in zip(self._analyses, Tally.of_each(outcome, self._job.kernel), strict=True):
            analysis.take(outcome, tally)
        self._outcome = outcome
        self._has_results = True
        self.has_news = False

    def _with_waits(self, spans: NDArray[np.void]) -> NDArray[np.void]:
        """Add the time between two turns, in which the workers wait for frames."""
        waits = self._waits
        if self.is_over and self._n_turns <= _MOST_TIMED:
            waits = [*waits, (self._free_since_ns, self._ended_ns, NO_BLOCK)]  # for the news that there are no more
        starts, stops, blocks = np.array(waits, np.int64).reshape(-1, 3).T
        workers = np.unique(spans["worker"][spans["worker"] != COORDINATOR])
        added = np.zeros((len(workers), len(waits)), SPAN)
        added["kind"], added["block"], added["worker"] = KINDS.index("wait"), blocks, workers[:, np.newaxis]
        since_ns = self._begun_ns + self._opening_ns
        added["start_ns"], added["stop_ns"] = starts - since_ns, stops - since_ns
        return np.concatenate([spans, added.ravel()])

    def _warn_of_all(self) -> None:
        """Look at what the analyses have kept of all frames, once."""
        if self._outcome is not None:
            self._check.after(self._outcome, self._job.kernel)
            self._check.warn()
        self._outcome = None

    def end(self) -> None:
        """Let others see all results; raise if there was no frame at all."""
        if not self.n_frames:
            n_came = self._job.source.n_frames
            message = f"no frame is left: the trajectory has ended with {n_came} frames"
            raise FrameIndexError(f"{name_of(self._job.source)}: {message}")
        if not self.board.is_over:
            self.show(is_last=True)
