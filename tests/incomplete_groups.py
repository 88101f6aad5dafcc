"""Residues with waters that lack frames, atoms or data, the analyses that get them, and checks of what happens."""

from collections.abc import Callable
from functools import cache
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import TPR, XTC

import mdreel
from comparable_results import arrays_in
from mdreel import analysis as ana
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.clustering.frame_clusters import FrameClusters
from mdreel.errors import MdreelError, MdreelWarning

CA, FIRST, SECOND = "protein and name CA", "protein and resid 1:6", "protein and resid 7:12"
SHELL, HEAVY = "name OW and around 3.5 protein", "protein and resid 3 and not name H*"
Universe = MDAnalysis.Universe
NO_HYDROGENS = r"have no hydrogens, which interactions.*\(MET 1, ARG 2, .*add them to the structure"
Check = Callable[[Any, Any], None]


@cache
def read() -> tuple[MDAnalysis.AtomGroup, np.ndarray, np.ndarray]:
    """Some residues of AdK with the waters near them, their positions in each frame, and the cell."""
    universe = Universe(TPR, XTC)
    atoms = universe.select_atoms(
        "(protein and resid 1:12) or (byres resname SOL and around 3.5 protein and resid 1:12)"
    )
    atoms = atoms.select_atoms("protein or (byres resname SOL and around 3.5 (protein and resid 1:12))")
    return atoms, np.array([atoms.positions for _ in universe.trajectory], np.float32), universe.dimensions


def system(select: str = "all", frames: Any = slice(None), without: str = "") -> Universe:
    """Return a new Universe of some atoms and frames, without an attribute of the topology."""
    atoms, positions, cell = read()
    part = atoms.select_atoms(select)
    universe = MDAnalysis.Merge(part)
    if without:
        universe.del_TopologyAttr(without)
    chosen = positions[frames][:, np.searchsorted(atoms.ix, part.ix)]
    return universe.load_new(chosen, dimensions=np.tile(cell, (len(chosen), 1)), dt=10.0)


def fingerprint(u: Universe, *names: str, first: str = FIRST, second: str = SECOND) -> ana.InteractionFingerprint:
    return ana.InteractionFingerprint(u.select_atoms(first), u.select_atoms(second), names or None)


def bridged(u: Universe, water: str = "resname SOL", **numbers: Any) -> ana.InteractionFingerprint:
    given = {"WaterBridge": {"water": u.select_atoms(water), "order": 3, **numbers}}
    return ana.InteractionFingerprint(u.select_atoms(FIRST), u.select_atoms(SECOND), ["WaterBridge"], given)


MADE: dict[str, Callable[[Universe], Analysis]] = {
    "contacts": lambda u: mdreel.ResidueContacts(u.select_atoms("protein")),
    "contacts of CA": lambda u: mdreel.ResidueContacts(u.select_atoms("protein"), scheme="ca", cutoff=8.0),
    "fingerprint": fingerprint,
    "fingerprint, bridges": bridged,
    "bridges": lambda u: ana.WaterBridgeAnalysis(u, FIRST, SECOND, order=3),
    "survival": lambda u: ana.SurvivalProbability(u, SHELL, 2),
    "relaxation": lambda u: ana.WaterOrientationalRelaxation(u, SHELL, 2),
    "gromos": lambda u: ana.GromosClustering(u, CA),
    "k-means": lambda u: ana.KMeansClustering(u, CA, n_clusters=2),
    "k-medoids": lambda u: ana.KMedoidsClustering(u, CA, n_clusters=2),
    "hierarchical": lambda u: ana.HierarchicalClustering(u, CA, cutoff=1.0),
    "density": lambda u: ana.DensityClustering(u, CA),
    "online": lambda u: ana.OnlineClustering(u, CA),
    "correlation": lambda u: ana.CrossCorrelation(u, CA, superposition=True),
    "information": lambda u: ana.CrossCorrelation(u, CA, superposition=True, mutual_information=True),
    "residue rmsd": ana.ResidueRMSD,
    "lddt": ana.LDDT,
    "scores": ana.TMScore,
    "native contacts": ana.NativeContacts,
    "symmetric rmsd": lambda u: ana.SymmetricRMSD(u, select=HEAVY),
}


@cache
def plain(name: str) -> Analysis:
    """Return the results with complete input."""
    return MADE[name](system()).run()


def same(found: Any, expected: Any) -> None:
    """Fail unless all results are those with complete input."""
    assert sorted(found.results) == sorted(expected.results)
    for key in found.results:
        for one, other in zip(arrays_in(found.results[key]), arrays_in(expected.results[key]), strict=True):
            np.testing.assert_array_equal(one, other)


def values(**expected: Any) -> Check:
    """Return a check that some results have a value everywhere."""

    def check(found: Any, _: Any) -> None:
        for key, value in expected.items():
            assert np.shape(found.results[key])[0] > 0, key
            np.testing.assert_allclose(found.results[key], value, atol=1e-5, err_msg=key)

    return check


def empty(found: Any, _: Any) -> None:
    """Fail unless nothing is found in any frame."""
    assert not found.results.counts.any()
    assert all(np.size(found.results[key]) == 0 for key in ("pairs", "bonds") if key in found.results)
    found.plot()


def noise(found: FrameClusters, _: Any) -> None:
    """Fail unless all frames are noise."""
    assert (found.results.labels == -1).all()
    assert found.n_clusters == 0


def singles(found: FrameClusters, _: Any) -> None:
    """Fail unless each frame is a cluster."""
    np.testing.assert_array_equal(found.results.sizes, np.ones(len(read()[1])))


def same_q(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(found.results.q, expected.results.q)


def fewer(found: Any, expected: Any) -> None:
    """Fail unless the shell is smaller: atoms are near fewer atoms of the protein."""
    assert (found.results.counts <= expected.results.counts).all()
    assert found.results.sp_timeseries[0] == 1


def assert_outcome(make: Callable[[], Analysis], outcome: Any, expected: Any = None) -> None:
    """Fail unless an analysis has this outcome: an error, a check of results, or a warning and a check."""
    if isinstance(outcome, str):
        with pytest.raises(MdreelError, match=outcome):
            make().run()
        return
    words, check = outcome if isinstance(outcome, tuple) else ("", outcome)
    if not words:
        check(make().run(), expected)
        return
    with pytest.warns(MdreelWarning, match=words):
        found = make().run()
    check(found, expected)
