"""Shares of slow ranks, measured and simulated for the same ratio of computing to reading."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from mdreel.timing.observables import Observables
from mdreel.timing.stragglers import STRAGGLER, typical_seconds
from mdreel_lab.bench.grid import Point
from mdreel_lab.bench.measures import Cell, Series
from mdreel_lab.bench.scenario import Published
from mdreel_lab.bench.table import Table, Value
from mdreel_lab.slow_ranks import slow_share

SIMULATED_RANKS = (24, 72)
"""Numbers of ranks that are simulated: one node and three nodes of Comet, as in figure 3 of the paper of 2019."""

N_SIMULATIONS = 5

_HEAD = (
    "Series",
    "Where",
    "N",
    "W",
    "R_comp/io",
    "t_total (s)",
    "S(N)",
    "2 x fastest, t_N",
    "2 x fastest, without waiting",
    "1.5 x median, without waiting",
)


def stragglers(series: Sequence[Series], _: Sequence[Published]) -> Table:
    """Share of slow ranks, measured here and simulated for Comet."""
    rows = [row for one in series for row in (*_measured(one), *_simulated(one))]
    title = "Share of slow ranks, measured here and simulated for Comet with the same R_comp/io"
    return Table("stragglers", title, _HEAD, rows)


def _measured(series: Series) -> Iterator[tuple[Value, ...]]:
    alone = series.cell(1)
    ratio = math.nan if alone is None else alone.spread("ratio").mean
    for cell in series.cells:
        if cell.n_workers > 1 and (found := cell.observables):
            shares = _means(found)
            speed_up = series.spread("speed-up", cell).mean
            seconds = cell.spread("seconds").mean
            yield series.name, "measured", _workers(cell), series.load, ratio, seconds, speed_up, *shares


def _simulated(series: Series) -> Iterator[tuple[Value, ...]]:
    """Simulate the scheme of a series with the ratio that it should have, or with the measured one."""
    from mdreel_lab.prediction.cluster import read_cluster
    from mdreel_lab.prediction.published import published_workload
    from mdreel_lab.prediction.schemes import SCHEMES
    from mdreel_lab.prediction.simulate import alone, simulate

    point = series.cells[0].repeats[0].kept.point
    name, cell = scheme_of_point(point), series.cell(1)
    ratio = point.ratio or (math.nan if cell is None else cell.spread("ratio").mean)
    if name is None or not 0 < ratio < math.inf:
        return
    workload, comet = published_workload(name).with_ratio(ratio), read_cluster("comet")
    serial = alone(comet, workload, SCHEMES[name])
    for n_ranks in SIMULATED_RANKS:
        runs = [simulate(comet, workload, SCHEMES[name], n_ranks, seed) for seed in range(N_SIMULATIONS)]
        seconds = float(np.mean([run.t_total for run in runs]))
        shares = _means([run.observables for run in runs])
        yield series.name, f"simulated: {name}", str(n_ranks), "", ratio, seconds, serial / seconds, *shares


def scheme_of_point(point: Point) -> str | None:
    """Return the scheme of the model that describes how a point was run, or None if there is none."""
    if point.executor != "mpi" or point.frames == "memory" or point.scaling == "weak":
        return None
    arrays = "global-arrays" if point.communication == "global-arrays" else "gather"
    if point.program == "published":
        if point.access.startswith("hdf5"):
            return "hdf5-independent"
        return f"{'shared' if point.access == 'default' else point.access}-{arrays}"
    if point.access == "segments" and arrays == "gather":
        return "mdreel-segments"
    is_default = point.access in ("default", "shared") and point.schedule == "demand"
    return "mdreel" if is_default and arrays == "gather" else None


def _means(found: Sequence[Observables]) -> list[float]:
    """Return the mean over runs of each share."""
    shares = [(slow_share(one.t_n), slow_share(one.t_own), _above_median(one)) for one in found]
    return [float(mean) for mean in np.mean(shares, axis=0)]


def _above_median(found: Observables) -> float:
    """Return the share of ranks that took more than 1.5 times the median, without waiting for other ranks."""
    return float((found.t_own > STRAGGLER * typical_seconds(found)).mean())


def _workers(cell: Cell) -> str:
    return f"{cell.n_workers}{'*' if cell.is_oversubscribed else ''}"
