"""Histogram of block times."""

import math

import numpy as np
from numpy.typing import NDArray

from mdreel.foundation.formatting import BLOCKS, SECONDS, amount
from mdreel.foundation.html.markup import Markup, together
from mdreel.timing.report.card import card
from mdreel.timing.report.svg import Axis, Tips, layer, marker, path, plot, rectangles, round_step
from mdreel.timing.report.term import term
from mdreel.timing.stragglers import STRAGGLER
from mdreel.timing.timing import Timing

_BINS = 40
_HEIGHT = 240
_FARTHEST = 6.0  # times the median; the last bin counts slower blocks too
_UNITS = 1000  # height of the layer
_LEAST = 6  # smallest height of a bar in the layer
_BAR = 20  # width of a bar in the layer, with the gap


def block_times(timing: Timing) -> Markup:
    """Draw a histogram of block times.

    Parameters
    ----------
    timing : Timing
        Timing of the run. The time of a block does not include waiting.
    """
    taken = timing.per_block()
    late_after_seconds = late_after(taken)
    taken = taken[taken > 0]
    if not len(taken):
        return card("blocks", "Block times", note="No block took any time.")
    median = float(np.median(taken))
    is_late = taken > late_after_seconds
    longest = float(taken.max())
    reach = min(max(longest, 1.1 * late_after_seconds), _FARTHEST * median)
    width = round_step(reach / _BINS)
    n_bins = math.ceil(reach / width)
    places = np.minimum((taken / width).astype(np.int64), n_bins - 1)
    counts, late = (np.bincount(of, minlength=n_bins) for of in (places, places[is_late]))
    x = Axis.to(n_bins * width, "time of the block", SECONDS)
    y = Axis.to(1.05 * float(counts.max()), "", BLOCKS)
    bars = layer(
        n_bins * _BAR,
        _UNITS,
        path("bin", _bars(np.zeros_like(counts), counts - late, y)),
        path("bin late", _bars(counts - late, counts, y)),
    )
    figure = plot(
        f"Histogram of the times of {len(taken):,} blocks",
        _HEIGHT,
        bars,
        marker(float(x.along(median)), f"median {amount(median, SECONDS)}"),
        marker(float(x.along(late_after_seconds)), f"{STRAGGLER} × median", "late", level=1),
        x=x,
        y=y,
        tips=Tips("x", _tips(counts, width, longest)),
    )
    fastest = amount(float(taken.min()), SECONDS)
    took = f"{len(taken):,} blocks took {fastest} to {amount(longest, SECONDS)}; "
    lead = together(took, _late_text(int(is_late.sum())), ".")
    beyond = int((taken > n_bins * width).sum())
    note = f"The last bar also counts {beyond:,} slower block{'s' * (beyond > 1)}." if beyond else ""
    return card("blocks", together(term("block", "Block"), " times"), figure, lead=lead, note=note)


def late_after(taken: NDArray[np.float64]) -> float:
    """Return the time above which a block is late, in s, or infinity if no block took any time."""
    taken = taken[taken > 0]
    return STRAGGLER * float(np.median(taken)) if len(taken) else math.inf


def _bars(low: NDArray[np.int64], high: NDArray[np.int64], y: Axis) -> str:
    """Return bars between two counts. Even a count of one is visible."""
    left = np.arange(len(low)) * _BAR
    bottom, top = (np.rint(_UNITS * (1 - y.along(counts))) for counts in (low, high))
    top = np.where(high > low, np.minimum(top, bottom - _LEAST), bottom)
    return rectangles(left + 1, left + _BAR - 1, top, bottom)


def _tips(counts: NDArray[np.int64], width: float, longest: float) -> list[str]:
    edges = [amount(i * width, SECONDS) for i in range(len(counts) + 1)]
    if longest > len(counts) * width:
        edges[-1] = amount(longest, SECONDS)
    return [f"{edges[i]} to {edges[i + 1]}\n{n:,} block{'s' * (n != 1)}" for i, n in enumerate(counts.tolist())]


def _late_text(n_late: int) -> Markup:
    times = together(f" took more than {STRAGGLER} times the ", term("median"))
    return together("none" if not n_late else f"{n_late:,}", times)
