"""GROMACS: a program for each analysis, whose start-up counts, as it does for its users."""

import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mdreel_lab.bench.peers import questions as ask
from mdreel_lab.bench.peers.job import ANGSTROM_PER_NM, RELATIVE, Found, Indices, Job, Series, Work

RADII = {"H": 0.12, "C": 0.17, "N": 0.155, "O": 0.152, "S": 0.18}
"""Bondi's radii of the elements of a protein, nm, which the other libraries use."""


@dataclass(frozen=True)
class Program:
    """A program of GROMACS.

    Attributes
    ----------
    atoms
        Returns the group of its index file.
    value_of
        Returns the number to which every part of its table contributes.
    structure
        Returns the file of its ``-s``; None for a program without that option.
    output
        Its option for the table.
    """

    name: str
    options: tuple[str, ...]
    atoms: Callable[[Job], Indices]
    value_of: Callable[[Any], float]
    within: float = RELATIVE
    structure: Callable[[Job], str] | None = lambda job: job.reference
    output: str = "-o"


def prepare(job: Job) -> Work:
    """Write the index file, with the selected atoms as its only group."""
    n_frames, spacing = (0, 0.0) if job.what == "rmsd" else _frames(job)
    folder = tempfile.TemporaryDirectory()
    where = Path(folder.name)
    program = PROGRAMS[job.what]
    index = where / "selection.ndx"
    index.write_text("[ selection ]\n" + "".join(f"{number + 1}\n" for number in program.atoms(job)))
    command = ["gmx", "-quiet", "-nobackup", program.name, "-f", job.trajectory, "-n", str(index)]
    command += [program.output, "out.xvg", "-xvg", "none", *program.options]
    if program.structure is not None:
        command += ["-s", program.structure(job)]
    if job.step > 1:
        command += ["-dt", str(job.step * spacing)]
    (where / "vdwradii.dat").write_text("".join(f"??? {element} {radius}\n" for element, radius in RADII.items()))

    def work() -> Found | Series:
        with folder:
            subprocess.run(command, input="0\n0\n", text=True, check=True, capture_output=True, cwd=where)
            table = np.atleast_2d(np.loadtxt(where / "out.xvg"))
        if job.what == "rmsd":
            return np.asarray(table[:, 1] * ANGSTROM_PER_NM, np.float64)
        return Found(n_frames, float(program.value_of(table)), within=program.within)

    return work


def _frames(job: Job) -> tuple[int, float]:
    """Return how many frames are analysed, which GROMACS does not report, and the time between two of the file, ps."""
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    with XTCFile(job.trajectory) as file:
        n_frames = -(-len(file) // job.step)
        first, second = file.read().time, file.read().time
    return n_frames, second - first


def _protein(job: Job) -> Indices:
    import MDAnalysis as mda

    atoms: Indices = mda.Universe(job.reference).select_atoms("protein").ix
    return atoms


def _second(table: Any) -> float:
    return ANGSTROM_PER_NM * float(table[:, 1].mean())


def _quadruples(job: Job) -> Indices:
    import MDAnalysis as mda
    from MDAnalysis.analysis.dihedrals import Ramachandran

    of = Ramachandran(mda.Universe(job.topology, job.reference).select_atoms("protein"))
    five = np.stack([group.ix for group in (of.ag1, of.ag2, of.ag3, of.ag4, of.ag5)], axis=1)
    return np.concatenate([five[:, :4], five[:, 1:]]).ravel()


def _of_distribution(table: Any) -> float:
    return float(np.average(np.abs(table[:, 0]), weights=table[:, 1]))


def _run_input(_: Job) -> str:
    from MDAnalysisTests.datafiles import TPR

    return str(TPR)


def _squares(table: Any) -> float:
    return ANGSTROM_PER_NM**2 * float(table[:, 1].mean())


_OF_EACH_OTHER = ("-ref", "group selection", "-sel", "group selection")
_BINS = ("-rmax", str(ask.FARTHEST / ANGSTROM_PER_NM), "-bin", str(ask.FARTHEST / ANGSTROM_PER_NM / ask.N_BINS))
_POINTS = ("-surface", "0", "-nopbc", "-probe", str(ask.PROBE / ANGSTROM_PER_NM), "-ndots", str(ask.N_SPHERE_POINTS))
_EACH_LAG = ("-trestart", "1", "-sel", "group selection")  # ps: each frame is a beginning
_HYDROGEN_BOND = ("-r", "0.3", "-a", "20", "-nthreads", "1")

PROGRAMS = {
    # Without -nopbc it would look for molecules broken over the box; -mw no gives every atom the same weight.
    "rmsd": Program("rms", ("-fit", "rot+trans", "-mw", "no", "-nopbc"), Job.indices, _second),
    "rmsf": Program("rmsf", ("-nofit",), Job.indices, _second),
    "rmsf-superposed": Program("rmsf", (), Job.indices, _second),
    "rg": Program("gyrate", (), _protein, _second),
    # The distribution is all that it writes: as a table of 426 angles a frame it takes much longer.
    "dihedrals": Program("angle", ("-type", "dihedral"), _quadruples, _of_distribution, 5e-3, None, "-od"),
    # Its bins are centred where those of others end.
    "rdf": Program(
        "rdf", (*_OF_EACH_OTHER, *_BINS), lambda job: job.select(ask.OXYGEN), lambda table: table[1:, 1].mean(), 2e-2
    ),
    "pca": Program(
        "covar", ("-nofit", "-nopbc"), Job.indices, lambda table: ANGSTROM_PER_NM**2 * float(table[:10, 1].sum())
    ),
    # It also writes the matrix as a picture, and may choose another centre of as many neighbours.
    "clusters": Program(
        "cluster",
        ("-method", "gromos", "-cutoff", str(ask.CLUSTER / ANGSTROM_PER_NM)),
        Job.indices,
        lambda table: ask.mean_size(table[:, 1]),
        within=2e-2,
        output="-sz",
    ),
    # The points on its spheres are others.
    "sasa": Program("sasa", _POINTS, _protein, _squares, within=1e-2),
    # It undoes jumps, as its -nopbc ends in a segmentation fault: it has no part in "msd", where water jumps.
    "msd-protein": Program("msd", _EACH_LAG, Job.indices, _squares),
    # Its angle is at the donor: 20 degrees there are 150 at the hydrogen of a bond of 2.8 Å.
    "hbonds": Program(
        "hbond",
        _HYDROGEN_BOND,
        lambda job: job.select("resname SOL"),
        lambda table: table[:, 1].sum(),
        within=0.2,
        structure=_run_input,
        output="-num",
    ),
}
"""The programs by analysis."""
