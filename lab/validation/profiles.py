"""Comparison of profiles along axes with MDAnalysis for orthorhombic cells, and with NumPy for triclinic cells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import MDAnalysis
import numpy as np
from comparison import EXACT, Compared, apart, systems
from MDAnalysis.analysis import lineardensity

import mdreel

LENGTHS = (61.5137, 57.0291, 53.2543)  # Å
BIN = 0.5  # Å
QUANTITIES = ("mass_density", "mass_density_stddev", "charge_density", "charge_density_stddev")


def compare(folder: Path) -> Iterator[Compared]:
    """Run all comparisons with files in a folder."""
    for name, universe, protein in systems():
        if universe.dimensions is not None and (universe.dimensions[3:] != 90).any():
            yield from with_numpy(name, universe)
        else:
            yield from with_mdanalysis(name, universe, protein, folder)


def with_mdanalysis(
    name: str, universe: MDAnalysis.Universe, protein: MDAnalysis.AtomGroup, folder: Path
) -> Iterator[Compared]:
    """Compare in an orthorhombic cell, which is added to the trajectory."""
    trajectory = folder / "boxed.xtc"
    with MDAnalysis.Writer(str(trajectory), len(universe.atoms)) as writer:
        for _ in universe.trajectory:
            universe.dimensions = [*LENGTHS, 90, 90, 90]
            writer.write(universe.atoms)
    boxed = MDAnalysis.Universe(universe.filename, trajectory)
    atoms = boxed.atoms[protein.ix]
    note = "relative; the peer uses the Avogadro constant of 2010"
    for grouping in ("atoms", "residues"):
        boxed.trajectory[0]
        ours = mdreel.LinearDensity(atoms, grouping, BIN).run().results
        theirs = lineardensity.LinearDensity(atoms, grouping, BIN).run().results
        for quantity in QUANTITIES:
            pairs = [(ours[axis][quantity], theirs[axis][quantity]) for axis in "xyz"]
            found = max(np.abs(one - other).sum() / np.abs(other).sum() for one, other in pairs)
            title = f"Linear density of {grouping}, {quantity.replace('_', ' ')}"
            yield Compared(title, name, "MDAnalysis", found, EXACT, "", note)


def with_numpy(name: str, universe: MDAnalysis.Universe) -> Iterator[Compared]:
    """Compare in a triclinic cell, where MDAnalysis uses a wrong volume and omits atoms."""
    universe.trajectory[0]
    lengths = np.diagonal(universe.trajectory.ts.triclinic_dimensions)
    n_bins = (lengths // np.float32(BIN)).astype(int)
    edges = np.linspace(0, float(lengths.max()), n_bins.max() + 1)
    profiles = []
    for frame in universe.trajectory:
        positions = universe.atoms.positions.astype(float)
        for axis, row in reversed(list(enumerate(frame.triclinic_dimensions.astype(float)))):
            positions -= np.floor(positions[:, axis : axis + 1] / row[axis]) * row
        profiles.append([np.histogram(column, edges, weights=universe.atoms.masses)[0] for column in positions.T])
    slices = np.prod(lengths, dtype=float) / n_bins
    expected = np.mean(profiles, axis=0) / slices[:, None] / 0.602214076
    ours = mdreel.LinearDensity(universe.atoms, binsize=BIN).run().results
    found = [ours[axis].mass_density for axis in "xyz"]
    yield Compared("Linear density, triclinic", name, "NumPy", apart(found, expected), EXACT, "g/cm³")
