"""Comparison of analyses after superposition with MDAnalysis and NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import MDAnalysis
import numpy as np
from comparison import EXACT, SINGLE, Compared, apart, systems
from MDAnalysis.analysis import align, pca, rms
from MDAnalysis.analysis.diffusionmap import DistanceMatrix
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

import mdreel

CORE = "protein and name CA and (resid 1:29 or resid 60:121 or resid 160:214)"
DOMAINS = ["protein and name CA and resid 122:159", "protein and backbone and resid 30:59"]


def compare(folder: Path) -> Iterator[Compared]:
    """Run all comparisons."""
    for name, universe, _ in systems():
        yield from groups(name, universe)
        yield from averages(name, universe)
        yield from components(name, universe)
        yield from matrices(name, universe)
        yield from correlations(name, universe)


def groups(name: str, universe: MDAnalysis.Universe) -> Iterator[Compared]:
    """Compare the RMSD of groups after the superposition of others."""
    note = "the peer moves coordinates in single precision"
    for title, weights in (("RMSD of groups", None), ("RMSD of groups, weighted by mass", "mass")):
        core = universe.select_atoms(CORE)
        ours = mdreel.RMSD(core, weights=weights, groupselections=DOMAINS).run().results.rmsd
        peer = rms.RMSD(universe, select=CORE, weights=weights, groupselections=DOMAINS).run()
        yield Compared(title, name, "MDAnalysis", apart(ours[:, 3:], peer.results.rmsd[:, 3:]), SINGLE, "Å", note)


def averages(name: str, universe: MDAnalysis.Universe) -> Iterator[Compared]:
    """Compare mean positions and fluctuations."""
    note = "the peer moves coordinates in single precision"
    ours = mdreel.AverageStructure(universe, select=CORE).run().results
    theirs = align.AverageStructure(universe, select=CORE).run().results
    yield Compared("Average structure", name, "MDAnalysis", apart(ours.positions, theirs.positions), SINGLE, "Å", note)
    yield Compared("Average structure, mean RMSD", name, "MDAnalysis", apart(ours.rmsd, theirs.rmsd), EXACT, "Å")
    moved = universe.copy()
    moved.transfer_to_memory()
    align.AlignTraj(moved, universe, select=CORE, in_memory=True).run()
    lid = DOMAINS[0]
    found = mdreel.RMSF(universe.select_atoms(lid), superposition=CORE).run().results.rmsf
    expected = rms.RMSF(moved.select_atoms(lid)).run().results.rmsf
    yield Compared("RMSF after superposition", name, "MDAnalysis", apart(found, expected), SINGLE, "Å", note)


def components(name: str, universe: MDAnalysis.Universe) -> Iterator[Compared]:
    """Compare covariances and principal components."""
    atoms = universe.select_atoms(DOMAINS[0])
    ours = mdreel.PCA(universe, select=DOMAINS[0]).run()
    x = np.array([atoms.positions.ravel() for _ in universe.trajectory], np.float64)
    expected = np.cov(x.T)
    difference = apart(ours.results.covariance, expected) / np.abs(expected).max()
    yield Compared("PCA, covariance", name, "NumPy", difference, EXACT, "", "relative to the largest")
    for aligned in (False, True):
        title = f"PCA{', after superposition' if aligned else ''}"
        note = "relative; the peer moves coordinates in single precision" if aligned else "relative"
        ours = mdreel.PCA(universe, select=DOMAINS[0], align=aligned).run()
        theirs = pca.PCA(universe, select=DOMAINS[0], align=aligned).run().results
        shares = ours.results.variance[:3] / theirs.variance[:3].real
        yield Compared(f"{title}, variance", name, "MDAnalysis", apart(shares, 1.0), SINGLE, "", note)
        overlaps = np.abs((ours.results.p_components[:, :3] * theirs.p_components[:, :3].real).sum(axis=0))
        yield Compared(f"{title}, components", name, "MDAnalysis", apart(overlaps, 1.0), SINGLE, "", "1 - |overlap|")


def matrices(name: str, universe: MDAnalysis.Universe) -> Iterator[Compared]:
    """Compare the RMSD of all pairs of frames."""
    ours = mdreel.DistanceMatrix(universe, CORE).run(stop=20).results.dist_matrix
    theirs = DistanceMatrix(universe, select=CORE).run(stop=20).results.dist_matrix
    yield Compared("RMSD of all pairs, without superposition", name, "MDAnalysis", apart(ours, theirs), EXACT, "Å")
    ours = mdreel.DistanceMatrix(universe, CORE, superposition=True).run(stop=20).results.dist_matrix
    atoms = universe.select_atoms(CORE)
    frames = [atoms.positions.astype(np.float64) for _ in universe.trajectory[:20]]
    theirs = [[0.0 if a is b else rms.rmsd(a, b, superposition=True) for a in frames] for b in frames]
    yield Compared("RMSD of all pairs", name, "MDAnalysis", apart(ours, theirs), EXACT, "Å")


def correlations(name: str, universe: MDAnalysis.Universe) -> Iterator[Compared]:
    """Compare cross-correlations, and trees of frames."""
    moved = universe.copy()
    moved.transfer_to_memory()
    align.AlignTraj(moved, universe, select=CORE, in_memory=True).run()
    atoms = moved.select_atoms(CORE)
    x = np.array([atoms.positions for _ in moved.trajectory], np.float64)
    x -= x.mean(axis=0)
    products = np.einsum("tia,tja->ij", x, x)
    expected = products / np.sqrt(np.outer(np.diag(products), np.diag(products)))
    ours = mdreel.analysis.CrossCorrelation(universe, CORE, superposition=True).run().results.correlation
    note = "after superposition with MDAnalysis, which moves coordinates in single precision"
    yield Compared("Cross-correlation", name, "NumPy", apart(ours, expected), SINGLE, "", note)
    matrix = mdreel.DistanceMatrix(universe, CORE, superposition=True).run().results.dist_matrix
    for method in ("single", "complete", "average"):
        tree = mdreel.analysis.HierarchicalClustering(universe, CORE, method, n_clusters=2).run().results.linkage
        heights = apart(tree[:, 2], linkage(squareform(matrix), method)[:, 2])
        yield Compared(f"Tree of frames, {method} linkage", name, "SciPy", heights, EXACT, "Å", "distances of merges")
