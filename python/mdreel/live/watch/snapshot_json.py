"""JSON representation of watched channels, with stable names."""

import math
from collections.abc import Iterable
from typing import Any

from mdreel.live.channels.participants import ConsumerStatus
from mdreel.live.notices.rows import Rows
from mdreel.live.watch.snapshot import HISTORY, AnalysisSnapshot, ChannelSnapshot
from mdreel.live.watch.steering import Event

_MOST_POINTS = 500
"""Maximum number of points in a curve."""


def to_json(seen: ChannelSnapshot, with_curves: bool = False) -> dict[str, Any]:
    """Return the JSON representation of a channel, optionally including earlier results and the history."""
    status = seen.status
    facts: dict[str, Any] = {
        "name": seen.name,
        "path": str(seen.path),
        "state": seen.state,
        "reason": seen.reason,
        "n_atoms": None if status is None else status.manifest.n_atoms,
        "n_frames": None if status is None else status.n_published,
        "frames_per_second": number(seen.frames_per_second),
        "bytes_per_second": number(seen.bytes_per_second),
        "frame_bytes": None if status is None else seen.frame_bytes,
        "n_consumers": None if status is None else status.n_consumers,
        "lags": list(seen.lags),
        "waits": None if status is None else number(status.waits),
        "consumers": [] if status is None else [consumer_to_json(consumer) for consumer in status.consumers],
        "n_dropped": None if status is None else status.n_dropped,
        "n_slots": None if status is None else status.n_slots,
        "ring_bytes": None if status is None else status.n_bytes,
        "analyses": [_analysis_to_json(one, with_curves) for one in seen.analyses],
        "steering": [_event_to_json(event) for event in seen.events],
        "steering_damaged": seen.n_damaged_events,
    }
    if with_curves:
        facts["history"] = dict(zip(HISTORY, downsample_columns(seen.history), strict=True))
    return facts


def consumer_to_json(consumer: ConsumerStatus) -> dict[str, Any]:
    """Return the JSON representation of a channel's consumer."""
    process = consumer.process
    return {
        "process": None if process is None else process.process,
        "command": None if process is None else process.command,
        "host": None if process is None else process.host,
        "joined": None if process is None else process.joined,
        "lag": consumer.lag,
        "takes_latest": consumer.takes_latest,
        "is_waited_for": consumer.is_waited_for,
    }


def number(value: float | None) -> float | None:
    """Round a number to six digits. Return None for NaN and infinity, which JSON does not support."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")


def downsample_columns(rows: Rows) -> list[list[float | None]]:
    """Downsample rows for display, always keeping the last row, and return their columns."""
    stride = max(1, -(-len(rows) // _MOST_POINTS))
    columns = [rows.column(at, stride) for at in range(rows.width)]
    if len(rows) and (len(rows) - 1) % stride:
        for column, last in zip(columns, rows[-1], strict=True):
            column.append(last)
    return [_numbers(column) for column in columns]


def _numbers(values: Iterable[float]) -> list[float | None]:
    return [number(value) for value in values]


def _analysis_to_json(seen: AnalysisSnapshot, with_curves: bool) -> dict[str, Any]:
    notice = seen.notice
    facts: dict[str, Any] = {"key": seen.key, "name": seen.name, "state": seen.state, "reason": seen.reason}
    if notice is None:
        return facts
    facts |= {
        "process": notice.process.number,
        "n_frames": notice.n_frames,
        "columns": [list(column) for column in notice.columns],
        "n_columns": notice.n_columns,
        "is_of_frames": notice.is_of_frames,
        "latest": {name: number(value) for name, (value, _) in seen.latest.items()},
        "seconds": {kind: number(value) for kind, value in notice.seconds.items()},
        "idle": number(notice.idle),
        "movement": number(notice.movement),
    }
    if with_curves:
        facts["curves"] = downsample_columns(notice.curve)
    return facts


def _event_to_json(event: Event) -> dict[str, Any]:
    return {
        "time": event.time,
        "event": event.event,
        "rule": event.rule,
        "action": event.action,
        "sequence": event.sequence,
        "step": event.step,
        "frame_time": number(event.frame_time),
        "values": {name: number(value) for name, value in event.values.items()},
        "message": event.message,
    }
