"""The cases of storage: a trajectory converted, split, and read as a chain of many segments."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cases import Case, Goal, Plan, floors
from contender import Contender, job, python

if TYPE_CHECKING:
    from mdreel_lab.bench.data import System

CONVERTERS = {
    "mdreel": "python:mdreel",
    "mdconvert": "program:mdconvert",
    "trjconv": "program:gmx",
}
"""Who converts, and what that needs."""

LABELS = {
    "mdreel": "mdreel convert",
    "mdconvert": "mdconvert (mdtraj)",
    "trjconv": "gmx trjconv",
}

N_SEGMENTS = 500


def _converter(system: System, form: str, name: str, cores: int) -> Contender:
    text = LABELS[name] + (f", {cores} thread{'s' * (cores > 1)}" if name == "mdreel" else "")
    work = job(system, form, what="convert", way=name, n_workers=cores)
    made = python("storage", text, work, cores, f"{name}-{cores}", CONVERTERS[name])
    return replace(made, kind="ours" if name == "mdreel" else "peer")


def _convert(system: System, name: str, form: str, peers: tuple[str, ...]) -> Case:
    contenders = [_converter(system, form, "mdreel", cores) for cores in (1, 2)]
    contenders += [_converter(system, form, peer, 1) for peer in peers]
    goals = tuple(
        Goal(f"1 thread against {LABELS[peer]}", (f"storage-{peer}-1",), ("storage-mdreel-1",), 1) for peer in peers
    )
    title = f"{form.upper()} converted to XTC (whole programs, until the file is on the disk)"
    return Case(name, title, system, form, (*contenders, *floors(system, form)), goals)


def _from_dcd(system: System, name: str) -> Case:
    return _convert(system, name, "dcd", ("mdconvert",))


def _from_trr(system: System, name: str) -> Case:
    return _convert(system, name, "trr", ("trjconv", "mdconvert"))


def _split(system: System, name: str) -> Case:
    def contender(way: str, text: str, needs: str, cores: int = 1) -> Contender:
        work = job(system, "xtc", what="split", way=way, n_workers=cores)
        kind = {"mdreel": "ours", "cp": "floor"}.get(way, "peer")
        return replace(python("storage", text, work, cores, f"{way}-{cores}", needs), kind=kind)

    contenders = (
        contender("mdreel", "mdreel split, 16 segments", "python:mdreel"),
        contender("trjconv", "gmx trjconv -split", "program:gmx"),
        contender("cp", "floor: cp of the whole file", "program:cp"),
    )
    goals = (Goal("against gmx trjconv", ("storage-trjconv-1",), ("storage-mdreel-1",), 1),)
    return Case(name, "XTC split into 16 segments", system, "xtc", contenders, goals)


def _chain(system: System, name: str) -> Case:
    def contender(way: str, text: str, needs: str) -> Contender:
        work = job(system, "xtc", what="chain", way=way, n_workers=N_SEGMENTS)
        return replace(python("chain", text, work, 1, way, needs), kind="ours" if way.startswith("mdreel") else "peer")

    contenders = (
        contender("mdreel-file", "mdreel, one file", "python:mdreel"),
        contender("mdreel", f"mdreel, {N_SEGMENTS} segments", "python:mdreel"),
        contender("mdanalysis", f"MDAnalysis, {N_SEGMENTS} segments", "python:MDAnalysis"),
        contender("mdtraj", f"mdtraj, load of {N_SEGMENTS} segments", "python:mdtraj"),
    )
    goals = (
        Goal("segments against one file", ("chain-mdreel-1",), ("chain-mdreel-file-1",), 1.1, at_least=False),
        Goal("against MDAnalysis", ("chain-mdanalysis-1",), ("chain-mdreel-1",), 20),
    )
    return Case(name, f"Cα RMSD from {N_SEGMENTS} XTC segments, 1 thread", system, "xtc", contenders, goals)


STORAGE = {
    "convert-dcd": Plan("adk", ("dcd",), _from_dcd),
    "convert-trr": Plan("adk", ("trr",), _from_trr),
    "split": Plan("adk", ("xtc",), _split),
    "chain": Plan("adk", ("xtc",), _chain),
}
"""The cases by name."""
