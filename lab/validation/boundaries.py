"""Comparison of transformations, mean square displacements, ends of chains and densities with MDAnalysis."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import MDAnalysis
import numpy as np
from comparison import EXACT, SINGLE, Compared, apart, systems
from MDAnalysis import transformations as peer
from MDAnalysis.analysis.density import DensityAnalysis
from MDAnalysis.analysis.msd import EinsteinMSD
from MDAnalysisTests import datafiles

import mdreel

WATER = "AdK in water"
NOTE = "the peer computes in single precision"


def compare(_: Path) -> Iterator[Compared]:
    """Run all comparisons."""
    yield from transformations()
    yield from displacements()
    yield from chains_and_densities()


def transformations() -> Iterator[Compared]:
    """Compare positions in transformed frames."""
    universe = MDAnalysis.Universe(datafiles.TPR, datafiles.XTC)
    protein, some = universe.select_atoms("protein"), universe.select_atoms("not name MW")[::7]
    for title, atoms, ours, theirs in (
        ("Whole molecules", protein, mdreel.transformations.unwrap(protein), peer.unwrap),
        ("Wrapped atoms", some, mdreel.transformations.wrap(some), peer.wrap),
        (
            "Wrapped residues",
            protein,
            mdreel.transformations.wrap(protein, "residues"),
            lambda atoms: peer.wrap(atoms, "residues"),
        ),
        ("Centred group", protein, mdreel.transformations.center_in_box(protein), peer.center_in_box),
        ("Jumps undone", protein, mdreel.transformations.nojump(), lambda _: peer.NoJump()),
    ):
        analysis = mdreel.from_function(lambda positions: positions, atoms)
        found = analysis.run(transformations=[ours]).results.timeseries
        other = universe.copy()
        group = other.atoms[atoms.ix]
        other.trajectory.add_transformations(theirs(group))
        expected = np.array([group.positions for _ in other.trajectory])
        yield Compared(title, WATER, "MDAnalysis", apart(found, expected), SINGLE, "Å", NOTE)


def displacements() -> Iterator[Compared]:
    """Compare mean square displacements, from Fourier transforms and from pairs, with the peer's from pairs."""
    for name, _, protein in systems():
        alpha = protein.select_atoms("name CA")
        for kind in ("xyz", "xy"):
            expected = EinsteinMSD(alpha, msd_type=kind, fft=False).run().results.msds_by_particle
            for title, fft in ((f"MSD, {kind}", True), (f"MSD, {kind}, by pairs", False)):
                found = mdreel.EinsteinMSD(alpha, None, kind, fft).run().results.msds_by_particle
                yield Compared(title, name, "MDAnalysis", apart(found, expected), EXACT, "Å²")


def chains_and_densities() -> Iterator[Compared]:
    """Compare ends of chains, and counts of atoms on a grid."""
    for name, universe, protein in systems():
        alpha = protein.select_atoms("name CA")
        found = mdreel.EndToEnd([alpha]).run().results.vectors[:, 0]
        expected = [np.subtract(alpha.positions[-1], alpha.positions[0], dtype=float) for _ in universe.trajectory]
        yield Compared("End-to-end vectors", name, "MDAnalysis", apart(found, expected), EXACT, "Å")
        universe.trajectory[0]
        counts = mdreel.DensityAnalysis(protein, delta=2.0).run().results.counts
        theirs = DensityAnalysis(protein, delta=2.0).run().results.density.grid * 8.0 * len(universe.trajectory)
        yield Compared("Density, counted", name, "MDAnalysis", apart(counts, theirs.round()), 0, "atoms")
