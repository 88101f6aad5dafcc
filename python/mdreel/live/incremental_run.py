"""Runs in rounds. Each round analyses the frames that were published since the previous round."""

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
from mdreel.execution.missed_frames import missed_frames, warn_of_missed_frames
from mdreel.execution.pipeline import with_opening
from mdreel.execution.source_name import source_name
from mdreel.execution.tally import Tally
from mdreel.live.notices.notice_board import NoticeBoard
from mdreel.live.notices.timing import time_by_kind, time_shares
from mdreel.live.unrepeated_warnings import UnrepeatedWarnings
from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK, SPAN
from mdreel.timing.workers import Watch

_MOST_TIMED = 10_000
"""Number of rounds whose spans are recorded. It is limited because a run can take weeks."""


class IncrementalRun:
    """Run of analyses over a growing trajectory. In each round, it analyses the frames that have arrived.

    Parameters
    ----------
    analyses : sequence of Analysis
        Analyses of the same trajectory. The constructor waits for frames that they need in advance, such as a
        reference.
    window : tuple of int or None
        First frame, end and step.
    n_workers : int or None
        Number of threads.
    transformations : sequence of Transformation
        See `Analysis.run`.
    shown : sequence of ResultsView or None
        Results of each analysis that are shown to watchers.

    Attributes
    ----------
    n_frames : int
        Number of analysed frames.
    is_over : bool
        Whether no more frames will arrive.
    has_news : bool
        Whether there are analysed frames that the results do not include yet.
    board : NoticeBoard
        Notice board of the run.

    Raises
    ------
    UnsupportedError
        If the trajectory does not grow, or if an analysis needs to know the number of frames in advance.
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
            raise UnsupportedError("the trajectory does not grow; use run() instead", path=source_name(opened))
        if any(analysis.writes_file for analysis in analyses):
            raise UnsupportedError("an analysis that writes a file has no results before its end; use run()")
        executor_in_order(opened, self._executor, None, has_checkpoint=False)
        select_frames(opened, *window)  # checks the window
        start, self._stop, step = window
        self._next, self._step = start or 0, 1 if step is None else step
        self._job: Job = job_of(analyses, opened, self._next)
        self._check = BoundaryCheck(analyses, opened)
        self._merged = Part.empty(0, self._job.kernel)
        # The trajectory grows, so that opening it and reading a reference from it are mostly waiting.
        self._opening_ns = self._waited_ns = perf_counter_ns() - self._begun_ns
        self._watch = Watch()
        self._n_rounds = 0
        self._looked_ns = 0
        self._free_since_ns = self._ended_ns = self._begun_ns + self._opening_ns
        self._waits: list[tuple[int, int, int]] = []  # start, end and following block of each wait
        self._has_results = False
        self._outcome: Outcome | None = None
        self._warnings = UnrepeatedWarnings()
        self.n_frames = 0
        self.is_over = False
        self.has_news = False
        self.board = NoticeBoard(self._job.source, views_of(analyses) if shown is None else shown)

    @property
    def has_all(self) -> bool:
        """Whether all frames of the window have been analysed."""
        return self._stop is not None and self._next >= self._stop

    @property
    def title(self) -> str:
        """Names of the analyses."""
        return ", ".join(dict.fromkeys(type(analysis).__name__ for analysis in self._analyses))

    @property
    def seconds(self) -> dict[str, float]:
        """Total time, time spent waiting for frames, and time of each kind of span, in s."""
        if self._has_results and not self.has_news and self._n_rounds <= _MOST_TIMED:
            return time_by_kind(self._analyses[0].timing)
        shares = time_shares(self._analyses[0].timing) if self._has_results else {}
        looked = {kind: 1e-9 * self._looked_ns * share for kind, share in shares.items()}
        wall_ns = perf_counter_ns() - self._begun_ns
        return {"wall": 1e-9 * wall_ns, "wait": 1e-9 * self._waited_ns, **looked}

    def add_wait(self, seconds: float) -> None:
        """Count the time between rounds, in s, as time spent waiting for frames."""
        self._waited_ns += round(1e9 * seconds)

    def advance(self, seconds: float) -> None:
        """Wait up to `seconds` s for frames, and analyse the available frames."""
        source = self._job.source
        begun_ns = perf_counter_ns()
        n_there, is_ended = await_arrival(source, self._next, self._step, seconds)
        self._waited_ns += perf_counter_ns() - begun_ns
        end = n_there if self._stop is None else min(n_there, self._stop)
        n_frames = len(range(self._next, end, self._step))
        if n_frames:
            if not self.n_frames:
                self._check.before(self._next)  # the first frame is available
                self._check.warn()
            self._analyse(FrameSet.range(self._next, self._step, n_frames))
            self._next += n_frames * self._step
            self.n_frames += n_frames
            self.has_news = True
        self.is_over, self._ended_ns = is_ended or self.has_all, perf_counter_ns()
        self.board.report_progress(self.n_frames, lambda: self.seconds)

    def skip(self, seconds: float) -> None:
        """Wait up to `seconds` s for frames, and leave the available frames out, so that the simulation never waits."""
        source = self._job.source
        begun_ns = perf_counter_ns()
        n_there, is_ended = await_arrival(source, self._next, self._step, seconds)
        end = n_there if self._stop is None else min(n_there, self._stop)
        self._next += len(range(self._next, end, self._step)) * self._step
        await_arrival(source, self._next, self._step, 0.0)  # releases the frames that are left out
        self._ended_ns = self._free_since_ns = perf_counter_ns()
        self._waited_ns += self._ended_ns - begun_ns
        self.is_over = is_ended or self.has_all
        self.board.report_progress(self.n_frames, lambda: self.seconds)

    def _analyse(self, frames: FrameSet) -> None:
        n_workers, begun_ns = self._executor.n_workers, perf_counter_ns()
        blocks = plan(self._job.source, frames, None, n_workers, False, 8 * self._job.kernel.row_width)
        part = self._job.map(blocks, 0, len(blocks), n_threads=n_workers, monitor=lambda _: self._watch.look())
        self._n_rounds += 1
        if self._n_rounds > _MOST_TIMED:
            part.forget_spans()
        else:
            self._waits.append((self._free_since_ns, begun_ns, self._merged.end))
        part.shift(begun_ns - self._begun_ns - self._opening_ns)
        part.move_to(self._merged.end)
        self._merged.merge(part)
        self._free_since_ns = perf_counter_ns()
        self._looked_ns += self._free_since_ns - begun_ns

    def show(self, is_last: bool) -> None:
        """Update the results of the analyses, and publish them on the notice board if they are new."""
        if self.has_news:
            self._take()
        if self.n_frames and (is_last or self.board.is_due):
            self.board.tell(self.n_frames, self.seconds)
        if self.is_over:
            self.board.end("finished")
            self._warn_of_all()

    def _take(self) -> None:
        so_far = Part.empty(0, self._job.kernel)  # knows how to decode values of user functions
        so_far.merge(Part.from_bytes(self._merged.to_bytes()))
        outcome = self._job.finish(so_far)
        assert outcome is not None  # its frames have numbers
        outcome = replace(outcome, spans=self._with_waits(outcome.spans), on_error=self._job.source.on_error)
        outcome = replace(outcome, n_missed=missed_frames(self._job.source))
        outcome = with_opening(outcome, self._opening_ns, self._watch.look().member, self._opening_ns)
        with self._warnings.of_block():
            for analysis, tally in zip(self._analyses, Tally.of_each(outcome, self._job.kernel), strict=True):
                analysis.accept(outcome, tally)
        self._outcome = outcome
        self._has_results = True
        self.has_news = False

    def _with_waits(self, spans: NDArray[np.void]) -> NDArray[np.void]:
        """Add spans for the times between rounds, during which the workers wait for frames."""
        waits = self._waits
        if self.is_over and self._n_rounds <= _MOST_TIMED:
            waits = [*waits, (self._free_since_ns, self._ended_ns, NO_BLOCK)]  # the wait for the end of the channel
        starts, stops, blocks = np.array(waits, np.int64).reshape(-1, 3).T
        workers = np.unique(spans["worker"][spans["worker"] != COORDINATOR])
        added = np.zeros((len(workers), len(waits)), SPAN)
        added["kind"], added["block"], added["worker"] = KINDS.index("wait"), blocks, workers[:, np.newaxis]
        since_ns = self._begun_ns + self._opening_ns
        added["start_ns"], added["stop_ns"] = starts - since_ns, stops - since_ns
        return np.concatenate([spans, added.ravel()])

    def _warn_of_all(self) -> None:
        """Check the results of all frames once for periodic boundary problems and missed frames."""
        if self._outcome is not None:
            self._check.after(self._outcome, self._job.kernel)
            self._check.warn()
            warn_of_missed_frames(self._job.source)
        self._outcome = None

    def end(self) -> None:
        """Publish the complete results. Raise an error if there were no frames."""
        if not self.n_frames:
            n_came = self._job.source.n_frames
            message = f"no frame is left: the trajectory has ended with {n_came} frames"
            raise FrameIndexError(message, path=source_name(self._job.source))
        if not self.board.is_over:
            self.show(is_last=True)
