"""Systems, differences and tolerances, shared by all comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import MDAnalysis
import mdtraj
import numpy as np
from MDAnalysisTests import datafiles

SYSTEMS = {
    "AdK": (datafiles.PSF, datafiles.DCD, "adenylate kinase in vacuum, 98 frames (DCD)"),
    "AdK in water": (
        datafiles.TPR,
        datafiles.XTC,
        "adenylate kinase in a triclinic cell (rhombic dodecahedron) filled with water, 10 frames (XTC)",
    ),
    "AdK, cut": (datafiles.PSF, datafiles.DCD, "the first system without residues 50 to 60 and 120 to 124"),
}
EXACT, SINGLE, ANGLE = 1e-6, 1e-4, 1e-4


@dataclass(frozen=True)
class Compared:
    """A comparison: the largest difference found, and the largest allowed."""

    analysis: str
    system: str
    peer: str
    found: float
    bound: float
    unit: str
    note: str = ""


def thin_out(every: int, folder: Path) -> None:
    """Replace the long trajectory by a file of every so many frames of it."""
    universe, path = MDAnalysis.Universe(datafiles.PSF, datafiles.DCD), folder / "thin.dcd"
    universe.atoms.write(path, frames=universe.trajectory[::every])
    for name, (topology, trajectory, text) in tuple(SYSTEMS.items()):
        if trajectory == datafiles.DCD:
            SYSTEMS[name] = (topology, str(path), text)


def systems() -> Iterator[tuple[str, MDAnalysis.Universe, MDAnalysis.AtomGroup]]:
    """Yield the name, Universe and protein of each system."""
    for name, (topology, trajectory, _) in SYSTEMS.items():
        universe = MDAnalysis.Universe(topology, trajectory)
        protein = universe.select_atoms("protein")
        if name.endswith("cut"):
            protein = protein.select_atoms("not resid 50:60 and not resid 120:124")
        yield name, universe, protein


def apart(ours: Any, theirs: Any) -> float:
    """Return the largest difference."""
    return float(np.abs(np.asarray(ours, float) - np.asarray(theirs, float)).max())


def apart_round(ours: Any, theirs: Any) -> float:
    """Return the largest difference of angles in degrees, with their period of 360."""
    difference = np.abs(np.asarray(ours, float) - np.asarray(theirs, float)) % 360
    return float(np.minimum(difference, 360 - difference).max())


def loaded_by_mdtraj(
    universe: MDAnalysis.Universe, protein: MDAnalysis.AtomGroup, folder: Path
) -> tuple[MDAnalysis.Universe, mdtraj.Trajectory]:
    """Write a protein to files in a folder, and return it as a Universe and as a trajectory of mdtraj."""
    structure, trajectory = folder / "protein.pdb", folder / "protein.dcd"
    universe.trajectory[0]
    protein.write(structure)
    with MDAnalysis.Writer(str(trajectory), len(protein)) as writer:
        for _ in universe.trajectory:
            writer.write(protein)
    return MDAnalysis.Universe(structure, trajectory), mdtraj.load(trajectory, top=structure)
