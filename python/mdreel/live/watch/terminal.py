"""Terminal view of channels, their analyses and steering events."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Literal

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mdreel.foundation.formatting import BYTES_PER_SECOND, amount, digits, percent
from mdreel.live.watch.snapshot import AnalysisSnapshot, ChannelSnapshot
from mdreel.live.watch.sparkline import sparkline
from mdreel.live.watch.steering import Event
from mdreel.live.watch.text_lines import value

_STYLES = {
    "running": "green",
    "finished": "blue",
    "stopped": "yellow",
    "failed": "bold red",
    "lost": "bold red",
    "dead": "bold red",
    "unreadable": "bold red",
    "absent": "dim",
}
_EVENT_STYLES = {"acted": "magenta", "fired": "yellow", "failed": "bold red"}
_MOST_EVENTS = 5
_HEADINGS = ("channel", "state", "frames", "per second", "lag", "dropped", "latest")
_WORDS = ("channel", "state", "latest")
_LEAST_WIDTHS = {"per second": 60, "lag": 60, "dropped": 90}
"""Minimum width of the terminal at which these columns are shown."""
_FRAME = 4
"""Number of lines for the heading and the footer."""


@dataclass(frozen=True)
class DisplaySize:
    """Size of the terminal.

    Attributes
    ----------
    width, height : int
        Numbers of columns and lines.
    """

    width: int
    height: int

    @property
    def spark_width(self) -> int:
        """Width of a sparkline."""
        return max(6, min(16, (self.width - 76) // 4))

    @property
    def latest_width(self) -> int:
        """Approximate width of the column with the latest values."""
        return self.width - 76


def render(seen: Sequence[ChannelSnapshot], size: DisplaySize) -> RenderableType:
    """Return the rendered channels, limited to the number of lines on the terminal."""
    if not seen:
        return Text("no channels yet; Ctrl-C ends", style="dim")
    events = _last_events(seen)
    n_lines = size.height - _FRAME - (len(events) + 1 if events else 0)
    # If there is room, each analysis has its own line; otherwise each channel has a single line.
    is_whole = sum(1 + len(one.analyses) + bool(one.reason) for one in seen) <= n_lines
    ordered = seen if is_whole else sorted(seen, key=lambda one: one.state != "running")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), expand=True, header_style="dim", show_edge=False)
    wanted = [size.width >= _LEAST_WIDTHS.get(heading, 0) for heading in _HEADINGS]
    for heading in compress(_HEADINGS, wanted):
        justify: Literal["left", "right"] = "left" if heading in _WORDS else "right"
        ratio = 1 if heading == "latest" else None
        table.add_column(heading, justify=justify, no_wrap=True, overflow="ellipsis", ratio=ratio)
    shown = ordered if is_whole else ordered[: max(1, n_lines)]
    for one in shown:
        for row in _rows(one, size, is_whole):
            table.add_row(*compress(row, wanted))
    parts: list[RenderableType] = [table]
    if len(shown) < len(seen):
        left = [one.state for one in ordered[len(shown) :]]
        counts = ", ".join(f"{left.count(state)} {state}" for state in dict.fromkeys(left))
        said = f"and {len(left)} more ({counts}); name the channels to show, or enlarge the terminal"
        parts.append(Text(said, style="dim", no_wrap=True, overflow="ellipsis"))
    if events:
        parts.append(Text("steering", style="dim"))
        parts += [_event_line(name, event) for name, event in events]
    return Group(*parts)


def _rows(seen: ChannelSnapshot, size: DisplaySize, is_whole: bool) -> Iterator[tuple[RenderableType, ...]]:
    state = Text(seen.state, style=_STYLES[seen.state])
    analyses = () if is_whole else seen.analyses[:1]
    status = seen.status
    if status is None:
        yield Text(seen.name), state, "", "", "", "", Text(seen.reason or "", style="dim")
        return
    latest = Text("  ").join(_values(analyses[0], size)) if analyses else _rates(seen, size)
    lags = ", ".join(f"{lag:,}" for lag in seen.lags[:4]) + (" …" if len(seen.lags) > 4 else "")
    dropped = Text(f"{status.n_dropped:,}", style="bold red" if status.n_dropped else "")
    rate = "" if seen.frames_per_second is None else digits(seen.frames_per_second)
    yield Text(seen.name, style="bold"), state, f"{status.n_published:,}", rate, lags or "–", dropped, latest
    if is_whole:
        for analysis in seen.analyses:
            yield _analysis_row(analysis, size)
        if seen.reason:
            yield "", "", "", "", "", "", Text(seen.reason, style="red")


def _rates(seen: ChannelSnapshot, size: DisplaySize) -> Text:
    said = Text()
    if seen.bytes_per_second is not None and seen.state == "running":
        said.append(f"{amount(seen.bytes_per_second, BYTES_PER_SECOND)}  ")
        said.append(sparkline(seen.history.column(1), size.spark_width, from_zero=True), style="cyan")
    return said


def _analysis_row(seen: AnalysisSnapshot, size: DisplaySize) -> tuple[RenderableType, ...]:
    notice = seen.notice
    state = Text(seen.state, style=_STYLES[seen.state])
    name = Text(f"  {seen.name}")
    if notice is None:
        return name, state, "", "", "", "", Text(seen.reason or "", style="red")
    name.append(f" {seen.process}", style="dim")
    shares = ((notice.idle, "idle"), (notice.movement, "moving"))
    timing = ", ".join(f"{percent(share)} {word}" for share, word in shares if share is not None)
    parts = [*_values(seen, size, len(timing) + 2)]
    if timing:
        parts.append(Text(timing, style="dim"))
    if seen.reason:
        parts.append(Text(seen.reason, style="red"))
    return name, state, f"{notice.n_frames:,}", "", "", "", Text("  ").join(parts)


def _values(seen: AnalysisSnapshot, size: DisplaySize, n_left: int = 0) -> Iterator[Text]:
    """Yield the latest values of an analysis with sparklines, and leave `n_left` characters free."""
    notice = seen.notice
    if notice is None:
        return
    if not notice.is_of_frames and len(notice.rows):
        name, unit = notice.columns[1] if len(notice.columns) > 1 else notice.columns[0]
        curve = notice.rows.column(min(1, notice.rows.width - 1))
        said = Text(f"{name} {f'({unit}) ' if unit else ''}over {notice.columns[0][0]} ")
        yield said.append(sparkline(curve, size.spark_width), style="cyan")
        return
    latest = seen.latest
    rows = notice.curve
    for number, (name, (last, unit)) in enumerate(latest.items()):
        said = Text(f"{name} ").append(value(last, unit), style="bold").append(" ")
        said.append(sparkline(rows.column(notice.first_value + number), size.spark_width), style="cyan")
        n_left += len(said) + 2
        if number and n_left > size.latest_width - 5:
            yield Text(f"+{notice.n_columns - notice.first_value - number}", style="dim")
            return
        yield said


def _last_events(seen: Sequence[ChannelSnapshot]) -> list[tuple[str, Event]]:
    every = [(one.name, event) for one in seen for event in one.events]
    return sorted(every, key=lambda named: named[1].time)[-_MOST_EVENTS:]


def _event_line(name: str, event: Event) -> Text:
    said = Text(time.strftime("%H:%M:%S ", time.localtime(event.time)), style="dim", no_wrap=True, overflow="ellipsis")
    said.append(f"{name} ", style="not dim bold")
    said.append(f"{event.event} ", style=f"not dim {_EVENT_STYLES.get(event.event, 'default')}")
    return said.append(" ".join(f"{event.rule or ''} {event.message}".split()), style="not dim")
