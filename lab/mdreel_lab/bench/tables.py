"""Tables of scenarios, made of the series of their records."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from mdreel.timing.observables import NAMES
from mdreel_lab.bench.measures import Cell, Series
from mdreel_lab.bench.scenario import QUANTITIES, Published
from mdreel_lab.bench.straggler_table import stragglers
from mdreel_lab.bench.table import Table, Value, short
from mdreel_lab.bench.task_times import blocks_of_workers, task_times


def scaling(series: Sequence[Series], _: Sequence[Published]) -> Table:
    """Times, speed-ups and efficiencies over numbers of workers."""
    quantities = ("seconds", "speed-up", "efficiency", "io", "compute", "overhead")
    headings = [f"{QUANTITIES[quantity]}{sign}" for quantity in quantities for sign in ("", " ±")]

    def values_of(one: Series, cell: Cell) -> Iterable[Value]:
        spreads = [one.spread(quantity, cell) for quantity in quantities]
        numbers = [number for spread in spreads for number in (spread.mean, spread.deviation)]
        wall = np.mean([repeat.kept.seconds for repeat in cell.repeats]).item()
        return len(cell.repeats), *numbers, wall, sum(repeat.n_stragglers for repeat in cell.repeats)

    head = ("Series", "N", "Repeats", *headings, "whole call (s)", "Stragglers")
    return Table("scaling", "Times against the number of workers", head, _rows(series, values_of))


def observables(series: Sequence[Series], _: Sequence[Published]) -> Table:
    """Return every observable: the mean over ranks and repeats, and the value of the slowest rank."""

    def values_of(_: Series, cell: Cell) -> Iterable[Value]:
        if found := cell.observables:
            yield from (np.mean([getattr(each, name).mean() for each in found]).item() for name in NAMES)
            yield np.mean([each.t_total for each in found]).item()

    title = "Observables in s: means over ranks and repeats; t_total is the wall time"
    return Table("observables", title, ("Series", "N", *NAMES, "t_total"), _rows(series, values_of))


def ratios(series: Sequence[Series], published: Sequence[Published]) -> Table:
    """R_comp/io of one worker, and R_comp/comm of several."""
    # Of several series for the same setting, the first counts.
    said = {x: value for one in reversed(published) if one.quantity == "ratio" for x, value in one.points}

    def values_of(one: Series, cell: Cell) -> Iterable[Value]:
        if found := cell.observables:
            for name in ("t_comp", "t_io"):
                yield np.mean([getattr(each, name).sum() for each in found]).item()
            yield cell.spread("ratio").mean
            yield said.get(one.load, math.nan) if cell.n_workers == 1 else math.nan
            yield np.mean([each.ratio_comp_comm for each in found]).item() if cell.n_workers > 1 else math.nan

    title = "Ratios of computing to reading (R_comp/io, for one worker) and to communication (R_comp/comm)"
    head = ("Series", "N", "t_comp (s)", "t_io (s)", "R_comp/io", "R_comp/io, published", "R_comp/comm")
    return Table("ratios", title, head, _rows(series, values_of))


def tasks_per_worker(series: Sequence[Series], _: Sequence[Published]) -> Table:
    """Number of workers that did 1, 2, 3 ... blocks in each repeat."""
    counted = [
        (one.name, _workers(cell), repeat.kept.point.repeat, Counter(blocks_of_workers(repeat)))
        for one in series
        for cell in one.cells
        for repeat in cell.repeats
    ]
    most = max((max(counts, default=0) for *_, counts in counted), default=0)
    columns = range(min(most, 8) + 1)
    rows: list[tuple[Value, ...]] = [
        (name, n, run, *(counts[k] for k in columns), sum(of for k, of in counts.items() if k > columns[-1]))
        for name, n, run, counts in counted
    ]
    head = ("Series", "N", "Run", *(f"{n} blocks" for n in columns), "more")
    return Table("tasks-per-worker", "Number of workers by the number of blocks they executed", head, rows)


def scheduler_times(series: Sequence[Series], _: Sequence[Published]) -> Table:
    """Times that the code measures, beside those that Dask's scheduler records."""

    def values_of(_: Series, cell: Cell) -> Iterable[Value]:
        if (found := task_times(cell)) is not None:
            yield from (one.mean for one in (found.code_mean, found.code_most, found.scheduler_most, found.total))

    head = ("Series", "N", "t_comp + t_io, mean (s)", "most (s)", "most, by the scheduler (s)", "t_total (s)")
    title = "Time for computing and reading per worker, measured by the code and by Dask's scheduler"
    return Table("scheduler-times", title, head, _rows(series, values_of))


def splitting(series: Sequence[Series], published: Sequence[Published]) -> Table:
    """Time to cut a trajectory into a file for each worker."""

    def values_of(one: Series, cell: Cell) -> Iterable[Value]:
        seconds = cell.spread("seconds")
        relative = (one.spread(quantity, cell).mean for quantity in ("speed-up", "efficiency"))
        n_hosts = max(max(len(repeat.kept.facts.get("hosts", {})), 1) for repeat in cell.repeats)
        return seconds.mean, seconds.deviation, *relative, n_hosts

    rows = _rows(series, values_of)
    for paper in published:
        if paper.quantity == "seconds":
            first_n, first = paper.points[0]
            for n, theirs in paper.points:
                speed_up = first / theirs
                rows.append((_name_of(paper), int(n), theirs, math.nan, speed_up, speed_up / n * first_n, math.nan))
    title = "Time in which N workers split the trajectory into N files; published S and E are relative to the first row"
    return Table("splitting", title, ("Series", "N", "seconds", "±", "S", "E", "Hosts"), rows)


def throughput(series: Sequence[Series], published: Sequence[Published]) -> Table:
    """Empty tasks per second."""

    def values_of(_: Series, cell: Cell) -> Iterable[Value]:
        rate = cell.spread("throughput")
        return cell.repeats[0].kept.point.n_tasks, cell.spread("wall").mean, rate.mean, rate.deviation

    rows = _rows(series, values_of)
    for paper in published:
        if paper.quantity == "throughput":
            rows += [(_name_of(paper), int(n), math.nan, math.nan, rate, math.nan) for n, rate in paper.points]
    return Table("throughput", "Empty tasks", ("Series", "N", "Tasks", "seconds", "tasks per second", "±"), rows)


def peers(series: Sequence[Series], _: Sequence[Published]) -> Table:
    """Time of each program for the same job, also divided by the fastest time of mdreel."""
    ours = [cell.spread("wall").mean for one in series if not one.is_of_peer for cell in one.cells]
    fastest = min(ours, default=math.nan)

    def values_of(_: Series, cell: Cell) -> Iterable[Value]:
        wall = cell.spread("wall")
        check = cell.repeats[0].kept.facts.get("check")
        return wall.mean, wall.deviation, wall.mean / fastest, check or math.nan

    title = "Times of the whole call, ratios to the fastest time of mdreel, and mean results"
    head = ("Program", "N", "seconds", "±", "× ours", "mean RMSD (Å)")
    return Table("peers", title, head, _rows(series, values_of))


def storage(series: Sequence[Series], _: Sequence[Published]) -> Table:
    """Times of reading on each file system."""

    def values_of(one: Series, cell: Cell) -> Iterable[Value]:
        files = [file for repeat in cell.repeats for file in repeat.kept.environment.get("files", [])]
        yield ", ".join(sorted({str(file.get("file_system") or "unknown") for file in files}))
        yield ", ".join(sorted({str(file.get("mount") or "unknown") for file in files}))
        for quantity in ("io", "seconds", "speed-up"):
            spread = one.spread(quantity, cell)
            yield from (spread.mean, spread.deviation)

    quantities = [QUANTITIES[quantity] for quantity in ("io", "seconds", "speed-up")]
    headings = [f"{heading}{sign}" for heading in quantities for sign in ("", " ±")]
    head = ("Series", "N", "File system", "Mount", *headings)
    return Table("storage", "Reading from each file system", head, _rows(series, values_of))


TABLES: Mapping[str, Callable[[Sequence[Series], Sequence[Published]], Table]] = {
    "scaling": scaling,
    "observables": observables,
    "ratios": ratios,
    "tasks-per-worker": tasks_per_worker,
    "scheduler-times": scheduler_times,
    "splitting": splitting,
    "throughput": throughput,
    "peers": peers,
    "stragglers": stragglers,
    "storage": storage,
}
"""The tables by name."""


def beside(series: Sequence[Series], published: Sequence[Published]) -> Table:
    """Published values, beside the values of mdreel with the same number of workers."""
    rows: list[tuple[Value, ...]] = []
    for paper in published:
        for x, value in paper.points:
            there = [(one.name, _ours(one, paper, x)) for one in series]
            ours = "; ".join(f"{name}: {short(found)}" for name, found in there if not math.isnan(found))
            rows.append((paper.source, paper.label, QUANTITIES[paper.quantity], short(x), value, ours))
    head = ("Published in", "Of", "Quantity", "N (of ratios: W)", "Published", "Ours")
    return Table("published", "Published and measured values for the same number of workers", head, rows)


def _rows(series: Sequence[Series], values_of: Callable[[Series, Cell], Iterable[Value]]) -> list[tuple[Value, ...]]:
    """Return a row for each cell that has values."""
    cells = [(one, cell) for one in series for cell in one.cells]
    rows = [(one.name, _workers(cell), *values_of(one, cell)) for one, cell in cells]
    return [row for row in rows if len(row) > len(("Series", "N"))]


def _ours(series: Series, paper: Published, x: float) -> float:
    """Return our value beside a published one; NaN if there is none."""
    if paper.quantity == "ratio":
        cell = series.cell(1)
        return math.nan if cell is None or series.load != x else cell.spread("ratio").mean
    cell = series.cell(int(x))
    return math.nan if cell is None else series.spread(paper.quantity, cell).mean


def _name_of(paper: Published) -> str:
    return f"{paper.label} ({paper.source})"


def _workers(cell: Cell) -> str:
    return f"{cell.n_workers}{'*' if cell.is_oversubscribed else ''}"
