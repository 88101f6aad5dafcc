"""A small peptide: its topology, its positions in each frame, and trajectories of it in files and in memory."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import MDAnalysis
import numpy as np
from MDAnalysis.lib.formats.libdcd import DCDFile
from MDAnalysis.lib.formats.libmdaxdr import XTCFile
from MDAnalysisTests.datafiles import DCD, PSF

from mdreel._core import Source

N_RESIDUES = 14
CELL = 60.0  # Å


@cache
def peptide_positions() -> np.ndarray:
    """Positions of the first residues of adenylate kinase, shape (98, n_atoms, 3), float32, Å."""
    n_atoms = len(first_residues())
    with DCDFile(DCD) as file:
        return np.asarray(file.readframes().xyz[:, :n_atoms], np.float32)


@cache
def first_residues() -> MDAnalysis.AtomGroup:
    """The first residues of adenylate kinase."""
    return MDAnalysis.Universe(PSF, DCD).select_atoms(f"resid 1:{N_RESIDUES}")


def peptide(order: np.ndarray | None = None) -> MDAnalysis.Universe:
    """The first residues of adenylate kinase: a topology, whose atoms may be numbered in another order."""
    atoms = first_residues()
    return MDAnalysis.Merge(atoms if order is None else atoms[order])


def write_peptide(path: Path, n_frames: int, first: int = 0) -> None:
    """Write an XTC file of as many frames: those of the peptide again and again, with noise, in a cell."""
    positions, rng = peptide_positions(), np.random.default_rng(5)
    with XTCFile(str(path), "w") as file:
        for i in range(first, first + n_frames):
            frame = positions[i % len(positions)] + rng.normal(0, 0.1, positions.shape[1:])
            file.write(frame.astype(np.float32) / 10, np.eye(3, dtype=np.float32) * CELL / 10, i, float(i), 1000)


@dataclass(frozen=True)
class System:
    """A peptide and its trajectory."""

    universe: MDAnalysis.Universe
    trajectory: Path | list[Path] | Source

    def pick(self, selection: str = "all") -> MDAnalysis.AtomGroup:
        """Atoms in the order of the residues, however they are numbered."""
        atoms = self.universe.select_atoms(selection)
        return atoms[np.argsort(atoms.ids)]


def in_memory(positions: np.ndarray, cells: np.ndarray | None = None) -> Source:
    """Frames in memory, in the cell of the files unless others are given."""
    if cells is None:
        cells = np.tile(np.array([CELL, CELL, CELL, 90, 90, 90], np.float32), (len(positions), 1))
    return Source.memory(np.ascontiguousarray(positions, np.float32), np.arange(len(positions), dtype=float), cells)
