"""What other programs take for the RMSD: each as its documentation has it, with what may be done beforehand done."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from mdreel_lab.bench.result import Order, Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Series: TypeAlias = NDArray[np.float64]
    Indices: TypeAlias = NDArray[np.integer]
"""The RMSD of each frame, shape (n_frames,), Å; indices of atoms, shape (n_atoms,), 0-based."""

ANGSTROM_PER_NM = 10.0

CHUNK = 1000
"""Frames that mdtraj's ``iterload`` takes at a time: fewer take longer, and more were not measurably faster."""


def rmsd_of_peer(order: Order) -> Result:
    """Have a program compute the RMSD."""
    import MDAnalysis as mda

    point, (path,) = order.point, order.paths
    indices = mda.Universe(str(order.topology)).select_atoms(point.selection).ix
    if point.program == "mdanalysis":
        work = mdanalysis_rmsd(order.topology, path, indices, point.executor, point.n_workers)
    elif point.program == "mdtraj":
        work = mdtraj_rmsd(order.reference, path, indices)
    else:
        work = gmx_rmsd(order.reference, path, indices)
    began = perf_counter()
    series = work()
    return Result(perf_counter() - began, float(series.mean()))


def mdanalysis_rmsd(
    topology: Path, trajectory: Path, indices: Indices, way: str, n_workers: int
) -> Callable[[], Series]:
    """Prepare MDAnalysis's ``RMSD.run`` on one of its backends: `serial`, `multiprocessing` or `dask`."""
    import MDAnalysis as mda
    from MDAnalysis.analysis.rms import RMSD

    if way == "dask":
        import dask.multiprocessing  # noqa: F401 (not part of what is timed)
    universe = mda.Universe(str(topology))

    def rmsd() -> Series:
        universe.load_new(str(trajectory))
        analysis = RMSD(universe.atoms[indices])
        if way == "serial":
            analysis.run()
        else:
            analysis.run(backend=way, n_workers=n_workers)
        series: Series = analysis.results.rmsd[:, 2]
        return series

    return rmsd


def mdtraj_rmsd(reference: Path, trajectory: Path, indices: Indices) -> Callable[[], Series]:
    """Prepare mdtraj's ``iterload`` of the atoms and its ``rmsd``."""
    import mdtraj

    topology = mdtraj.load_topology(str(reference))

    def rmsd() -> Series:
        parts = []
        first = None
        for chunk in mdtraj.iterload(str(trajectory), chunk=CHUNK, top=topology, atom_indices=indices):
            first = chunk[0] if first is None else first
            parts.append(mdtraj.rmsd(chunk, first, 0))
        return np.concatenate(parts).astype(np.float64) * ANGSTROM_PER_NM

    return rmsd


def gmx_rmsd(reference: Path, trajectory: Path, indices: Indices) -> Callable[[], Series]:
    """Prepare ``gmx rms``, run as a program: its start-up counts, as it does for whoever calls it."""
    folder = tempfile.TemporaryDirectory()
    index, output = Path(folder.name, "selection.ndx"), Path(folder.name, "rmsd.xvg")
    index.write_text("[ selection ]\n" + "".join(f"{number + 1}\n" for number in indices))
    command = ["gmx", "-quiet", "-nobackup", "rms", "-s", str(reference), "-f", str(trajectory), "-n", str(index)]
    # Without -nopbc it would look for molecules broken over the box; -mw no gives every atom the same weight.
    command += ["-o", str(output), "-xvg", "none", "-fit", "rot+trans", "-mw", "no", "-nopbc"]

    def rmsd() -> Series:
        with folder:
            subprocess.run(command, input="0\n0\n", text=True, check=True, capture_output=True)
            series: Series = np.loadtxt(output)[:, 1] * ANGSTROM_PER_NM
            return series

    return rmsd
