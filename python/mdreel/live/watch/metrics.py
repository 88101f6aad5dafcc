"""Metrics for Prometheus in text format 0.0.4."""

import math
from collections.abc import Iterator, Mapping, Sequence

from mdreel.foundation.printable import printable_lines
from mdreel.live.watch.snapshot import ANALYSIS_STATES, STATES, ChannelSnapshot

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_Sample = tuple[Mapping[str, str], float | None]

_FAMILIES = {
    "mdreel_channel_state": ("gauge", "State of a channel: 1 for the current state, 0 for others."),
    "mdreel_channel_frames_published_total": ("counter", "Number of published frames."),
    "mdreel_channel_frames_dropped_total": (
        "counter",
        "Number of frames overwritten before all consumers had read them.",
    ),
    "mdreel_channel_frames_per_second": ("gauge", "Rate of frames over the last 10 s."),
    "mdreel_channel_bytes_per_second": (
        "gauge",
        "Rate of bytes over the last 10 s; an upper limit for compressed frames.",
    ),
    "mdreel_channel_consumers": ("gauge", "Number of consumers."),
    "mdreel_channel_lag_frames": ("gauge", "Lag of each consumer, in frames."),
    "mdreel_analysis_state": ("gauge", "State of an analysis: 1 for the current state, 0 for others."),
    "mdreel_analysis_frames_total": ("counter", "Number of analysed frames."),
    "mdreel_analysis_seconds_total": ("counter", "Time of an analysis by kind; wall is the total."),
    "mdreel_analysis_value": ("gauge", "Value of the last frame, by column, with the unit as a label."),
}
"""Type and help text of each metric."""


def metrics(seen: Sequence[ChannelSnapshot]) -> str:
    """Return the metrics of channels in text format."""
    samples: dict[str, list[_Sample]] = {name: [] for name in _FAMILIES}
    names = [one.name for one in seen]
    for one in seen:
        # Two directories may have the same name.
        who = {"channel": one.name if names.count(one.name) == 1 else str(one.path)}
        for name, labels, value in (*_channel_samples(one), *_analysis_samples(one)):
            samples[name].append((who | labels, value))
    lines = []
    for name, (kind, meaning) in _FAMILIES.items():
        known = [(labels, value) for labels, value in samples[name] if value is not None]
        if known:
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
            lines += [f"{name}{{{_labels(labels)}}} {_number(value)}" for labels, value in known]
    return "".join(f"{line}\n" for line in lines)


def _channel_samples(seen: ChannelSnapshot) -> Iterator[tuple[str, dict[str, str], float | None]]:
    for state in STATES:
        yield "mdreel_channel_state", {"state": state}, float(state == seen.state)
    status = seen.status
    if status is None:
        return
    yield "mdreel_channel_frames_published_total", {}, status.n_published
    yield "mdreel_channel_frames_dropped_total", {}, status.n_dropped
    yield "mdreel_channel_frames_per_second", {}, seen.frames_per_second
    yield "mdreel_channel_bytes_per_second", {}, seen.bytes_per_second
    yield "mdreel_channel_consumers", {}, status.n_consumers
    for number, lag in enumerate(status.lags):
        yield "mdreel_channel_lag_frames", {"consumer": str(number)}, lag


def _analysis_samples(seen: ChannelSnapshot) -> Iterator[tuple[str, dict[str, str], float | None]]:
    names = [(analysis.name, analysis.process) for analysis in seen.analyses]
    for analysis in seen.analyses:
        notice = analysis.notice
        # Two analyses of a process may have the same name.
        is_alone = names.count((analysis.name, analysis.process)) == 1
        who = {"analysis": analysis.name if is_alone else analysis.key, "process": str(analysis.process)}
        for state in ANALYSIS_STATES:
            yield "mdreel_analysis_state", {**who, "state": state}, float(state == analysis.state)
        if notice is None:
            continue
        yield "mdreel_analysis_frames_total", who, notice.n_frames
        for kind, seconds in notice.seconds.items():
            yield "mdreel_analysis_seconds_total", {**who, "kind": kind}, seconds
        for column, (value, unit) in analysis.latest.items():
            yield "mdreel_analysis_value", {**who, "column": column, "unit": unit}, value


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(text: str) -> str:
    return printable_lines(text).replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)
