"""GROMACS: a program for each analysis; its start-up counts, as it does for whoever calls it."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from peers.analyses.questions import FARTHEST, N_BINS, OXYGEN
from peers.job import ANGSTROM_PER_NM, RELATIVE, Found, Job, Work, measure

if TYPE_CHECKING:
    import numpy.typing as npt


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
    output
        The option that names the table.
    within
        How far that may lie from what others find.
    """

    name: str
    options: tuple[str, ...]
    atoms: Callable[[Job], npt.NDArray[np.intp]]
    value_of: Callable[[Any], float]
    output: str = "-o"
    within: float = RELATIVE


def prepare(job: Job) -> Work:
    """Write the index file, with the wanted atoms as its only group."""
    folder = tempfile.TemporaryDirectory()
    where = Path(folder.name)
    program = PROGRAMS[job.what]
    trajectory, n_frames = _thinned(job, where)
    index = where / "selection.ndx"
    index.write_text("[ selection ]\n" + "".join(f"{number + 1}\n" for number in program.atoms(job)))
    command = ["gmx", "-nobackup", program.name, "-s", job.reference, "-f", trajectory, "-n", str(index)]
    command += [program.output, "out.xvg", "-xvg", "none", *program.options]

    def work() -> Found:
        with folder:
            subprocess.run(command, input="0\n", text=True, check=True, capture_output=True, cwd=where)
            table = np.loadtxt(where / "out.xvg")
        return Found(n_frames, float(program.value_of(table)), within=program.within)

    return work


def _thinned(job: Job, folder: Path) -> tuple[str, int]:
    """Return a file of the wanted frames, and how many it has: its programs choose frames by time alone, or not."""
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    with XTCFile(job.trajectory) as whole:  # GROMACS does not say how many frames it has read
        if job.step == 1:
            return job.trajectory, len(whole)
        wanted = range(0, len(whole), job.step)
        with XTCFile(str(folder / "thinned.xtc"), "w") as thinned:
            for number in wanted:
                whole.seek(number)
                frame = whole.read()
                thinned.write(frame.x, frame.box, frame.step, frame.time, frame.prec)
    return str(folder / "thinned.xtc"), len(wanted)


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


_OF_EACH_OTHER = ("-ref", "group selection", "-sel", "group selection")
_BINS = ("-rmax", str(FARTHEST / ANGSTROM_PER_NM), "-bin", str(FARTHEST / ANGSTROM_PER_NM / N_BINS))

PROGRAMS = {
    "rmsf": Program("rmsf", ("-nofit",), _selected, _second),
    "rg": Program("gyrate", (), _protein, _second),
    # Its bins are centred where those of others end.
    "rdf": Program("rdf", (*_OF_EACH_OTHER, *_BINS), _water, lambda table: table[1:, 1].mean(), within=2e-2),
    "pca": Program("covar", ("-nofit", "-nopbc"), _selected, _largest),
}
"""The programs by analysis."""


if __name__ == "__main__":
    measure(prepare)
