"""Analyses of a replica, which use the frames of its channel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any

import numpy as np

from mdreel._core import FrameSet, Source, await_arrival
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.base.observer import ResultsView
from mdreel.errors import MdreelError, StreamError
from mdreel.live.channels.channel import Channel
from mdreel.live.channels.status import Status
from mdreel.live.incremental_run import IncrementalRun
from mdreel.results.column import Column

_BRIEF = 2e-5
"""Maximum time to wait for a frame of one channel, in s. It is short because other channels need attention, too."""

_FOREVER = 1e9
"""Timeout for a restart of the replica, in s. It is practically unlimited, because the manager sets the limit."""

_SHOWN_SECONDS = 5.0
"""Minimum interval between two notices with results, in s. Notices are expensive if there are many replicas."""

_TRIES = 10


@dataclass(frozen=True)
class ReplicaAnalysis:
    """Analysis that is carried out for each replica.

    Attributes
    ----------
    name : str
        Name of its tables.
    title : str
        Display name.
    columns : callable
        Function that returns the result table of an analysis.
    facts : dict
        Metadata for its files.
    """

    name: str
    title: str
    columns: Callable[[Any], Sequence[Column]]
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ReplicaAnalyses:
    """Analyses that are carried out for each replica, and the frames that they use.

    Attributes
    ----------
    analyses : tuple of ReplicaAnalysis
        The analyses.
    prepare : callable
        Function that creates the analyses from the frames of a replica. It returns one analysis for each of `analyses`.
    window : tuple of int or None
        First frame, end and step.
    n_workers : int
        Number of threads for the computations. Use a single thread if the simulations occupy all cores.
    """

    analyses: tuple[ReplicaAnalysis, ...]
    prepare: Callable[[Source], Sequence[Analysis]]
    window: tuple[int | None, int | None, int | None] = (None, None, None)
    n_workers: int = 1


class ReplicaObserver:
    """Analyses of a replica, which progress whenever `advance` is called. This method never blocks for long.

    Parameters
    ----------
    channel : Path
        Directory of the channel, which does not have to exist yet.
    settings : ReplicaAnalyses
        The analyses.
    after_epoch : int
        Epoch of the last producer to ignore, or -1 if there was none.
    first_step : int, optional
        Step of the replica's first frame, if it is known from earlier analyses. This frame must still be available.

    Attributes
    ----------
    after_epoch : int
        Epoch of the last producer to ignore.
    found : tuple of sequence of Column
        Table of each analysis. It is set at the end.
    first_step : int or None
        Step of the first frame.
    n_frames : int
        Number of analysed frames.
    is_over : bool
        Whether all frames have been analysed, because the channel or the window has ended.
    has_all : bool
        Whether the window has ended. In this case, the analyses have left the channel, because they do not need any
        more frames.
    error : Exception or None
        Error that caused the analyses to end.
    lacks_frames : bool
        Whether the error occurred because the first frames are no longer available.
    heard_at : float
        Time of the last frame or of the start, measured with the monotonic clock.

    Notes
    -----
    If a replica dies, the observer waits indefinitely until the replica is restarted, because the manager decides when
    to give up. `advance` releases its frames before it returns. Therefore, the frames of only one replica are in memory
    at a time.
    """

    def __init__(
        self, channel: Path, settings: ReplicaAnalyses, after_epoch: int = -1, first_step: int | None = None
    ) -> None:
        self.found: tuple[Sequence[Column], ...] = ()
        self.first_step = first_step
        self.n_frames = 0
        self.is_over = self.has_all = False
        self.error: Exception | None = None
        self.lacks_frames = False
        self.heard_at = monotonic()
        self._channel = channel
        self._settings = settings
        self.after_epoch = after_epoch
        self._is_known = first_step is not None
        self._source: Source | None = None
        self._opening: Thread | None = None
        self._run: IncrementalRun | None = None
        self._analyses: Sequence[Analysis] = ()
        self._shown_at = -_SHOWN_SECONDS
        self._checked_at: float | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the analyses have finished or failed."""
        return self.is_over or self.error is not None

    @property
    def is_waiting(self) -> bool:
        """Whether the analyses have joined the channel and are waiting for frames."""
        return self._source is not None and not self.has_ended

    def advance(self) -> bool:
        """Advance the analyses without blocking, and return whether there were new frames."""
        if self.has_ended:
            return False
        try:
            if self._source is None:
                self._join()
                return False
            if self._run is None:
                self._begin()
                return False
            return self._advance(self._run)
        except (MdreelError, OSError) as error:
            # Its traceback would keep the source alive, whose slots would block the simulation.
            self.error = error.with_traceback(None)
            return False

    def close(self) -> None:
        """Leave the channel."""
        run, self._run, self._source, self._analyses = self._run, None, None, ()
        if run is not None and self.error is not None:
            run.board.end("failed", " ".join(str(self.error).split()))
        elif run is not None:
            run.board.end("stopped")  # no effect if the end is already published

    def _join(self) -> None:
        try:
            before = Status.read(self._channel)
            if before.epoch <= self.after_epoch:
                return
            self._source = Channel(self._channel, restart=_FOREVER).source()
        except FileNotFoundError:
            return
        if not (self._channel / "staging").exists():
            self._check_all_there()

    def _check_all_there(self) -> None:
        """Check that no frame was overwritten before the analyses joined."""
        gone = None
        for _ in range(_TRIES):
            # The consumer that has just joined has the largest lag. The two numbers may be read at different moments.
            status = Status.read(self._channel)
            left = status.n_published - (status.lag or 0)
            gone = left if gone is None else min(gone, left)
            if gone <= 0:
                return
        message = f"{gone} frames were overwritten before the analyses joined"
        advice = "let the simulation wait for them (await_consumers), or use staging"
        raise StreamError(f"{self._channel}: {message}; {advice}")

    def _begin(self) -> None:
        """Create the analyses after the first frame. A thread is used because they can wait for further frames."""
        assert self._source is not None
        if self._opening is None:
            n_there, is_ended = await_arrival(self._source, 0, 1, _BRIEF)
            if not n_there:
                if is_ended:
                    raise StreamError(f"{self._channel}: the simulation ended without a frame")
                return
            self.heard_at = monotonic()
            self._check_first(self._source)
            # A daemon thread, because it may wait for a frame that is never published.
            self._opening = Thread(target=self._open, args=(self._source,), daemon=True)
            self._opening.start()
        self._opening.join(_BRIEF)

    def _check_first(self, source: Source) -> None:
        atom = np.zeros(1, np.uint32)
        step = int(source.reader(atom, []).read(FrameSet.range(0, 1, 1)).steps[0])
        if self._is_known and step != self.first_step:
            self.lacks_frames = True
            message = f"expected the first frame, of step {self.first_step}, in staging, got step {step}"
            raise StreamError(f"{self._channel}: {message}")
        self.first_step = step

    def _open(self, source: Source) -> None:
        settings = self._settings
        try:
            analyses = settings.prepare(source)
            shown = [_results_view(one, analysis) for one, analysis in zip(settings.analyses, analyses, strict=True)]
            run = IncrementalRun(analyses, settings.window, settings.n_workers, shown=shown)
        except Exception as error:  # noqa: BLE001 (`advance` reports the error of the thread)
            self.error = error.with_traceback(None)
            return
        run.board.count(0, {})
        self._analyses, self._run = analyses, run

    def _advance(self, run: IncrementalRun) -> bool:
        before = run.n_frames
        if self._checked_at is not None:
            run.add_wait(monotonic() - self._checked_at)  # the time of other replicas
        run.advance(_BRIEF)
        has_come = run.n_frames > before
        now = self._checked_at = monotonic()
        if has_come:
            self.heard_at, self.n_frames = now, run.n_frames
        if run.is_over:
            run.show(is_last=True)
            run.end()
            each = zip(self._settings.analyses, self._analyses, strict=True)
            self.found = tuple(one.columns(analysis) for one, analysis in each)
            self.is_over, self.has_all = True, run.has_all
            self.close()  # so that the ring does not block a simulation that continues
        elif run.has_news and run.board.is_due and now - self._shown_at >= _SHOWN_SECONDS:
            run.show(is_last=False)
            self._shown_at = monotonic()
        return has_come


def _results_view(one: ReplicaAnalysis, analysis: Analysis) -> ResultsView:
    return ResultsView(one.title, lambda: one.columns(analysis))
