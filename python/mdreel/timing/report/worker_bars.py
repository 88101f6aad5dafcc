"""Bars that show the kinds of time of each worker."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from mdreel.foundation.formatting import SECONDS, amount
from mdreel.foundation.html.markup import Markup, together
from mdreel.foundation.html.palette import class_of
from mdreel.timing.observables import Observables
from mdreel.timing.report.card import card
from mdreel.timing.report.lanes import Lanes, marks_of
from mdreel.timing.report.legend import key, legend
from mdreel.timing.report.svg import Axis, Tips, layer, marker, path, plot, rectangles
from mdreel.timing.report.term import term
from mdreel.timing.stragglers import typical_seconds
from mdreel.timing.timing import Timing

# Components of t_own, in the order of the bars. Waiting is part of the overheads, but has its own bar.
PARTS: Mapping[str, Callable[[Observables], NDArray[np.float64]]] = {
    "open": lambda of: of.t_open,
    "read": lambda of: of.t_io - of.t_decompress,
    "decompress": lambda of: of.t_decompress,
    "compute": lambda of: of.t_comp,
    "wait": lambda of: of.t_wait,
    "communicate": lambda of: of.t_transfer,
    "end of loop": lambda of: of.t_end_loop,
    "overheads": lambda of: of.overhead1 + of.overhead2 - of.t_wait - (of.t_idle - of.t_comm_wait),
}

_MOST_BARS = 250
_WIDTH = 10_000  # width of the layer
_PITCH = 10  # height of a lane in the layer


def worker_bars(timing: Timing) -> Markup:
    """Draw the time of each worker as a bar that is divided by kind of time.

    Parameters
    ----------
    timing : Timing
        Timing of the run. If there are more than 250 workers, each bar shows the slowest of several consecutive
        workers.
    """
    of = timing.observables
    if not len(of.ranks):
        return card("workers", "Workers", note="No worker recorded anything.")
    parts = {kind: np.maximum(part(of), 0.0) for kind, part in PARTS.items()}
    shown = _slowest_of_neighbours(of)
    lanes = Lanes(len(shown))
    names = [str(rank) for rank in of.ranks[:: _neighbours(of)].tolist()]
    axis = Axis.to(float(of.t_own.max()), "time of the worker", SECONDS)
    median = typical_seconds(of)
    marks = marks_of(timing.straggling, of.ranks[shown].tolist())
    figure = plot(
        f"Time of {len(of.ranks):,} workers by kind",
        lanes.height,
        _bars({kind: part[shown] for kind, part in parts.items()}, axis, lanes),
        marker(float(axis.along(median)), f"median {amount(median, SECONDS)}") if median else Markup(""),
        lanes.labels(names, marks),
        x=axis,
        tips=Tips("y", [_tip(of, parts, row) for row in shown.tolist()]),
        margin="lanes",
    )
    keys = [key("late-mark", together(term("straggler"), ", times the ", term("median")))] if marks else []
    drawn = legend([kind for kind, part in parts.items() if part.any()], *keys)
    return card("workers", term("worker", "Workers"), drawn, figure, lead=_lead(of, median), note=_note(of, shown))


def _neighbours(of: Observables) -> int:
    """Return the number of consecutive workers that share a bar."""
    return -(-len(of.ranks) // _MOST_BARS)


def _slowest_of_neighbours(of: Observables) -> NDArray[np.intp]:
    """Return the rows to show, which are either all rows or the slowest row of each group of neighbours."""
    size = _neighbours(of)
    starts = range(0, len(of.ranks), size)
    return np.array([start + int(np.argmax(of.t_own[start : start + size])) for start in starts])


def _bars(parts: Mapping[str, NDArray[np.float64]], axis: Axis, lanes: Lanes) -> Markup:
    ends = np.cumsum(list(parts.values()), axis=0)
    edges = np.rint(axis.along(np.vstack([np.zeros_like(ends[:1]), ends])) * _WIDTH)
    air = 1 if lanes.are_thick else 0
    tops = np.arange(lanes.n_lanes) * _PITCH + air
    bottoms = tops + _PITCH - 2 * air
    drawn = [path(class_of(kind), rectangles(edges[i], edges[i + 1], tops, bottoms)) for i, kind in enumerate(parts)]
    return layer(_WIDTH, lanes.n_lanes * _PITCH, *drawn)


def _tip(of: Observables, parts: Mapping[str, NDArray[np.float64]], row: int) -> str:
    """Return the tooltip for a worker, with its time and the components that are not zero."""
    lines = [f"worker {of.ranks[row]}: {amount(float(of.t_own[row]), SECONDS)}, {of.n_frames[row]:,} frames"]
    lines += [f"{kind} {amount(float(part[row]), SECONDS)}" for kind, part in parts.items() if part[row] > 0]
    return "\n".join(lines)


def _lead(of: Observables, median: float) -> str:
    if len(of.ranks) == 1:
        return f"One worker took {amount(median, SECONDS)}."
    fastest, slowest = (amount(float(edge), SECONDS) for edge in (of.t_own.min(), of.t_own.max()))
    return f"{len(of.ranks):,} workers took {fastest} to {slowest}; the median is {amount(median, SECONDS)}."


def _note(of: Observables, shown: NDArray[np.intp]) -> str:
    if len(shown) == len(of.ranks):
        return ""
    return f"Each bar shows the slowest of {_neighbours(of)} consecutive workers."
