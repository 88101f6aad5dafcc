"""GROMACS: a program for each analysis; its start-up counts, as it does for whoever calls it."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from peers.job import ANGSTROM_PER_NM, Found, Job, Work, measure

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt


def prepare(job: Job) -> Work:
    """Write the index file, with the wanted atoms as its only group."""
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    with XTCFile(job.trajectory) as file:  # GROMACS does not say how many frames it has read
        n_frames = len(file)
    folder = tempfile.TemporaryDirectory()
    where = Path(folder.name)
    program, options, atoms, value_of = ANALYSES[job.what]
    index = where / "selection.ndx"
    index.write_text("[ selection ]\n" + "".join(f"{number + 1}\n" for number in atoms(job)))
    command = ["gmx", "-nobackup", program, "-s", job.reference, "-f", job.trajectory, "-n", str(index)]
    command += ["-o", "out.xvg", "-xvg", "none", *options]

    def work() -> Found:
        with folder:
            subprocess.run(command, input="0\n", text=True, check=True, capture_output=True, cwd=where)
            table = np.loadtxt(where / "out.xvg")
        return Found(n_frames, float(value_of(table)))

    return work


def _selected(job: Job) -> npt.NDArray[np.intp]:
    return job.indices()


def _protein(job: Job) -> npt.NDArray[np.intp]:
    import MDAnalysis as mda

    atoms: npt.NDArray[np.intp] = mda.Universe(job.reference).select_atoms("protein").ix
    return atoms


def _second(table: Any) -> float:
    return ANGSTROM_PER_NM * float(table[:, 1].mean())


ANALYSES: dict[str, tuple[str, tuple[str, ...], Callable[[Job], npt.NDArray[np.intp]], Callable[[Any], float]]] = {
    "rmsf": ("rmsf", ("-nofit",), _selected, _second),
    "rg": ("gyrate", (), _protein, _second),
}
"""Program, options, atoms, and the number in which all of its table takes part."""


if __name__ == "__main__":
    measure(prepare)
