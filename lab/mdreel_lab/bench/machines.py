"""Records of several machines, which one report compares."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mdreel.errors import MismatchError
from mdreel_lab.bench.measures import Measured, Series, series_of
from mdreel_lab.bench.plans import plan_of, planned
from mdreel_lab.bench.records import DONE, Kept
from mdreel_lab.bench.scenario_files import read_scenario
from mdreel_lab.bench.table import Table, Value


@dataclass(frozen=True)
class Machine:
    """The records of one machine; the name is empty if the report is about a single machine."""

    name: str
    folder: Path


@dataclass(frozen=True)
class OfMachine:
    """The plan of a scenario on a machine: the file of the scenario, its size, and its records."""

    machine: Machine
    path: Path
    size: str
    records: list[Kept[Any]]


def machines_of(folders: Sequence[str]) -> list[Machine]:
    """Return machines, given by folders or as ``NAME=FOLDER``; a single machine needs no name.

    Raise a `MismatchError` if two machines have the same name.
    """
    if len(folders) == 1 and (Path(folders[0]).exists() or "=" not in folders[0]):
        return [Machine("", Path(folders[0]))]
    machines = []
    for text in folders:
        name, _, folder = text.rpartition("=")
        is_named = bool(name) and not Path(text).exists()
        place = Path(folder if is_named else text)
        machines.append(Machine(name if is_named else place.resolve().name, place))
    names = [machine.name for machine in machines]
    for name in names:
        if "/" in name:
            raise MismatchError(f"the name of a machine is part of file names: {name!r} must not contain /")
        if names.count(name) > 1:
            raise MismatchError(f"two machines are called {name!r}: name them as NAME=FOLDER")
    return machines


def scenarios_of(machines: Sequence[Machine]) -> dict[str, list[OfMachine]]:
    """Return what each machine has of each scenario, by the names of scenarios.

    Raise a `MismatchError` if a machine has no records, or if machines have run different scenarios or sizes under the
    same name. Raise a `FormatError` if a record cannot be read.
    """
    found: dict[str, list[OfMachine]] = {}
    for machine in machines:
        names = planned(machine.folder)
        if not names:
            raise MismatchError(
                f"{machine.folder}: there are no records of benchmarks: mdreel bench run -o {machine.folder} makes them"
            )
        for name in names:
            found.setdefault(name, []).append(OfMachine(machine, *plan_of(machine.folder, name)))
    for name, several in found.items():
        first = several[0]
        for other in several[1:]:
            if other.size != first.size:
                raise MismatchError(
                    f"{name}: {first.machine.name} has the {first.size} size, but {other.machine.name} the "
                    f"{other.size} size: compare runs of the same size"
                )
            one, two = read_scenario(first.path), read_scenario(other.path)
            if type(one) is not type(two) or getattr(one, "workload", "") != getattr(two, "workload", ""):
                raise MismatchError(f"{name}: {first.path} and {other.path} are different scenarios")
    return dict(sorted(found.items()))


def merged(several: Sequence[OfMachine]) -> list[Kept[Any]]:
    """Return the records of analyses of all machines; the names of series end with that of the machine."""
    found = []
    for one in several:
        for kept in one.records:
            name = one.machine.name
            point = replace(kept.point, series=f"{kept.point.series}, {name}") if name else kept.point
            found.append(replace(kept, point=point))
    return found


def machine_table(several: Sequence[OfMachine]) -> Table:
    """Return the machines: processor, cores, system, file systems, MPI library and date."""
    rows: list[tuple[Value, ...]] = []
    for one in several:
        done = [kept for kept in one.records if kept.status == DONE]
        if not done:
            rows.append((one.machine.name, *("" for _ in range(7))))
            continue
        last = done[-1]
        environment = last.environment
        kinds = {_file_system(file) for kept in done for file in kept.environment.get("files", [])}
        hosts = {host for kept in done for host in kept.facts.get("hosts", {})}
        rows.append(
            (
                one.machine.name,
                str(environment.get("cpu")),
                max(int(kept.facts.get("n_cores", 0)) for kept in done),
                max(len(hosts), 1),
                str(environment.get("kernel")),
                ", ".join(sorted(kinds)),
                next((str(kept.environment["versions"]["MPI"]) for kept in reversed(done) if _has_mpi(kept)), ""),
                f"mdreel {environment.get('mdreel')}, {environment.get('date', 'unknown')}",
            )
        )
    head = ("Machine", "CPU", "Cores", "Hosts", "System", "File systems", "MPI", "Measured with")
    return Table("machines", "Machines", head, rows)


def comparison(several: Sequence[OfMachine]) -> Table:
    """Return t_comp and t_io of each machine as in table 6 of Khoshlessan et al. (2019): means over ranks, s.

    Machines can have run scenarios of the same name with other numbers of frames or another state of the page cache,
    so each row gives both.
    """
    rows: list[tuple[Value, ...]] = []
    grouped = [(one.machine.name, series_of(one.records)) for one in several]
    names = list(dict.fromkeys(series.name for _, all_series in grouped for series in all_series))
    for name in names:
        numbers = sorted({cell.n_workers for series in _called(name, grouped).values() for cell in series.cells})
        for n_workers in numbers:
            for machine, series in _called(name, grouped).items():
                cell = series.cell(n_workers)
                if cell is None:
                    continue
                values = [_mean(cell.repeats, "t_comp"), _mean(cell.repeats, "t_io"), _mean(cell.repeats, "t_comm")]
                spreads = [series.spread(quantity, cell) for quantity in ("seconds", "speed-up", "efficiency")]
                numbers_of = [number for spread in spreads for number in (spread.mean, spread.deviation)]
                points = [one.kept.point for one in cell.repeats]
                n_frames, cache = points[0].n_frames, ", ".join(sorted({point.cache for point in points}))
                rows.append((name, n_workers, machine, n_frames, cache, len(points), *values, *numbers_of))
    head = ("Series", "N", "Machine", "Frames", "Cache", "Repeats", "t_comp (s)", "t_io (s)", "t_comm (s)")
    spread_head = ("t_total (s)", "t_total (s) ±", "S(N)", "S(N) ±", "E(N)", "E(N) ±")
    return Table("comparison", "Machines side by side: means over ranks", (*head, *spread_head), rows)


def _called(name: str, grouped: Sequence[tuple[str, list[Series]]]) -> dict[str, Series]:
    return {machine: series for machine, all_series in grouped for series in all_series if series.name == name}


def _mean(repeats: Sequence[Measured], observable: str) -> float:
    """Return the mean over repeats and ranks of an observable, s; NaN without a recording."""
    found = [getattr(repeat.observables, observable).mean() for repeat in repeats if repeat.observables is not None]
    return float(np.mean(found)) if found else float("nan")


def _file_system(file: dict[str, Any]) -> str:
    return str(file.get("file_system") or "an unknown file system")


def _has_mpi(kept: Kept[Any]) -> bool:
    return "MPI" in kept.environment.get("versions", {})
