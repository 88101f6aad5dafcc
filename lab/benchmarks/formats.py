"""The cases of each format: all atoms and the selected atoms read, and what a first pass without an index costs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cases import Case, Goal, Plan, floors, molly
from contender import Contender, job, ours, python

if TYPE_CHECKING:
    from mdreel_lab.bench.data import System

PEERS = {
    "xtc": ("MDAnalysis", "mdtraj", "chemfiles"),
    "trr": ("MDAnalysis", "mdtraj", "chemfiles"),
    "dcd": ("MDAnalysis", "mdtraj", "chemfiles"),
    "ncdf": ("MDAnalysis", "mdtraj", "chemfiles"),
    "h5md": ("MDAnalysis",),
}
"""Who reads which format."""

WHAT = {"read": "all atoms", "read-selected": "Cα atoms"}
"""What is read, and what the tables call it."""

INDEXED = ("xtc", "trr")
"""Formats whose frames must be located."""

FIRST_PASS = 1.05
SELECTED = 3.0


def _reader(name: str, system: System, form: str, what: str) -> Contender:
    made = python(name.lower(), f"{name}, {WHAT[what]}", job(system, form, what=what))
    kind = "ours" if name == "mdreel" else "peer"
    return replace(made, key=f"{name}-{what}", family=f"{name}-{what}", kind=kind)


def _read(form: str, system: System, name: str) -> Case:
    """Return the case of one format: both selections, so that they can be compared."""
    contenders: list[Contender] = []
    for what in WHAT:
        contenders += [_reader(reader, system, form, what) for reader in ("mdreel", *PEERS[form])]
        if form == "xtc":
            ways = molly(system, "all" if what == "read" else str(system.start))
            contenders += [replace(way, key=f"{way.key}-{what}", family=f"molly-{what}") for way in ways]
    goals = []
    if form in ("dcd", "ncdf"):
        goals.append(Goal("Cα atoms against all atoms", ("mdreel-read",), ("mdreel-read-selected",), SELECTED))
    if form in INDEXED:
        passes = (ours(system, form, "start", 1), ours(system, form, "start", 1, "none"))
        contenders += [replace(one, label=f"{one.label}, RMSD of Cα atoms") for one in passes]
        first, later = ("mdreel-1-first",), ("mdreel-1",)
        goals.append(Goal("first pass of an RMSD against one with an index", first, later, FIRST_PASS, at_least=False))
    contenders += floors(system, form)
    title = f"{form.upper()} of {system.name} read"
    return Case(name, title, system, form, tuple(contenders), tuple(goals))


READING = {
    f"read-{form}-{system}": Plan(system, (form,), partial(_read, form))
    for system in ("adk", "water")
    for form in PEERS
}
"""The cases by name."""
