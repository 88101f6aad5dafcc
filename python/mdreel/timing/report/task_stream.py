"""Task stream, which shows the activity of the workers over time."""

import numpy as np
from numpy.typing import NDArray

from mdreel.foundation.formatting import SECONDS, amount
from mdreel.foundation.html.markup import Markup, together
from mdreel.foundation.html.palette import class_of
from mdreel.timing.report.block_times import late_after
from mdreel.timing.report.card import card
from mdreel.timing.report.lanes import Lanes, marks_of
from mdreel.timing.report.legend import key, legend
from mdreel.timing.report.raster import spread
from mdreel.timing.report.svg import Axis, Tips, layer, path, plot, rectangles
from mdreel.timing.report.term import term
from mdreel.timing.spans import COORDINATOR, KINDS
from mdreel.timing.timing import Timing

MOST_RECTANGLES = 20_000
"""Maximum number of rectangles on the page, regardless of the length of the run and the number of workers."""

_MOST_LANES = 128
_MOST_COLUMNS = 1024
_MOST_LATE = 300
_MOST_LEVELS = 12
_WIDTH = 10_000  # width of the layer of late blocks


def task_stream(timing: Timing, topology_seconds: float = 0.0) -> Markup:
    """Draw the kinds of spans of each worker over time.

    Parameters
    ----------
    timing : Timing
        Timing that begins at the start of the run.
    topology_seconds : float
        Time that the caller spent on loading the topology before the run, in s.

    Notes
    -----
    If a column contains several kinds, it is divided according to their shares. If the lanes are too thin for this,
    each column shows a single kind, and the number of columns of a kind is proportional to its time.
    """
    workers = _lanes_of(timing)
    if not len(workers) or timing.wall_seconds <= 0:
        return card("stream", "Task stream", note="No worker recorded any time.")
    lanes = Lanes(len(workers))
    axis = Axis.to(timing.wall_seconds, "time since the run began", SECONDS)
    levels = min(_MOST_LEVELS, int(lanes.pitch // 2)) if lanes.are_thick else 1
    marks = marks_of(timing.straggling, workers.tolist())
    late, n_late_text = _late_blocks(timing, workers, axis)
    figure = plot(
        f"Task stream of {len(workers)} workers over {amount(timing.wall_seconds, SECONDS)}",
        lanes.height,
        _stream(_cells(timing, workers), levels),
        late,
        lanes.labels([_name(worker) for worker in workers.tolist()], marks),
        x=axis,
        tips=Tips("y", _tips(timing, workers), axis),
        margin="lanes",
    )
    kinds = [kind for kind in KINDS if timing.seconds(kind) > 0]
    keys = [key("late-block", term("late block"), n_late_text)] if n_late_text else []
    keys += [key("late-mark", together(term("straggler"), ", times the ", term("median")))] if marks else []
    note = _note(timing, workers)
    heading, lead = term("task stream", "Task stream"), _lead(timing, topology_seconds)
    return card("stream", heading, legend(kinds, *keys), figure, lead=lead, note=note)


def _lanes_of(timing: Timing) -> NDArray[np.int64]:
    """Return the workers to show (if there are too many, the worst stragglers and some others), and the caller last."""
    workers = timing.workers.astype(np.int64)
    if len(workers) > _MOST_LANES:
        worst = timing.straggling[: _MOST_LANES // 4]
        evenly = np.rint(np.linspace(0, len(workers) - 1, _MOST_LANES - len(worst))).astype(np.intp)
        workers = np.union1d(workers[evenly], np.array([straggler.rank for straggler in worst], np.int64))
    has_caller = (timing.spans["worker"] == COORDINATOR).any()
    return np.append(workers, COORDINATOR) if has_caller else workers


def _name(worker: int) -> str:
    return "caller" if worker == COORDINATOR else str(worker)


def _cells(timing: Timing, workers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the shares (0 to 1) of kinds in the columns of each lane, shape (n_lanes, n_kinds, n_columns)."""
    spans = timing.spans[np.isin(timing.spans["worker"], workers)]
    per_ns = _MOST_COLUMNS / (timing.wall_seconds * 1e9)
    starts, stops = spans["start_ns"] * per_ns, spans["stop_ns"] * per_ns
    rows = np.searchsorted(workers, spans["worker"]) * len(KINDS) + spans["kind"]
    shape = (len(workers), len(KINDS), _MOST_COLUMNS)
    return spread(stops - starts, starts, stops, rows, (shape[0] * shape[1], shape[2])).reshape(shape)


def _stream(cells: NDArray[np.float64], levels: int) -> Markup:
    """Draw one path per kind. The columns are as narrow as the maximum number of rectangles allows."""
    while True:
        heights = _heights(cells, levels)
        runs = _runs(heights, levels)
        if len(runs) <= MOST_RECTANGLES or cells.shape[2] == 1:
            break
        cells = (cells[:, :, 0::2] + cells[:, :, 1::2]) / 2
    pitch = levels + 1 if levels > 1 else 1  # thick lanes have a gap between them
    kind, lane, left, right, low, high = runs.T
    bottom = lane * pitch + levels
    drawn = []
    for number, name in enumerate(KINDS):
        own = kind == number
        data = rectangles(left[own], right[own], (bottom - high)[own], (bottom - low)[own])
        if data:
            drawn.append(path(class_of(name), data))
    return layer(cells.shape[2], len(cells) * pitch, *drawn)


def _heights(cells: NDArray[np.float64], levels: int) -> NDArray[np.int64]:
    """Return how many levels of its lane each kind fills in each column.

    Each level is assigned to the kind with the largest deficit so far. In this way, areas are proportional to times
    even if a column has only a single level. Even a small amount of activity is visible in a column.
    """
    busy = cells.sum(axis=1, keepdims=True)
    filled = np.ceil(np.minimum(busy, 1.0) * levels - 0.25)
    quotas = cells / np.maximum(busy, 1e-300) * filled
    heights: NDArray[np.int64] = np.floor(quotas + 1e-9).astype(np.int64)
    quotas -= heights
    missing = filled[:, 0] - heights.sum(axis=1)
    owed = np.zeros(cells.shape[:2])
    for column in np.flatnonzero(missing.any(axis=0)).tolist():
        owed += quotas[:, :, column]
        for n_given in range(int(missing[:, column].max())):
            lanes = np.flatnonzero(missing[:, column] > n_given)
            # A column never shows a kind that does not occur in it, even if the kind has the largest deficit.
            kinds = np.where(cells[lanes, :, column] > 0, owed[lanes], -np.inf).argmax(axis=1)
            heights[lanes, kinds, column] += 1
            owed[lanes, kinds] -= 1
    return heights


def _runs(heights: NDArray[np.int64], levels: int) -> NDArray[np.int64]:
    """Join equal neighbouring columns. Rows contain kind, lane, first and end column, lowest and highest level."""
    n_lanes, n_kinds, _ = heights.shape
    tops = np.cumsum(heights, axis=1)
    # One number encodes the lowest and highest level of a kind; 0 if it is absent.
    states = np.where(heights > 0, (tops - heights) * (levels + 1) + tops, 0)
    before = np.concatenate([np.zeros((n_lanes, n_kinds, 1), np.int64), states[:, :, :-1]], axis=2)
    after = np.concatenate([states[:, :, 1:], np.zeros((n_lanes, n_kinds, 1), np.int64)], axis=2)
    lane, kind, first = np.nonzero((states > 0) & (states != before))
    # Runs begin and end in the same order.
    last = np.nonzero((states > 0) & (states != after))[2]
    low, high = np.divmod(states[lane, kind, first], levels + 1)
    return np.column_stack([kind, lane, first, last + 1, low, high])


def _late_blocks(timing: Timing, workers: NDArray[np.int64], axis: Axis) -> tuple[Markup, str]:
    """Return frames around the late blocks, and their number as text, such as "300 of 412"."""
    taken = timing.per_block()
    late = np.flatnonzero(taken > late_after(taken))
    spans = timing.spans[(timing.spans["kind"] != KINDS.index("wait")) & np.isin(timing.spans["worker"], workers)]
    late_here = late[np.isin(late, spans["block"])]
    framed = late_here[np.argsort(-taken[late_here], kind="stable")][:_MOST_LATE]
    spans = spans[np.isin(spans["block"], framed)]
    # Two workers may have computed the same block.
    places = np.searchsorted(workers, spans["worker"]) * np.int64(timing.n_blocks) + spans["block"]
    unique, of = np.unique(places, return_inverse=True)
    starts, stops = np.full(len(unique), np.inf), np.zeros(len(unique))
    np.minimum.at(starts, of, spans["start_ns"] * 1e-9)
    np.maximum.at(stops, of, spans["stop_ns"] * 1e-9)
    lane = unique // max(timing.n_blocks, 1)
    left, right = (np.rint(axis.along(edge) * _WIDTH) for edge in (starts, stops))
    pitch = 10
    data = rectangles(left, np.maximum(right, left + 1), lane * pitch, lane * pitch + pitch - 1)
    return layer(_WIDTH, len(workers) * pitch, path("late-block", data)), _framed(len(unique), len(late))


def _framed(n_framed: int, n_late: int) -> str:
    if not n_late:
        return ""
    return f"{n_late:,}" if n_framed >= n_late else f"{n_framed:,} of {n_late:,}"


def _tips(timing: Timing, workers: NDArray[np.int64]) -> list[str]:
    busy = dict(zip(timing.workers.tolist(), timing.per_worker().tolist(), strict=True))
    waited = dict(zip(timing.workers.tolist(), timing.per_worker("wait").tolist(), strict=True))
    stragglers = {straggler.rank: straggler for straggler in timing.straggling}
    tips = []
    for worker in workers.tolist():
        if worker == COORDINATOR:
            tips.append("caller: plans, distributes blocks and merges")
            continue
        tip = f"worker {worker}: busy {amount(busy[worker], SECONDS)}, waited {amount(waited[worker], SECONDS)}"
        if worker in stragglers:
            tip += f"\nstraggler: {stragglers[worker].reason}"
        tips.append(tip)
    return tips


def _lead(timing: Timing, topology_seconds: float) -> Markup:
    n_workers = len(timing.workers)
    workers = "One worker" if n_workers == 1 else f"{n_workers:,} workers"
    before = f", after {amount(topology_seconds, SECONDS)} for the topology" if topology_seconds else ""
    has_caller = (timing.spans["worker"] == COORDINATOR).any()
    last = together(" The last lane is the ", term("caller"), ".") if has_caller else ""
    return together(f"{workers} took {amount(timing.run_seconds, SECONDS)}{before}.", last)


def _note(timing: Timing, workers: NDArray[np.int64]) -> str:
    n_shown = int((workers != COORDINATOR).sum())
    if n_shown == len(timing.workers):
        return ""
    return f"{n_shown} of {len(timing.workers):,} workers: the slowest stragglers and evenly spaced others."
