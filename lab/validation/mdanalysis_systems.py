"""Small systems, and a constructor of each analysis of MDAnalysis for one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
from MDAnalysisTests import datafiles

N_FRAMES = 4


@dataclass(frozen=True)
class Systems:
    """A protein, RNA and water, each a topology and a short trajectory that our readers read.

    Attributes
    ----------
    folder : Path
        Folder for the files.
    """

    folder: Path

    @property
    def protein(self) -> Any:
        """AdK, a few frames."""
        return mda.Universe(datafiles.PSF, str(self._written("adk", datafiles.PSF, datafiles.DCD)))

    @property
    def rna(self) -> Any:
        """A strand of RNA with small displacements from frame to frame."""
        return mda.Universe(datafiles.RNA_PSF, str(self._written("rna", datafiles.RNA_PSF, datafiles.RNA_PDB)))

    @property
    def water(self) -> Any:
        """Five molecules of water in a box."""
        return mda.Universe(datafiles.waterPSF, datafiles.waterDCD)

    def _written(self, name: str, topology: str, trajectory: str) -> Path:
        """Write some frames of a trajectory as XTC, unless the file exists."""
        path = self.folder / f"{name}.xtc"
        if not path.exists():
            universe, noise = mda.Universe(topology, trajectory), np.random.default_rng(1)
            step = max(len(universe.trajectory) // N_FRAMES, 1)
            with mda.Writer(str(path), len(universe.atoms)) as file:
                for i in range(N_FRAMES):
                    universe.trajectory[min(i * step, len(universe.trajectory) - 1)]
                    if len(universe.trajectory) == 1:
                        universe.atoms.positions += noise.normal(0, 0.1, (len(universe.atoms), 3))
                    universe.dimensions = [100, 100, 100, 90, 90, 90]
                    file.write(universe.atoms)
        return path


def _strands(kind: Any, universe: Any) -> Any:
    guanines, cytosines = (universe.select_atoms(f"resname {name}").residues for name in ("GUA", "CYT"))
    return kind(guanines[:3], cytosines[:3], g_name="GUA", c_name="CYT")


def _contacts(kind: Any, universe: Any) -> Any:
    bases, acids = "(resname ARG LYS) and name NH* NZ", "(resname ASP GLU) and name OE* OD*"
    groups = universe.select_atoms(bases), universe.select_atoms(acids)
    return kind(universe, select=(bases, acids), refgroup=groups, radius=6.0)


def _hydrogen_bonds(kind: Any, universe: Any) -> Any:
    return kind(universe, None, "name H1 H2", "name OH2", d_a_cutoff=4.0)


def _water_bridges(kind: Any, universe: Any) -> Any:
    names = {"water_selection": "resid 3 4 5", "forcefield": "CHARMM27"}
    return kind(universe, selection1="resid 1", selection2="resid 2", **names)


def _pairs(kind: Any, universe: Any) -> Any:
    return kind([universe.atoms[[i]] for i in range(5)], [universe.atoms[[i]] for i in range(9, 14)])


def _chains(kind: Any, universe: Any) -> Any:
    return kind([universe.select_atoms(f"name CA and resid {first}-{first + 49}") for first in (1, 60)])


def _density(kind: Any, universe: Any) -> Any:
    return kind(universe.select_atoms("name OH2"), gridcenter=[0, 0, 0], xdim=20, ydim=20, zdim=20)


def _centre(atoms: Any) -> Any:
    return atoms.center_of_geometry()


def _select(kind: Any, universe: Any) -> Any:
    return kind(universe, select="name CA")


MAKERS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "AlignTraj": ("protein", lambda kind, u: kind(u, u.copy(), select="name CA", in_memory=True)),
    "AnalysisFromFunction": ("water", lambda kind, u: kind(_centre, u.trajectory, u.atoms)),
    "AtomicDistances": ("protein", lambda kind, u: kind(u.atoms[:20], u.atoms[20:40])),
    "AverageStructure": ("protein", lambda kind, u: kind(u, u.copy(), select="name CA")),
    "BAT": ("protein", lambda kind, u: kind(u.select_atoms("resid 1-3"))),
    "Contacts": ("protein", _contacts),
    "DSSP": ("protein", lambda kind, u: kind(u)),
    "DensityAnalysis": ("water", _density),
    "DielectricConstant": ("water", lambda kind, u: kind(u.atoms, make_whole=False)),
    "Dihedral": ("protein", lambda kind, u: kind([residue.phi_selection() for residue in u.residues[1:9]])),
    "DistanceMatrix": ("protein", _select),
    "EinsteinMSD": ("protein", lambda kind, u: kind(u, select="name CA", fft=False)),
    "GNMAnalysis": ("protein", _select),
    "HELANAL": ("protein", lambda kind, u: kind(u, select="name CA and resid 161-187")),
    "HydrogenBondAnalysis": ("water", _hydrogen_bonds),
    "InterRDF": ("water", lambda kind, u: kind(u.atoms, u.atoms, nbins=20)),
    "InterRDF_s": ("water", lambda kind, u: kind(u, [[u.atoms[[0, 3]], u.atoms[[6, 9]]]], nbins=20)),
    "Janin": ("protein", lambda kind, u: kind(u.select_atoms("resid 5-40"))),
    "LinearDensity": ("protein", lambda kind, u: kind(u.select_atoms("name CA"), binsize=5)),
    "MajorPairDist": ("rna", _strands),
    "MinorPairDist": ("rna", _strands),
    "NucPairDist": ("rna", _pairs),
    "PCA": ("protein", lambda kind, u: kind(u, select="name CA and resid 1-30")),
    "PersistenceLength": ("protein", _chains),
    "RMSD": ("protein", _select),
    "RMSF": ("protein", lambda kind, u: kind(u.select_atoms("name CA"))),
    "Ramachandran": ("protein", lambda kind, u: kind(u.residues[1:20])),
    "WaterBridgeAnalysis": ("water", _water_bridges),
    "WatsonCrickDist": ("rna", _strands),
    "closeContactGNMAnalysis": ("protein", lambda kind, u: kind(u, select="protein and resid 1-30")),
}
"""System and constructor of each class, by its name."""


def made(kind: type, systems: Systems) -> Any:
    """Make an analysis of a small system; raise an error for an unknown class."""
    system, make = MAKERS[kind.__name__]
    return make(kind, getattr(systems, system))
