"""Comparison of secondary structure with MDAnalysis and mdtraj."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import MDAnalysis
import mdtraj
import numpy as np
from comparison import Compared, systems
from MDAnalysis.analysis.dssp import DSSP
from MDAnalysis.transformations import unwrap

import mdreel

MOST = 5
"""Number of residues in all frames that single precision may move across a threshold."""


def compare(folder: Path) -> Iterator[Compared]:
    """Run all comparisons with files in a folder."""
    for name, universe, protein in systems():
        # The peers do not make molecules whole.
        whole = MDAnalysis.Universe(universe.filename, universe.trajectory.filename)
        if universe.dimensions is not None:
            whole.trajectory.add_transformations(unwrap(whole.select_atoms("protein")))
        yield from three_states(name, protein, whole.atoms[protein.ix])
        yield eight_states(name, protein, whole.atoms[protein.ix], folder)


def three_states(name: str, protein: MDAnalysis.AtomGroup, whole: MDAnalysis.AtomGroup) -> Iterator[Compared]:
    """Compare with MDAnalysis."""
    for guess, title in ((True, "DSSP, three states"), (False, "DSSP, three states, hydrogens in the trajectory")):
        ours, theirs = mdreel.DSSP(protein, guess).run().results, DSSP(whole, guess).run().results
        n_other = (ours.dssp_ndarray != theirs.dssp_ndarray).any(axis=2) | (ours.dssp != theirs.dssp)
        yield Compared(title, name, "MDAnalysis", float(n_other.sum()), 0, "residues", f"of {n_other.size:,} in all")


def eight_states(name: str, protein: MDAnalysis.AtomGroup, whole: MDAnalysis.AtomGroup, folder: Path) -> Compared:
    """Compare with mdtraj."""
    structure, trajectory = folder / "dssp.pdb", folder / "dssp.dcd"
    whole.universe.trajectory[0]
    whole.write(structure)
    with MDAnalysis.Writer(str(trajectory), len(whole)) as writer:
        for _ in whole.universe.trajectory:
            writer.write(whole)
    theirs = mdtraj.compute_dssp(mdtraj.load(trajectory, top=structure), simplified=False)
    ours = mdreel.DSSP(protein, method="kabsch-sander").run().results.dssp
    differs = (ours != np.where(theirs == " ", "-", theirs)) & (theirs != "NA")
    note = f"of {differs.size:,} in all; the peer computes in single precision"
    return Compared("DSSP, eight states", name, "mdtraj", float(differs.sum()), MOST, "residues", note)
