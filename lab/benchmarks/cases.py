"""What is measured: the cases, who takes part in each, and the goals that mdreel has set itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from contender import Contender, example, job, ours, python, rust

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdreel_lab.bench.data import System


@dataclass(frozen=True)
class Goal:
    """A bound on the ratio of two times.

    Parameters
    ----------
    text
        What the table calls it.
    over, under
        Keys of contenders: the time of the fastest of ``over`` is divided by that of the fastest of ``under``.
    bound
        The ratio that is aimed at.
    at_least
        Whether the bound is a lower one.
    """

    text: str
    over: tuple[str, ...]
    under: tuple[str, ...]
    bound: float
    at_least: bool = True


@dataclass(frozen=True)
class Case:
    """Contenders that do the same job on the same file, measured in turn."""

    name: str
    title: str
    system: System
    form: str
    contenders: tuple[Contender, ...]
    goals: tuple[Goal, ...]


MDTRAJ = ("mdtraj-load-1", "mdtraj-iterload-1")
MOLLY = ("molly-buffered", "molly-plain", "molly-bufreader")
TWO_PROCESSES = ("mdanalysis-multiprocessing-2", "mdanalysis-dask-2")
GATHER = ("floor-mmap", "floor-span", "floor-frame")


def _mdanalysis(system: System, form: str, place: str = "start", parallel: bool = True) -> list[Contender]:
    made = [python("mdanalysis", "MDAnalysis, serial", job(system, form, place=place, way="serial"))]
    if parallel:
        for way in ("multiprocessing", "dask"):
            work = job(system, form, place=place, way=way, n_workers=2)
            made.append(python("mdanalysis", f'MDAnalysis, backend="{way}", 2 processes', work, 2, "mdanalysis-2"))
    return made


def _mdtraj(system: System, form: str, place: str = "start", cores: tuple[int, ...] = (1,)) -> list[Contender]:
    made = []
    for count in cores:
        family = "mdtraj" if count == 1 else f"mdtraj-{count}"
        for way in ("load", "iterload"):
            work = job(system, form, place=place, way=way, n_workers=count)
            call = f"mdtraj, {way}(atom_indices) + rmsd"
            made.append(python("mdtraj", call if count == 1 else f"{call}, {count} cores", work, count, family))
    return made


def molly(system: System, selection: str) -> list[Contender]:
    """Return the ways of reading an XTC file with molly, all atoms or those of a file of indices."""
    what = "all atoms" if selection == "all" else "selected atoms, reading alone"
    path = str(system.trajectory("xtc"))
    return [
        rust("molly", f"molly, {what} ({way})", way, path, selection, way) for way in ("buffered", "plain", "bufreader")
    ]


def _programs(system: System, form: str) -> list[Contender]:
    programs = [python("cpptraj", "cpptraj (whole program)", job(system, form))]
    if form == "xtc":
        programs.append(python("gmx", "gmx rms (whole program)", job(system, form)))
    return programs


def floors(system: System, form: str) -> list[Contender]:
    """Return the floors: reading the bytes from the page cache, and copying as many."""
    path = system.trajectory(form)
    size = path.stat().st_size
    made = [
        rust("floor", "floor: read the whole file from the page cache", "pread", "pread", str(path), kind="floor"),
        rust("floor", "floor: memcpy of as many bytes", "memcpy", "memcpy", str(size), kind="floor"),
    ]
    if form in ("dcd", "ncdf"):
        ways = {
            "mmap": "gather the selected values from a memory map",
            "span": "read first to last selected value of each array",
            "frame": "read whole frames, 1 MiB at a time, and gather",
        }
        layout = _dcd_layout(system) if form == "dcd" else _netcdf_layout(system)
        for way, text in ways.items():
            arguments = ("gather", way, str(path), str(system.start), *map(str, layout))
            made.append(rust("floor", f"floor: {text}", way, *arguments, kind="floor"))
    return made


def _dcd_layout(system: System) -> tuple[int, ...]:
    """Say where the frames of a DCD file made by `mdreel_lab.bench.data` lie.

    Returns
    -------
    tuple of int
        First frame and distance from one to the next, bytes; values of an atom that lie together; x, y and z within a
        frame, bytes.
    """
    cell, axis = 4 + 48 + 4, 4 + 4 * _n_atoms(system) + 4
    stride = cell + 3 * axis
    first = system.trajectory("dcd").stat().st_size - system.n_frames * stride
    return (first, stride, 1, *(cell + 4 + axis * which for which in range(3)))


def _netcdf_layout(system: System) -> tuple[int, ...]:
    """Say where the frames of a NetCDF file made by `mdreel_lab.bench.data` lie; see `_dcd_layout`."""
    size, stride = system.trajectory("ncdf").stat().st_size, 4 + 12 * _n_atoms(system)  # the atoms, and the time
    if size >= system.n_frames * (stride + 48):
        stride += 48  # a cell
    return (size - system.n_frames * stride, stride, 3, 0)


def _n_atoms(system: System) -> int:
    return system.reference.read_text().count("\nATOM")


def _xtc(adk: System, name: str) -> Case:
    contenders = [ours(adk, "xtc", "start", 1), ours(adk, "xtc", "start", 2), ours(adk, "xtc", "start", 1, "none")]
    contenders += _mdanalysis(adk, "xtc") + _mdtraj(adk, "xtc", cores=(1, 2)) + molly(adk, str(adk.start))
    contenders += _programs(adk, "xtc") + floors(adk, "xtc")
    contenders.append(example("control", "floor: control pass alone", str(adk.trajectory("xtc")), kind="floor"))
    goals = (
        Goal("1 thread against MDAnalysis serial", ("mdanalysis-serial-1",), ("mdreel-1",), 24),
        Goal("1 thread against the best of mdtraj", MDTRAJ, ("mdreel-1",), 12),
        Goal("1 thread, RMSD included, against molly's reading alone", MOLLY, ("mdreel-1",), 4),
        Goal(
            "2 threads against MDAnalysis, 2 processes",
            TWO_PROCESSES,
            ("mdreel-2",),
            25,
        ),
        Goal("first pass against one with an index", ("mdreel-1-first",), ("mdreel-1",), 1.10, at_least=False),
    )
    return Case(name, "Cα RMSD from XTC", adk, "xtc", tuple(contenders), goals)


def _dcd(adk: System, name: str) -> Case:
    contenders = [ours(adk, "dcd", "start", 1), ours(adk, "dcd", "start", 2)]
    contenders += _mdanalysis(adk, "dcd") + _mdtraj(adk, "dcd", cores=(1, 2))
    contenders += _programs(adk, "dcd") + floors(adk, "dcd")
    goals = (
        Goal("1 thread against MDAnalysis serial", ("mdanalysis-serial-1",), ("mdreel-1",), 36),
        Goal("1 thread against mdtraj's load of Cα only", ("mdtraj-load-1",), ("mdreel-1",), 4.8),
        Goal("1 thread against the page-cache floor", ("mdreel-1",), GATHER, 1.5, at_least=False),
    )
    return Case(name, "Cα RMSD from DCD", adk, "dcd", tuple(contenders), goals)


def _read(adk: System, name: str) -> Case:
    contenders = [example("decode", "mdreel, 1 thread", str(adk.trajectory("xtc"))), *molly(adk, "all")]
    contenders.append(rust("xdrfile", "xdrfile (C library)", "", str(adk.trajectory("xtc"))))
    work = job(adk, "xtc", what="read")
    contenders.append(python("libmdaxdr", "xdrfile as MDAnalysis ships it (XTCFile)", work, family="xdrfile"))
    contenders.append(python("mdanalysis", "MDAnalysis, trajectory iterated", work))
    contenders.append(python("mdtraj", "mdtraj, XTCTrajectoryFile.read", work))
    goals = (
        Goal("1 thread against molly", MOLLY, ("decode",), 4),
        Goal("1 thread against xdrfile", ("xdrfile",), ("decode",), 6),
    )
    return Case(name, "All atoms read from XTC", adk, "xtc", (*contenders, *floors(adk, "xtc")), goals)


def _water(place: str, bound: float, water: System, name: str) -> Case:
    selection = water.start if place == "start" else water.end
    contenders = [ours(water, "xtc", place, 1), ours(water, "xtc", place, 2)]
    contenders += _mdanalysis(water, "xtc", place, parallel=False) + _mdtraj(water, "xtc", place)
    contenders += molly(water, str(selection))
    goals = (Goal("1 thread against MDAnalysis serial", ("mdanalysis-serial-1",), ("mdreel-1",), bound),)
    where = {"start": "protein first in the frame", "end": "selection at the end of the frame"}[place]
    return Case(name, f"RMSD from XTC with water, {where}", water, "xtc", tuple(contenders), goals)


def _scaling(adk: System, name: str) -> Case:
    # The file twice, one after the other: a run of some seconds. Two processes read it once each, at the same time.
    twice = replace(adk, n_frames=2 * adk.n_frames)
    label = "floor: 2 processes that know nothing of each other, a segment each"
    halves = python("at_once", label, job(adk, "xtc", way="threads", n_workers=2), 2, family="floor")
    contenders = (
        ours(twice, "xtc", "start", 1, n_times=2),
        ours(twice, "xtc", "start", 2, n_times=2),
        replace(halves, kind="floor"),
    )
    goals = (Goal("2 threads against 1, long run", ("mdreel-1",), ("mdreel-2",), 1.9),)
    return Case(name, "Cα RMSD from a long XTC, read as two segments", twice, "xtc", contenders, goals)


@dataclass(frozen=True)
class Plan:
    """A case before its data are made: which system and format it needs."""

    system: str
    forms: tuple[str, ...]
    make: Callable[[System, str], Case]
    long: bool = False

    def case(self, system: System, name: str) -> Case:
        """Return the case on the system that was made."""
        return self.make(system, name)


RMSD = {
    "xtc": Plan("adk", ("xtc",), _xtc),
    "dcd": Plan("adk", ("dcd",), _dcd),
    "read": Plan("adk", ("xtc",), _read),
    "water-start": Plan("water", ("xtc",), partial(_water, "start", 80)),
    "water-end": Plan("water", ("xtc",), partial(_water, "end", 22)),
    "scaling": Plan("adk", ("xtc",), _scaling, long=True),
}
"""The cases by name, in the order in which they run."""
