"""GROMACS: a program for each analysis; its start-up counts, as it does for whoever calls it."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from peers.analyses.questions import FARTHEST, N_BINS, N_SPHERE_POINTS, OXYGEN, PROBE
from peers.job import ANGSTROM_PER_NM, RELATIVE, Found, Job, Work, measure

if TYPE_CHECKING:
    import numpy.typing as npt

RADII = {"H": 0.12, "C": 0.17, "N": 0.155, "O": 0.152, "S": 0.18}
"""Of the elements of a protein, nm: those of Bondi, as the others have them."""


@dataclass(frozen=True)
class Program:
    """One of its programs.

    Parameters
    ----------
    name, options
        What is called.
    atoms
        The group of its index file.
    value_of
        The number in which all of its table takes part.
    within
        How far that may lie from what others find.
    """

    name: str
    options: tuple[str, ...]
    atoms: Callable[[Job], npt.NDArray[np.intp]]
    value_of: Callable[[Any], float]
    within: float = RELATIVE


def prepare(job: Job) -> Work:
    """Write the index file, with the wanted atoms as its only group."""
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    with XTCFile(job.trajectory) as file:  # GROMACS does not say how many frames it has read
        n_frames = -(-len(file) // job.step)
        first, second = file.read().time, file.read().time
    folder = tempfile.TemporaryDirectory()
    where = Path(folder.name)
    program = PROGRAMS[job.what]
    index = where / "selection.ndx"
    index.write_text("[ selection ]\n" + "".join(f"{number + 1}\n" for number in program.atoms(job)))
    command = ["gmx", "-nobackup", program.name, "-s", job.reference, "-f", job.trajectory, "-n", str(index)]
    command += ["-o", "out.xvg", "-xvg", "none", *program.options]
    if job.step > 1:
        command += ["-dt", str(job.step * (second - first))]
    (where / "vdwradii.dat").write_text("".join(f"??? {element} {radius}\n" for element, radius in RADII.items()))

    def work() -> Found:
        with folder:
            subprocess.run(command, input="0\n", text=True, check=True, capture_output=True, cwd=where)
            table = np.atleast_2d(np.loadtxt(where / "out.xvg"))
        return Found(n_frames, float(program.value_of(table)), within=program.within)

    return work


def _selected(job: Job) -> npt.NDArray[np.intp]:
    return job.indices()


def _protein(job: Job) -> npt.NDArray[np.intp]:
    import MDAnalysis as mda

    atoms: npt.NDArray[np.intp] = mda.Universe(job.reference).select_atoms("protein").ix
    return atoms


def _second(table: Any) -> float:
    return ANGSTROM_PER_NM * float(table[:, 1].mean())


def _water(job: Job) -> npt.NDArray[np.intp]:
    import MDAnalysis as mda

    atoms: npt.NDArray[np.intp] = mda.Universe(job.topology).select_atoms(OXYGEN).ix
    return atoms


def _largest(table: Any) -> float:
    return ANGSTROM_PER_NM**2 * float(table[:10, 1].sum())


def _area(table: Any) -> float:
    return ANGSTROM_PER_NM**2 * float(table[:, 1].mean())


_OF_EACH_OTHER = ("-ref", "group selection", "-sel", "group selection")
_BINS = ("-rmax", str(FARTHEST / ANGSTROM_PER_NM), "-bin", str(FARTHEST / ANGSTROM_PER_NM / N_BINS))
_POINTS = ("-surface", "0", "-nopbc", "-probe", str(PROBE / ANGSTROM_PER_NM), "-ndots", str(N_SPHERE_POINTS))

PROGRAMS = {
    "rmsf": Program("rmsf", ("-nofit",), _selected, _second),
    "rg": Program("gyrate", (), _protein, _second),
    # Its bins are centred where those of others end.
    "rdf": Program("rdf", (*_OF_EACH_OTHER, *_BINS), _water, lambda table: table[1:, 1].mean(), within=2e-2),
    "pca": Program("covar", ("-nofit", "-nopbc"), _selected, _largest),
    # The points on its spheres are others.
    "sasa": Program("sasa", _POINTS, _protein, _area, within=1e-2),
}
"""The programs by analysis."""


if __name__ == "__main__":
    measure(prepare)
