"""Comparison of solvent accessible surface areas with mdtraj and GROMACS."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import MDAnalysis
import mdtraj
import numpy as np
from comparison import Compared, apart, loaded_by_mdtraj, systems

import mdreel
from mdreel.analysis.topology.radii import RADII, radii_of

STEP = 25
N_POINTS, PROBE = 960, 1.4
FEW_POINTS = 3  # number of the 960 points of an atom that single precision may move across an edge


def compare(folder: Path) -> Iterator[Compared]:
    """Run all comparisons with files in a folder."""
    has_gmx = shutil.which("gmx") is not None
    if not has_gmx:
        print("gmx is not installed: not compared", file=sys.stderr)
    for name, universe, protein in systems():
        alone, loaded = loaded_by_mdtraj(universe, protein, folder)
        step = min(STEP, len(loaded) // 2)
        yield from with_mdtraj(name, alone.atoms, loaded[::step], step)
        if has_gmx:
            yield from with_gmx(name, alone.atoms, step, folder)


def with_mdtraj(name: str, atoms: MDAnalysis.AtomGroup, loaded: mdtraj.Trajectory, step: int) -> Iterator[Compared]:
    """Compare with mdtraj, which has the same points in single precision."""
    note = f"number of points, out of 960 per atom; the peer computes in single precision; every {step}th frame"
    areas = mdreel.SASA(atoms, PROBE, N_POINTS).run(step=step).results
    # Frame by frame, because mdtraj 1.11 returns slightly too large areas for all but the first frame of each thread.
    theirs = 100 * np.concatenate([mdtraj.shrake_rupley(frame, PROBE / 10, N_POINTS) for frame in loaded])
    of_point = 4 * np.pi * (radii_of(atoms, None) + PROBE) ** 2 / N_POINTS
    yield Compared("SASA", name, "mdtraj", apart(areas.sasa / of_point, theirs / of_point), FEW_POINTS, "", note)
    total = apart(areas.total_area / theirs.sum(axis=1, dtype=float), 1.0)
    yield Compared("SASA, total", name, "mdtraj", total, 3e-4, "relative", "the peer computes in single precision")


def with_gmx(name: str, atoms: MDAnalysis.AtomGroup, step: int, folder: Path) -> Iterator[Compared]:
    """Compare with GROMACS, which uses other points on the spheres."""
    structure, trajectory, output = folder / "surface.pdb", folder / "surface.xtc", folder / "area.xvg"
    atoms.universe.trajectory[0]
    atoms.write(structure)
    atoms.write(trajectory, frames=atoms.universe.trajectory[::step])
    # Elements from the first letter of the names, which is valid for proteins; otherwise CA could be calcium.
    table = "".join(f"??? {element} {RADII[element] / 10}\n" for element in "HCNOS")
    (folder / "vdwradii.dat").write_text(table)
    command = ["gmx", "-nobackup", "sasa", "-s", structure, "-f", trajectory, "-o", output, "-surface", "all"]
    command += ["-probe", str(PROBE / 10), "-ndots", str(N_POINTS), "-nopbc", "-xvg", "none"]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    theirs = 100 * np.loadtxt(output, ndmin=2)[:, 1]
    ours = mdreel.SASA(atoms, PROBE, N_POINTS, "total", trajectory=trajectory).run().results.total_area
    note = "the peer uses different points on its spheres"
    yield Compared("SASA, total", name, "gmx", apart(ours / theirs, 1.0), 5e-3, "relative", note)
