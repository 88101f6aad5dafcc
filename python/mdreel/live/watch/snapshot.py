"""Snapshots of channels and of their analyses."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mdreel.foundation.printable import printable
from mdreel.live.channels.status import Status
from mdreel.live.notices.notice import Notice
from mdreel.live.watch.steering import Event

STATES = ("running", "lost", "finished", "stopped", "failed", "absent", "unreadable")
"""How a channel may be: as `Status` says, or not there, or nothing that can be looked at."""

ANALYSIS_STATES = ("running", "finished", "stopped", "failed", "dead", "unreadable")
"""How an analysis may be: as its notice says, or without a process, or with a notice that cannot be read."""

HISTORY = ("elapsed", "frames_per_second", "lag")
"""What is kept of each look: s since watching began, frames a second, and frames that the slowest is behind."""


@dataclass(frozen=True)
class SeenAnalysis:
    """What is seen of an analysis.

    Attributes
    ----------
    key : str
        The name of its notice, which no other analysis of the channel has.
    notice : Notice or None
        What it says; None if that cannot be read.
    name : str
        What it is called, or the file that cannot be read.
    state : str
        One of `ANALYSIS_STATES`.
    reason : str or None
        Why it has failed, or cannot be read.
    """

    key: str
    notice: Notice | None
    name: str
    state: str
    reason: str | None

    @property
    def process(self) -> int:
        """The number of its process; 0 if it does not say."""
        return 0 if self.notice is None else self.notice.process.number

    @property
    def latest(self) -> dict[str, tuple[float, str]]:
        """Values and units of the last frame, by column; nothing where rows are not of frames."""
        notice = self.notice
        if notice is None or notice.last is None or not notice.is_of_frames:
            return {}
        first = notice.first_value
        columns = zip(notice.columns[first:], notice.last[first:].tolist(), strict=True)
        return {name: (value, unit) for (name, unit), value in columns}


@dataclass(frozen=True)
class Seen:
    """What is seen of a channel.

    Attributes
    ----------
    path : Path
        Its directory.
    state : str
        One of `STATES`.
    reason : str or None
        Why it has failed, or cannot be looked at.
    status : Status or None
        What the channel says; None if it cannot be looked at.
    frame_bytes : int
        What a frame takes in the ring, bytes; of a compressed one, at most.
    frames_per_second : float or None
        How fast frames come; None after one look.
    analyses : tuple of SeenAnalysis
        Analyses that say something of themselves, those that run first.
    events : tuple of Event
        The end of the log of steering.
    n_damaged_events : int
        Lines of it that cannot be read.
    history : ndarray, shape (n_looks, 3), float64
        What was seen before, thinned out: the columns of `HISTORY`; NaN where nothing was known.
    """

    path: Path
    state: str
    reason: str | None = None
    status: Status | None = None
    frame_bytes: int = 0
    frames_per_second: float | None = None
    analyses: tuple[SeenAnalysis, ...] = ()
    events: tuple[Event, ...] = ()
    n_damaged_events: int = 0
    history: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, len(HISTORY))))

    @property
    def name(self) -> str:
        """The channel's name."""
        return printable(self.path.name)

    @property
    def bytes_per_second(self) -> float | None:
        """How many bytes of frames come in a second."""
        return None if self.frames_per_second is None else self.frames_per_second * self.frame_bytes

    @property
    def lags(self) -> tuple[int, ...]:
        """How far each consumer is behind, in frames."""
        return () if self.status is None else self.status.lags
