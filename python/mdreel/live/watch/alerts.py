"""Alerts, which report that a live result has crossed a threshold."""

import math
import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from mdreel.errors import MismatchError
from mdreel.foundation.toml_schema import entry
from mdreel.live.notices.notice import Notice
from mdreel.live.watch.snapshot import ChannelSnapshot

MOST_ALERTS = 64
"""Maximum number of alerts of a page."""

_MOST_EVENTS = 100
_TEXT = re.compile(r"(?:(?P<analysis>[^:<>]+):)?(?P<column>[^:<>]+)(?P<side>[<>])(?P<value>[^<>]+)")


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """Threshold for a column of live results."""

    channel: str | None = entry("Directory of the channel.  [default: all channels]", None)
    analysis: str | None = entry("Name of the analysis.  [default: every analysis that has the column]", None)
    column: str = entry("Column of the results.")
    above: float | None = entry("The alert is raised when the value is greater than this.", None)
    below: float | None = entry("The alert is raised when the value is less than this.", None)

    def __post_init__(self) -> None:
        """Check that there is a single finite limit."""
        limits = [limit for limit in (self.above, self.below) if limit is not None]
        if len(limits) != 1 or not math.isfinite(limits[0]):
            raise MismatchError("an alert needs either above or below, which must be a finite number")

    @classmethod
    def parse(cls, text: str) -> "Threshold":
        """Parse a threshold such as ``rmsd>6`` or ``RMSD:rmsd>6``. Raise MismatchError if the text has another form."""
        found = _TEXT.fullmatch(text)
        try:
            value = float("" if found is None else found["value"])
        except ValueError:
            raise MismatchError(f"expected COLUMN>NUMBER or ANALYSIS:COLUMN<NUMBER, got {text!r}") from None
        assert found is not None
        above, below = (value, None) if found["side"] == ">" else (None, value)
        analysis = found["analysis"] and found["analysis"].strip()
        return cls(analysis=analysis, column=found["column"].strip(), above=above, below=below)

    @property
    def label(self) -> str:
        """Description of the condition."""
        return f"{self.column} > {self.above:g}" if self.above is not None else f"{self.column} < {self.below:g}"

    def is_met_by(self, value: float) -> bool:
        """Return whether a value is beyond the limit. This is never the case for NaN."""
        if self.above is not None:
            return value > self.above
        assert self.below is not None
        return value < self.below


@dataclass(frozen=True)
class AlertEvent:
    """Alert that was raised.

    Attributes
    ----------
    number : int
        Number of the event, which increases.
    time : float
        Time, in seconds since 1970.
    channel : Path
        Directory of the channel.
    analysis, column, unit : str
        Analysis and column that crossed the threshold, and the unit of the column.
    frame : int
        Number of the frame in the analysis.
    frame_time : float
        Time of the frame, in ps.
    value : float
        Value of the frame.
    label : str
        Description of the condition.
    """

    number: int
    time: float
    channel: Path
    analysis: str
    column: str
    unit: str
    frame: int
    frame_time: float
    value: float
    label: str

    def to_json(self) -> dict[str, Any]:
        """Return the JSON representation for the page."""
        return {
            "id": self.number,
            "time": self.time,
            "analysis": self.analysis,
            "column": self.column,
            "unit": self.unit,
            "frame": self.frame,
            "frame_time": self.frame_time if math.isfinite(self.frame_time) else None,
            "value": self.value,
            "label": self.label,
        }


@dataclass
class _Progress:
    """Progress of the comparison of a notice with a threshold."""

    next_frame: float = -math.inf
    is_met: bool = False


@dataclass
class _Alert:
    threshold: Threshold
    seen: dict[tuple[Path, str], _Progress] = field(default_factory=dict)


class Alerts:
    """Thresholds, and the alerts that have been raised. All methods can be called from any thread.

    An alert is raised when a value crosses the threshold, and not again until a value has been on the other side.

    Parameters
    ----------
    thresholds : sequence of Threshold
        Initial thresholds.
    act : callable
        Function that is called with each alert.
    """

    def __init__(
        self, thresholds: Sequence[Threshold] = (), act: Callable[[AlertEvent], object] = lambda event: None
    ) -> None:
        self._lock = Lock()
        self._alerts = {number: _Alert(one) for number, one in enumerate(thresholds, 1)}
        self._n_added = len(thresholds)
        self._events: deque[AlertEvent] = deque(maxlen=_MOST_EVENTS)
        self._n_events = 0
        self._act = act

    def add(self, threshold: Threshold) -> int:
        """Add a threshold and return its number. Raise MismatchError if there are too many."""
        with self._lock:
            if len(self._alerts) >= MOST_ALERTS:
                raise MismatchError(f"this page already has {MOST_ALERTS} alerts: remove one of them first")
            self._n_added += 1
            self._alerts[self._n_added] = _Alert(threshold)
            return self._n_added

    def remove(self, number: int) -> None:
        """Remove a threshold. Raise MismatchError if it does not exist."""
        with self._lock:
            if self._alerts.pop(number, None) is None:
                raise MismatchError(f"there is no alert {number} on this page; it may have been removed")

    def check(self, seen: Sequence[ChannelSnapshot]) -> None:
        """Compare new values of all analyses with the thresholds."""
        with self._lock:
            raised = [event for alert in self._alerts.values() for event in self._check(alert, seen)]
            self._events.extend(raised)
        for event in raised:
            self._act(event)

    def of_channel(self, channel: Path) -> dict[str, Any]:
        """Return the JSON representation of the thresholds and alerts of a channel for the page."""
        with self._lock:
            thresholds = [
                {"id": number, "analysis": one.threshold.analysis, "label": one.threshold.label}
                for number, one in self._alerts.items()
                if one.threshold.channel in (None, str(channel))
            ]
            return {"thresholds": thresholds, "events": [e.to_json() for e in self._events if e.channel == channel]}

    def _check(self, alert: _Alert, seen: Sequence[ChannelSnapshot]) -> list[AlertEvent]:
        threshold, found = alert.threshold, []
        for channel in seen:
            if threshold.channel not in (None, str(channel.path)):
                continue
            for analysis in channel.analyses:
                notice = analysis.notice
                if notice is None or threshold.analysis not in (None, analysis.name) or not notice.is_of_frames:
                    continue
                names = [name for name, _ in notice.columns]
                if threshold.column not in names[notice.first_value :]:
                    continue
                progress = alert.seen.setdefault((channel.path, analysis.key), _Progress())
                column = names.index(threshold.column)
                event = self._first_crossing(threshold, notice, column, progress)
                if event is not None:
                    frame, frame_time, value = event
                    self._n_events += 1
                    unit = notice.columns[column][1]
                    where = (channel.path, analysis.name, threshold.column, unit)
                    when = (int(frame), frame_time)
                    found.append(AlertEvent(self._n_events, time.time(), *where, *when, value, threshold.label))
        return found

    @staticmethod
    def _first_crossing(
        threshold: Threshold, notice: Notice, column: int, progress: _Progress
    ) -> tuple[float, float, float] | None:
        """Return the frame, the time and the value at which new rows first cross the threshold."""
        rows = notice.curve
        if not rows:
            return None
        last_frame = rows[-1][0]
        if last_frame < progress.next_frame - 1:  # the analysis has been started anew
            progress.next_frame, progress.is_met = -math.inf, False
        first_new = len(rows)
        while first_new and rows[first_new - 1][0] >= progress.next_frame:
            first_new -= 1
        crossing = None
        for row in (rows[at] for at in range(first_new, len(rows))):
            is_met = threshold.is_met_by(row[column])
            if is_met and not progress.is_met and crossing is None:
                crossing = row[0], row[1], row[column]
            progress.is_met = is_met
        progress.next_frame = last_frame + 1
        return crossing
