"""The cases of analyses: each against every library that has it, with 1 and 2 cores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from cases import Case, Goal, Plan
from contender import Contender, job, python

if TYPE_CHECKING:
    from mdreel_lab.bench.data import System


@dataclass(frozen=True)
class Question:
    """An analysis.

    Parameters
    ----------
    title
        What the tables call it.
    peers
        Libraries that have it.
    is_parallel
        Whether MDAnalysis can run it in several processes.
    step
        Every how many frames are analysed, where peers take minutes for all.
    system
        Of which system.
    """

    title: str
    peers: tuple[str, ...]
    is_parallel: bool = False
    step: int = 1
    system: str = "adk"


LABELS = {"mdanalysis": "MDAnalysis", "mdtraj": "mdtraj", "gmx": "GROMACS (whole program)", "freud": "freud"}
NEEDS = {"mdanalysis": "python:MDAnalysis", "mdtraj": "python:mdtraj", "gmx": "program:gmx", "freud": "python:freud"}

ONE_PASS = 1.15
"""What three analyses in one pass may cost, against the costliest reading and the computing of all."""

QUESTIONS = {
    "rmsd": Question("RMSD of Cα atoms, superposed", ("mdanalysis", "mdtraj", "gmx"), is_parallel=True),
    "rmsf": Question("RMSF of Cα atoms, as they are", ("mdanalysis", "gmx")),
    "rmsf-superposed": Question("RMSF of Cα atoms, superposed", ("mdanalysis", "mdtraj", "gmx")),
    "rg": Question("Radius of gyration of a protein", ("mdanalysis", "mdtraj", "gmx"), is_parallel=True),
    "dihedrals": Question("Dihedral angles phi and psi", ("mdanalysis", "mdtraj", "gmx"), is_parallel=True),
    "distances": Question("Distances of all pairs of Cα: mean, variance, contacts", ("mdanalysis", "mdtraj")),
    "dssp": Question("Secondary structure, three states", ("mdanalysis",), is_parallel=True, step=10),
    "dssp8": Question("Secondary structure, eight states", ("mdtraj",), step=50),
    "rdf": Question(
        "Radial distribution of oxygen in water", ("mdanalysis", "mdtraj", "gmx", "freud"), step=200, system="water"
    ),
    "sasa": Question("Solvent accessible surface area of a protein", ("mdtraj", "gmx"), step=1000),
    "contacts": Question("Native contacts of charged atoms", ("mdanalysis",), is_parallel=True),
    "pca": Question("PCA of Cα atoms", ("mdanalysis", "gmx")),
    "msd": Question("Mean square displacement of oxygen in water", ("mdanalysis", "freud"), system="water"),
    "msd-protein": Question("Mean square displacement of Cα atoms", ("mdanalysis", "freud", "gmx"), step=25),
    "linear-density": Question(
        "Mass and charge of water along the axes", ("mdanalysis",), is_parallel=True, step=10, system="water"
    ),
    "hbonds": Question("Hydrogen bonds of water", ("mdanalysis", "gmx"), is_parallel=True, step=50, system="water"),
    "hbonds-protein": Question("Hydrogen bonds in a protein", ("mdanalysis", "mdtraj"), is_parallel=True, step=10),
}
"""The analyses by what a job calls them."""


def _analysis(what: str, system: System, name: str) -> Case:
    question = QUESTIONS[what]
    contenders = []
    for n_workers in (1, 2):
        label = f"mdreel, {n_workers} thread{'s' if n_workers > 1 else ''}"
        made = _contender("mdreel", label, system, what, "threads", n_workers, "python:mdreel")
        contenders.append(replace(made, kind="ours", key=f"mdreel-{n_workers}", family=f"mdreel-{n_workers}"))
    contenders += [_contender(peer, LABELS[peer], system, what, "serial", 1, NEEDS[peer]) for peer in question.peers]
    if question.is_parallel:
        label = 'MDAnalysis, backend="multiprocessing", 2 processes'
        made = _contender("mdanalysis", label, system, what, "multiprocessing", 2, NEEDS["mdanalysis"])
        contenders.append(replace(made, family="mdanalysis-2"))
    peers = tuple(one.key for one in contenders if one.kind == "peer")
    goals = tuple(
        Goal(f"{cores} against the best of the others", peers, (f"mdreel-{n}",), 1.0)
        for n, cores in ((1, "1 thread"), (2, "2 threads"))
    )
    analysed = replace(system, n_frames=-(-system.n_frames // question.step))
    return Case(name, question.title, analysed, "xtc", tuple(contenders), goals)


def _contender(library: str, label: str, system: System, what: str, way: str, n_workers: int, needs: str) -> Contender:
    work = replace(job(system, "xtc", what=what, way=way, n_workers=n_workers), step=QUESTIONS[what].step)
    return python(f"analyses.{library}", label, work, n_workers, family=library, needs=needs)


def _one_pass(system: System, name: str) -> Case:
    def contender(way: str, text: str, kind: str) -> Contender:
        work = job(system, "xtc", what="one-pass", way=way)
        made = python("analyses.one_pass", text, work, family=way, needs="python:mdreel")
        return replace(made, key=way, kind=kind)

    contenders = (
        contender("together", "mdreel, RMSD of Cα, radius of gyration, phi and psi in one pass, serial", "ours"),
        contender("apart", "floor: the costliest reading of the three alone, and the computing of all", "floor"),
    )
    goals = (Goal("one pass against its floor", ("together",), ("apart",), ONE_PASS, at_least=False),)
    return Case(name, "Three analyses in one pass", system, "xtc", contenders, goals)


ANALYSES = {
    **{f"analysis-{what}": Plan(one.system, ("xtc",), partial(_analysis, what)) for what, one in QUESTIONS.items()},
    "one-pass": Plan("adk", ("xtc",), _one_pass),
}
"""The cases by name."""
