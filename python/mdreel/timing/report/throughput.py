"""Throughput of the storage and the analysis over time."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mdreel.foundation.formatting import BYTES_PER_SECOND, FRAMES_PER_SECOND, SECONDS, Units, amount, digits, percent
from mdreel.foundation.html.markup import Markup, element, joined, together
from mdreel.timing.limits import Limits
from mdreel.timing.report.card import card
from mdreel.timing.report.raster import spread
from mdreel.timing.report.svg import Axis, Tips, layer, path, place_of, plot, rectangles, steps
from mdreel.timing.report.term import term
from mdreel.timing.spans import KINDS
from mdreel.timing.timing import Timing

_COLUMNS = 100
_HEIGHT = 110
_UNITS = 1000  # height of the layer
_BAR = 30  # pixels


def throughput(timing: Timing) -> Markup:
    """Draw bytes and frames per second over time, assuming a constant rate within each span."""
    if timing.wall_seconds <= 0 or not max(timing.n_bytes, timing.n_frames):
        return card("throughput", "Throughput", note="Nothing was read, and no frame was analysed.")
    drawn = []
    if timing.n_bytes:
        drawn.append(_over_time(timing, _rates(timing, "read", "n_bytes"), "read", "read", BYTES_PER_SECOND))
    if timing.n_frames:
        frames = max((_rates(timing, kind, "n_frames") for kind in ("compute", "write")), key=np.sum)
        drawn.append(_over_time(timing, frames, "analysed", "compute", FRAMES_PER_SECOND))
    lead = f"{digits(timing.frames_per_second)} frames/s"
    if timing.n_bytes:
        lead += f" and {amount(timing.bytes_per_second, BYTES_PER_SECOND)}"
    return card("throughput", term("throughput", "Throughput"), *drawn, lead=f"{lead} over the whole run.")


def against_limits(timing: Timing, limits: Limits | None) -> Markup:
    """Compare the reading rate with the measured limits of the machine."""
    if limits is None:
        return card("limits", "Against the machine", note="The limits of the machine were not measured.")
    of_run = timing.bytes_per_second
    bars = [("this run", of_run, "read")] if timing.n_bytes else []
    measured = (
        ("storage", limits.storage_bytes_per_s),
        ("page cache", limits.page_cache_bytes_per_s),
        ("memory", limits.memory_bytes_per_s),
    )
    bars += [(name, rate, "limit") for name, rate in measured if rate is not None]
    if not bars:
        return card("limits", "Against the machine", note="The limits of the machine were not measured.")
    lead = together("The run read nothing from ", term("storage"), ".")
    shares = [
        together(f"{percent(of_run / rate)} of the rate of ", _rate_term(name)) for name, rate in measured if rate
    ]
    if timing.n_bytes and shares:
        lead = together("The run read at ", joined(", ", shares), ".")
    missing = ", ".join(name for name, rate in measured if rate is None)
    why = f" ({limits.not_measured})" if limits.not_measured else ""
    note = f"Not measured: {missing}{why}." if missing else ""
    return card("limits", "Against the machine", _bars(bars), lead=lead, note=note)


def _rate_term(name: str) -> Markup:
    return term("memory rate", "memory") if name == "memory" else term(name)


def _rates(timing: Timing, kind: str, of: str) -> NDArray[np.float64]:
    """Return bytes or frames per second in each column, shape (n_columns,)."""
    spans = timing.spans[timing.spans["kind"] == KINDS.index(kind)]
    per_ns = _COLUMNS / (timing.wall_seconds * 1e9)
    starts, stops = spans["start_ns"] * per_ns, spans["stop_ns"] * per_ns
    rows = np.zeros(len(spans), np.int64)
    (sums,) = spread(spans[of].astype(np.float64), starts, stops, rows, (1, _COLUMNS))
    return np.asarray(sums * _COLUMNS / timing.wall_seconds)


def _over_time(timing: Timing, rates: NDArray[np.float64], title: str, kind: str, units: Units) -> Markup:
    x = Axis.to(timing.wall_seconds, "time since the run began", SECONDS)
    y = Axis.to(1.05 * float(rates.max()), title, units)
    heights = np.rint(_UNITS * y.along(rates)).astype(np.int64)
    return plot(
        f"{title} over time: {y.unit.name}",
        _HEIGHT,
        layer(_COLUMNS, _UNITS, path(kind, steps(heights, _UNITS))),
        x=x,
        y=y,
        tips=Tips("x", [amount(rate, units) for rate in rates.tolist()], x),
    )


def _bars(bars: Sequence[tuple[str, float, str]]) -> Markup:
    fastest = max(rate for _, rate, _ in bars)
    x = Axis.to(1.3 * fastest, "", BYTES_PER_SECOND)
    width = 10_000
    drawn, texts = [], []
    for i, (name, rate, class_) in enumerate(bars):
        at = float(x.along(rate))
        drawn.append(path(class_, rectangles([0], [max(round(at * width), 1)], [10 * i + 2], [10 * i + 8])))
        middle = place_of((i + 0.5) / len(bars))
        texts.append(element("text", name, x=-8, y=middle, dy=4, class_="tick end"))
        texts.append(
            element("text", amount(rate, BYTES_PER_SECOND), x=place_of(at), dx=6, y=middle, dy=4, class_="name start")
        )
    figure = layer(width, 10 * len(bars), *drawn)
    return plot("Bytes per second of the run and the machine", _BAR * len(bars), figure, *texts, x=x, margin="names")
