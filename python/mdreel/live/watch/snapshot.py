"""Snapshots of channels and their analyses."""

from dataclasses import dataclass, field
from pathlib import Path

from mdreel.foundation.printable import printable
from mdreel.live.channels.status import Status
from mdreel.live.notices.notice import Notice
from mdreel.live.notices.rows import Rows
from mdreel.live.watch.steering import Event

STATES = ("running", "lost", "finished", "stopped", "failed", "absent", "unreadable")
"""States of a channel, which are the states of `Status`, ``absent`` and ``unreadable``."""

ANALYSIS_STATES = ("running", "finished", "stopped", "failed", "dead", "unreadable")
"""States of an analysis, which are the states of its notice and ``unreadable``."""

HISTORY = ("elapsed", "frames_per_second", "lag")
"""Columns of the history: time since the watcher was started (in s), frames per second, and largest lag."""


@dataclass(frozen=True)
class AnalysisSnapshot:
    """Snapshot of an analysis.

    Attributes
    ----------
    key : str
        Name of its notice, which is unique within the channel.
    notice : Notice or None
        Its notice, or None if the notice cannot be read.
    name : str
        Display name, or the name of the file if it cannot be read.
    state : str
        One of `ANALYSIS_STATES`.
    reason : str or None
        Reason for a failure or for a read error.
    """

    key: str
    notice: Notice | None
    name: str
    state: str
    reason: str | None

    @property
    def process(self) -> int:
        """Process ID, or 0 if it is unknown."""
        return 0 if self.notice is None else self.notice.process.number

    @property
    def latest(self) -> dict[str, tuple[float, str]]:
        """Values and units of the last frame by column. Empty if rows do not belong to frames."""
        notice = self.notice
        if notice is None or notice.last is None or not notice.is_of_frames:
            return {}
        first = notice.first_value
        columns = zip(notice.columns[first:], notice.last[first:], strict=True)
        return {name: (value, unit) for (name, unit), value in columns}


@dataclass(frozen=True)
class ChannelSnapshot:
    """Snapshot of a channel.

    Attributes
    ----------
    path : Path
        Directory of the channel.
    state : str
        One of `STATES`.
    reason : str or None
        Reason for a failure or for a read error, or the processes that the simulation is waiting for.
    status : Status or None
        Status of the channel, or None if it cannot be read.
    frame_bytes : int
        Size of a frame in the ring, in bytes. If frames are compressed, this is the maximum size.
    frames_per_second : float or None
        Frame rate, or None after a single snapshot.
    analyses : tuple of AnalysisSnapshot
        Analyses that publish notices, starting with running analyses.
    events : tuple of Event
        Last events in the steering log.
    n_damaged_events : int
        Number of unreadable lines among these events.
    history : Rows
        Downsampled earlier values, with the columns `HISTORY`. Missing values are NaN.
    """

    path: Path
    state: str
    reason: str | None = None
    status: Status | None = None
    frame_bytes: int = 0
    frames_per_second: float | None = None
    analyses: tuple[AnalysisSnapshot, ...] = ()
    events: tuple[Event, ...] = ()
    n_damaged_events: int = 0
    history: Rows = field(default_factory=lambda: Rows(len(HISTORY)))

    @property
    def name(self) -> str:
        """Name of the channel."""
        return printable(self.path.name)

    @property
    def bytes_per_second(self) -> float | None:
        """Frame rate, in bytes per second."""
        return None if self.frames_per_second is None else self.frames_per_second * self.frame_bytes

    @property
    def lags(self) -> tuple[int, ...]:
        """Lag of each consumer, in frames."""
        return () if self.status is None else self.status.lags
