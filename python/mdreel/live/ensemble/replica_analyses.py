"""Analyses of a running replica."""

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
from mdreel.live.incremental_run import Turns
from mdreel.results.column import Column

_BRIEF = 2e-5
"""So long a look at one channel waits for a frame, s: there are others."""

_FOREVER = 1e9
"""Who waits for a replica to come back is told when it does not, and not by the clock."""

_SHOWN_SECONDS = 5.0
"""How often results are made for those who watch: of many replicas that costs."""

_TRIES = 10


@dataclass(frozen=True)
class Wanted:
    """An analysis of each replica.

    Attributes
    ----------
    name : str
        What its tables are called.
    title : str
        What it is called, for people.
    columns : callable
        Returns the table of the analysis when it has results.
    facts : dict
        What files say of it.
    """

    name: str
    title: str
    columns: Callable[[Any], Sequence[Column]]
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Inquiry:
    """What is asked of each replica.

    Attributes
    ----------
    wanted : tuple of Wanted
        The analyses.
    prepare : callable
        Makes them, of the frames of a replica: one for each of `wanted`.
    window : tuple of int or None
        First frame, end and step.
    n_workers : int
        How many threads compute. One is right where the simulations have all cores.
    """

    wanted: tuple[Wanted, ...]
    prepare: Callable[[Source], Sequence[Analysis]]
    window: tuple[int | None, int | None, int | None] = (None, None, None)
    n_workers: int = 1


class Observation:
    """The analyses of a replica; `look` is called again and again, and never waits for long.

    Parameters
    ----------
    channel : Path
        The directory of its channel, which need not be there.
    inquiry : Inquiry
        What is asked.
    after_epoch : int
        The producer of this epoch, and those before it, are gone, and what they have said of their end with them; -1
        where there was none.
    first_step : int, optional
        The step of the replica's first frame, where analyses had seen it before: it must be there still.

    Attributes
    ----------
    after_epoch : int
        As it was given.
    found : tuple of sequence of Column
        The table of each analysis, when it is over.
    first_step : int or None
        The step of the first frame.
    n_frames : int
        Frames done.
    is_over : bool
        Whether all frames are done that are wanted: the channel has ended, or the window.
    has_all : bool
        Whether it is the window: the channel was left, and nothing more is wanted of the simulation.
    error : Exception or None
        Why they cannot go on.
    lacks_frames : bool
        Whether that is because its first frames are not there any more.
    heard_at : float
        When the last frame came, or the beginning, on the monotonic clock.

    Notes
    -----
    A replica that dies and is started again is waited for, without end: who has one observation for each replica says
    when it is not to come back. The frames that a look takes are gone from memory when it returns, so that of many
    replicas one at a time has frames there.
    """

    def __init__(self, channel: Path, inquiry: Inquiry, after_epoch: int = -1, first_step: int | None = None) -> None:
        self.found: tuple[Sequence[Column], ...] = ()
        self.first_step = first_step
        self.n_frames = 0
        self.is_over = self.has_all = False
        self.error: Exception | None = None
        self.lacks_frames = False
        self.heard_at = monotonic()
        self._channel = channel
        self._inquiry = inquiry
        self.after_epoch = after_epoch
        self._is_known = first_step is not None
        self._source: Source | None = None
        self._opening: Thread | None = None
        self._turns: Turns | None = None
        self._analyses: Sequence[Analysis] = ()
        self._shown_at = -_SHOWN_SECONDS
        self._looked_at: float | None = None

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.is_over or self.error is not None

    @property
    def is_waiting(self) -> bool:
        """Whether it is on the channel, and goes on when further frames come."""
        return self._source is not None and not self.has_ended

    def look(self) -> bool:
        """Do what there is to do; return whether frames have come."""
        if self.has_ended:
            return False
        try:
            if self._source is None:
                self._join()
                return False
            if self._turns is None:
                self._begin()
                return False
            return self._turn(self._turns)
        except (MdreelError, OSError) as error:
            # With its traceback it would keep the source, whose place in the ring a simulation waits for.
            self.error = error.with_traceback(None)
            return False

    def close(self) -> None:
        """Leave the channel, whether or not it has ended."""
        turns, self._turns, self._source, self._analyses = self._turns, None, None, ()
        if turns is not None and self.error is not None:
            turns.board.end("failed", " ".join(str(self.error).split()))
        elif turns is not None:
            turns.board.end("stopped")  # unless it has said already how it has ended

    def _join(self) -> None:
        try:
            before = Status.of(self._channel)
            if before.epoch <= self.after_epoch:
                return
            self._source = Channel(self._channel, restart=_FOREVER).source()
        except FileNotFoundError:
            return
        if not (self._channel / "staging").exists():
            self._check_all_there()

    def _check_all_there(self) -> None:
        """Refuse a channel of which frames have gone by before we came."""
        gone = None
        for _ in range(_TRIES):
            # Of all consumers, who has just come is the furthest behind. The two numbers are not of one moment.
            status = Status.of(self._channel)
            left = status.n_published - (status.lag or 0)
            gone = left if gone is None else min(gone, left)
            if gone <= 0:
                return
        message = f"{gone} frames were overwritten before the analyses came"
        advice = "let the simulation wait for them (await_consumers), or have a staging"
        raise StreamError(f"{self._channel}: {message}: {advice}")

    def _begin(self) -> None:
        """Have the analyses made when the first frame is there; by a thread, as they may wait for further ones."""
        assert self._source is not None
        if self._opening is None:
            n_there, is_ended = await_arrival(self._source, 0, 1, _BRIEF)
            if not n_there:
                if is_ended:
                    raise StreamError(f"{self._channel}: the simulation has ended without a frame")
                return
            self.heard_at = monotonic()
            self._check_first(self._source)
            # A daemon, as nothing ends it when the frame that it waits for never comes.
            self._opening = Thread(target=self._open, args=(self._source,), daemon=True)
            self._opening.start()
        self._opening.join(_BRIEF)

    def _check_first(self, source: Source) -> None:
        atom = np.zeros(1, np.uint32)
        step = int(source.reader(atom, []).read(FrameSet.range(0, 1, 1)).steps[0])
        if self._is_known and step != self.first_step:
            self.lacks_frames = True
            message = f"expected the first frame, of step {self.first_step}, still to be in staging, got step {step}"
            raise StreamError(f"{self._channel}: {message}")
        self.first_step = step

    def _open(self, source: Source) -> None:
        inquiry = self._inquiry
        try:
            analyses = inquiry.prepare(source)
            shown = [_shown(wanted, one) for wanted, one in zip(inquiry.wanted, analyses, strict=True)]
            turns = Turns(analyses, inquiry.window, inquiry.n_workers, shown=shown)
        except Exception as error:  # noqa: BLE001 (of a thread nobody sees it else)
            self.error = error.with_traceback(None)
            return
        turns.board.count(0, {})
        self._analyses, self._turns = analyses, turns

    def _turn(self, turns: Turns) -> bool:
        before = turns.n_frames
        if self._looked_at is not None:
            turns.add_wait(monotonic() - self._looked_at)  # others had their turns
        turns.turn(_BRIEF)
        has_come = turns.n_frames > before
        now = self._looked_at = monotonic()
        if has_come:
            self.heard_at, self.n_frames = now, turns.n_frames
        if turns.is_over:
            turns.show(is_last=True)
            turns.end()
            each = zip(self._inquiry.wanted, self._analyses, strict=True)
            self.found = tuple(wanted.columns(analysis) for wanted, analysis in each)
            self.is_over, self.has_all = True, turns.has_all
            self.close()  # a simulation that goes on need not wait for who wants no more of it
        elif turns.has_news and turns.board.is_due and now - self._shown_at >= _SHOWN_SECONDS:
            turns.show(is_last=False)
            self._shown_at = monotonic()
        return has_come


def _shown(wanted: Wanted, analysis: Analysis) -> ResultsView:
    return ResultsView(wanted.title, lambda: wanted.columns(analysis))
