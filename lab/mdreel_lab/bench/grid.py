"""Points: the runs of a scenario at a size."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import product

from mdreel_lab.bench.data import PUBLISHED_FRAMES
from mdreel_lab.bench.own_data import length_of
from mdreel_lab.bench.records import added, key_of
from mdreel_lab.bench.scenario import DEFAULT, Grid, Scenario, Size

_WORDS = {
    "load": "W = {}",
    "ratio": "R = {:g}",
    "stripes": "{} stripes",
    "parts_per_worker": "{} blocks per worker",
    "frames": "from {}",
    "storage": "on {}",
    "multiple": "{:g}x",
}
_SPOKEN_FORMATS = {"xtc": "XTC", "trr": "TRR", "dcd": "DCD", "ncdf": "NetCDF", "h5md": "H5MD"}


@dataclass(frozen=True)
class Point:
    """One run, with all settings that determine it: from the scenario, a `Grid` and a size.

    Points of one series differ in nothing but the number of workers and the repeat, which is counted from 1. With weak
    scaling, their number of frames is proportional to the number of workers. The multiple is the length of the series
    in trajectories if a scenario has several lengths, and 0 otherwise.
    """

    scenario: str
    workload: str
    system: str
    selection: str
    cache: str
    series: str
    program: str
    executor: str
    format: str
    access: str
    communication: str
    schedule: str
    frames: str
    parts_per_worker: int
    load: int
    stripes: int
    n_frames: int
    n_tasks: int
    n_workers: int
    repeat: int
    ratio: float = added(0.0)
    topology: str = added("")
    trajectory: str = added("")
    storage: str = added("")
    scaling: str = added("strong")
    multiple: float = added(0.0)

    @property
    def key(self) -> str:
        """The name of its record."""
        return key_of(self, self.series, f"n{self.n_workers}")

    @property
    def n_segments(self) -> int:
        """Number of files that it reads."""
        return self.n_workers if self.access in ("chain", "segments") else 1

    @property
    def n_parts(self) -> int | None:
        """Number of blocks; None for as many as suit."""
        return self.parts_per_worker * self.n_workers or None

    def __str__(self) -> str:
        workers = f"{self.n_workers} worker{'s' if self.n_workers > 1 else ''}"
        return f"{self.scenario}: {self.series}, {workers}, repeat {self.repeat}"


def points_of(name: str, scenario: Scenario, size: Size) -> list[Point]:
    """Return all points of a scenario at a size, all of one repeat before the next."""
    single = [point for grid in scenario.grid for point in _points(name, scenario, grid, size)]
    named = _named(single)
    return [replace(point, repeat=repeat) for repeat in range(1, size.repeats + 1) for point in named]


_OF_GRID = tuple(one.name for one in fields(Grid) if one.name not in ("label", "workers", "small_factor"))
_OF_SERIES = (*_OF_GRID, "storage", "multiple")
"""The settings that points of one series share."""


def _points(name: str, scenario: Scenario, grid: Grid, size: Size) -> Iterator[Point]:
    data = scenario.data
    is_of_tasks = scenario.workload == "empty-tasks"
    own_factor = grid.small_factor if size is scenario.small else None
    factors = size.factor if own_factor is None else (own_factor,)
    length = length_of(data.trajectory) if data.trajectory else PUBLISHED_FRAMES
    series = product(*(getattr(grid, field) for field in _OF_GRID), data.storage or ("",), factors)
    for *values, storage, factor in series:
        for n_workers in grid.workers or size.workers:
            # Programs that have one worker have no others.
            if n_workers > 1 and values[1] == "serial":
                continue
            yield Point(
                scenario=name,
                workload=scenario.workload,
                system=data.system,
                selection=data.selection,
                cache=data.cache,
                series=grid.label or "",
                **dict(zip(_OF_GRID, values, strict=True)),
                n_frames=max(1, round(factor * length)) * (n_workers if data.scaling == "weak" else 1),
                n_tasks=size.tasks if is_of_tasks else 0,
                n_workers=n_workers,
                repeat=0,
                topology=data.topology,
                trajectory=data.trajectory,
                storage=storage,
                scaling=data.scaling,
                multiple=factor if len(factors) > 1 else 0.0,
            )


def _named(points: list[Point]) -> list[Point]:
    """Name each series after the settings that differ between the series of its label."""
    named = []
    for point in points:
        alike = [other for other in points if other.series == point.series]
        differing = [field for field in _OF_SERIES if len({getattr(other, field) for other in alike}) > 1]
        words = [_word(field, getattr(point, field)) for field in differing]
        said = [point.series] if point.series else []
        name = ", ".join([*said, *(word for word in words if word)]) or _word("executor", point.executor)
        named.append(replace(point, series=name))
    return named


def _word(field: str, value: str | float) -> str:
    """Spell out a setting; default settings have no words."""
    if value in (DEFAULT, 0):
        return ""
    if field == "format":
        return _SPOKEN_FORMATS[str(value)]
    return _WORDS.get(field, "{}").format(value)
