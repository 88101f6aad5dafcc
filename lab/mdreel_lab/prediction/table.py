"""Table of the errors of simulations of Comet against published values."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from mdreel_lab.prediction.cluster import Cluster
from mdreel_lab.prediction.fit import FITTED, n_points
from mdreel_lab.prediction.published import HEADLINE, Series, published
from mdreel_lab.prediction.schemes import SCHEMES
from mdreel_lab.prediction.simulate import scaling


@dataclass(frozen=True)
class Row:
    """A published point with its simulated value.

    Attributes
    ----------
    series : Series
        Series of the point.
    n_ranks : int
        Number of ranks.
    speedup, deviation : float
        Simulated S(N), and its standard deviation over simulations.
    """

    series: Series
    n_ranks: int
    speedup: float
    deviation: float

    @property
    def error(self) -> float:
        """Relative error of the simulated S(N)."""
        return self.speedup / self.series.speedup(self.n_ranks) - 1.0

    @property
    def is_fitted(self) -> bool:
        """Whether a time of this run was used to fit the model."""
        return self.n_ranks in self.series.fitted

    @property
    def is_headline(self) -> bool:
        """Whether the point is one of `HEADLINE`."""
        is_plain = self.series.repeats_of_compute == 1
        return is_plain and self.n_ranks in HEADLINE.get(self.series.scheme, ())


def rows(cluster: Cluster, n_repeats: int = 20, seed: int = 0, several: Sequence[Series] | None = None) -> list[Row]:
    """Simulate published points.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    n_repeats : int
        Number of simulations of each point.
    seed : int
        Seed of the first simulation.
    several : sequence of Series, optional
        The series; by default all.
    """
    found = []
    for series in published() if several is None else several:
        simulated = scaling(cluster, series.workload, SCHEMES[series.scheme], series.n_ranks, n_repeats, seed)
        points = zip(series.n_ranks, simulated.speedup, simulated.speedup_deviation, strict=True)
        found += [Row(series, n, float(speedup), float(deviation)) for n, speedup, deviation in points]
    return found


def median_error(of: list[Row]) -> float:
    """Return the median of the absolute errors, as a share; NaN without rows."""
    return median(abs(row.error) for row in of) if of else float("nan")


def markdown(of: list[Row]) -> str:
    """Write the table, summaries first."""
    n_all, n_fitted = n_points()
    groups = {
        f"all {n_all} points": of,
        f"the {n_all - n_fitted} points of which nothing was used": [row for row in of if not row.is_fitted],
        f"the {n_fitted} points of runs that {len(FITTED)} numbers were read off": [row for row in of if row.is_fitted],
        "the points by which the paper's schemes are told apart": [row for row in of if row.is_headline],
    }
    lines = ["| Median error of S(N) over | |", "|---|--:|"]
    lines += [f"| {name} | {_percent(median_error(group), signed=False)} |" for name, group in groups.items()]
    lines += ["", "| Scheme | Ranks | Published S | Simulated S | Error | |", "|---|--:|--:|--:|--:|---|"]
    lines += [line(row) for row in of]
    return "\n".join(lines) + "\n"


def line(row: Row) -> str:
    """Write the line of a point."""
    series = row.series
    title = SCHEMES[series.scheme].title
    if series.repeats_of_compute > 1:
        title += f", computed {series.repeats_of_compute} times"
    marks = " ".join(word for word, holds in (("fitted", row.is_fitted), ("headline", row.is_headline)) if holds)
    simulated = f"{row.speedup:.1f} ± {row.deviation:.1f}"
    published_speedup = f"{series.speedup(row.n_ranks):.1f}"
    return f"| {title} | {row.n_ranks} | {published_speedup} | {simulated} | {_percent(row.error)} | {marks} |"


def _percent(share: float, signed: bool = True) -> str:
    return f"{100 * share:{'+' if signed else ''}.0f} %"
