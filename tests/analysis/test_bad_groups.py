"""Analyses of groups with incomplete input, cutoffs of zero, and empty groups.

Each table names the outcome: words of the error, words of the warning, or a check of the documented results.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mdreel
from incomplete_groups import (
    CA,
    FIRST,
    MADE,
    NO_HYDROGENS,
    SECOND,
    SHELL,
    Universe,
    assert_outcome,
    bridged,
    empty,
    fewer,
    fingerprint,
    noise,
    plain,
    same,
    same_q,
    singles,
    system,
    values,
)
from mdreel import analysis as ana
from mdreel.analysis.base.analysis import Analysis

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

INPUTS: dict[str, Callable[[], Universe]] = {
    "no hydrogens": lambda: system("not name H*"),
    "no bonds": lambda: system(without="bonds"),
    "no charges": lambda: system(without="charges"),
    "no names": lambda: system(without="names"),
    "one frame": lambda: system(frames=[0]),
    "two identical frames": lambda: system(frames=[0, 0]),
}
ONE_CLUSTER, PERFECT = values(labels=0, centers=0), values(lddt=1)
NO_NAMES = "the topology has no names: use a topology that has them, such as PDB, PSF or TPR"
UNLIKE = "only 1 of the frames differ: choose fewer clusters, or analyse more frames"
ONLY_ONE = "n_clusters is 2, but there is only 1 frame: choose fewer clusters, or analyse more frames"
OTHER = {
    ("contacts", "no names"): same,
    ("contacts", "one frame"): values(frequency=1, events=1, lifetime=0),
    ("contacts", "two identical frames"): values(frequency=1, events=1, duration=2, lifetime=20),
    ("contacts of CA", "one frame"): values(frequency=1, events=1, lifetime=0),
    ("contacts of CA", "two identical frames"): values(frequency=1, events=1, duration=2, lifetime=20),
    ("fingerprint", "no hydrogens"): NO_HYDROGENS,
    ("fingerprint", "one frame"): values(frequency=1),
    ("fingerprint", "two identical frames"): values(frequency=1),
    ("fingerprint, bridges", "no hydrogens"): NO_HYDROGENS,
    ("fingerprint, bridges", "one frame"): empty,
    ("fingerprint, bridges", "two identical frames"): empty,
    ("bridges", "no hydrogens"): (r"no donors with hydrogens \(add hydrogens to the structure, or", empty),
    ("bridges", "no names"): "water bridges: the topology has no names of atoms: load a structure",
    ("bridges", "one frame"): empty,
    ("bridges", "two identical frames"): empty,
    ("survival", "no hydrogens"): fewer,
    ("survival", "one frame"): "tau_max must be at most 1, the number of frames, not 2: lower it, or analyse more",
    ("survival", "two identical frames"): values(sp_timeseries=[1, 1, np.nan], counts=33),
    ("relaxation", "no hydrogens"): "SOL 1354 .* has 1 oxygen and 0 hydrogen atoms, .*: add hydrogens",
    ("relaxation", "one frame"): "tau_max must be less than 1, the number of frames, not 2: lower it, or analyse more",
    ("relaxation", "two identical frames"): "tau_max must be less than 2, the number of frames",
    ("k-means", "one frame"): ONLY_ONE,
    ("k-means", "two identical frames"): UNLIKE,
    ("k-medoids", "one frame"): ONLY_ONE,
    ("k-medoids", "two identical frames"): UNLIKE,
    **{(name, some): ONE_CLUSTER for name in ("gromos", "online", "hierarchical") for some in list(INPUTS)[4:]},
    ("density", "one frame"): noise,
    ("density", "two identical frames"): noise,
    ("correlation", "one frame"): "a correlation needs 2 frames or more, not 1: analyse more frames",
    ("correlation", "two identical frames"): values(correlation=np.nan),
    ("information", "one frame"): "the mutual information needs 7 frames or more, not 1: analyse more frames",
    ("information", "two identical frames"): "the mutual information needs 7 frames or more, not 2",
    ("native contacts", "no hydrogens"): same_q,
    ("symmetric rmsd", "no bonds"): r"the topology has no bonds, .*: use one with bonds \(TPR, PSF, PRMTOP\)",
    **{("residue rmsd", some): values(rmsd=0, residue_rmsd=0) for some in list(INPUTS)[4:]},
    **{("lddt", some): values(lddt=1, residue_lddt=1) for some in list(INPUTS)[4:]},
    **{("scores", some): values(tm_score=1, gdt_ts=1, gdt_ha=1) for some in list(INPUTS)[4:]},
    **{("native contacts", some): values(q=1) for some in list(INPUTS)[4:]},
    **{("symmetric rmsd", some): values(rmsd=0) for some in list(INPUTS)[4:]},
}
"""Outcomes that are not those with complete input, or for topologies without names, `NO_NAMES`."""


@pytest.mark.parametrize("given", INPUTS)
@pytest.mark.parametrize("name", MADE)
def test_incomplete_input_has_a_clear_outcome(name: str, given: str) -> None:
    outcome = OTHER.get((name, given), NO_NAMES if given == "no names" else same)
    assert_outcome(lambda: MADE[name](INPUTS[given]()), outcome, plain(name) if callable(outcome) else None)


ZERO: dict[str, tuple[Callable[[Universe], Analysis], Any]] = {
    "contacts": (lambda u: mdreel.ResidueContacts(u, cutoff=0), "cutoff must be more than 0 Å"),
    **{
        name: (
            lambda u, name=name: ana.InteractionFingerprint(u, None, [name], {name: {"distance": 0}}),
            f"distance of {name} must be more than 0 Å, not 0: atoms are never that close",
        )
        for name in ("Hydrophobic", "HBDonor", "Cationic", "PiCation", "FaceToFace", "MetalDonor")
    },
    "EdgeToFace": (
        lambda u: ana.InteractionFingerprint(u, None, ["EdgeToFace"], {"EdgeToFace": {"intersect_radius": 0}}),
        "intersect_radius of EdgeToFace must be more than 0 Å",
    ),
    "water bridges of a fingerprint": (lambda u: bridged(u, hbdonor={"distance": 0}), "must be more than 0 Å"),
    "no waters in a bridge": (lambda u: bridged(u, order=0), "must be ascending numbers from 1 to 10, not 1 and 0"),
    "bridges": (lambda u: ana.WaterBridgeAnalysis(u, FIRST, SECOND, distance=0), "distance must be more than 0.5 Å"),
    "survival": (
        lambda u: ana.SurvivalProbability(u, "name OW and around 0 protein", 2),
        ("no atom is selected in any frame: check the selection", values(sp_timeseries=[1, np.nan, np.nan])),
    ),
    "relaxation": (
        lambda u: ana.WaterOrientationalRelaxation(u, "name OW and around 0 protein", 2),
        ("no atom is selected in any frame: check the selection", values(oh=np.nan, n_pairs=0, counts=0)),
    ),
    "lags of survival": (lambda u: ana.SurvivalProbability(u, SHELL, 0), "must be 1 or more frames"),
    "lags of relaxation": (lambda u: ana.WaterOrientationalRelaxation(u, SHELL, 0), "must be 1 or more frames"),
    "gromos": (lambda u: ana.GromosClustering(u, CA, 0), singles),
    "online": (lambda u: ana.OnlineClustering(u, CA, 0), singles),
    "hierarchical": (lambda u: ana.HierarchicalClustering(u, CA, cutoff=0), singles),
    "density": (lambda u: ana.DensityClustering(u, CA, 0), noise),
    "frames of a core": (lambda u: ana.DensityClustering(u, CA, 1, 0), "min_frames must be 1 or more, not 0"),
    "k-means": (lambda u: ana.KMeansClustering(u, CA, n_clusters=0), "n_clusters must be 1 or more, not 0"),
    "k-medoids": (lambda u: ana.KMedoidsClustering(u, CA, n_clusters=0), "n_clusters must be 1 or more, not 0"),
    "lddt": (lambda u: ana.LDDT(u, radius=0), "radius must be more than 0 Å"),
    "native contacts": (lambda u: ana.NativeContacts(u, radius=0), "radius must be more than 0 Å"),
    "scores": (lambda u: ana.TMScore(u, n_residues=0), "n_residues must be at least 12"),
}


@pytest.mark.parametrize("name", ZERO)
def test_zero_cutoffs_and_numbers_have_a_clear_outcome(name: str) -> None:
    make, outcome = ZERO[name]
    assert_outcome(lambda: make(system()), outcome)


def direct(found: Any, _: Any) -> None:
    """Fail unless hydrogen bonds between the selections are found, and none with water."""
    assert found.results.counts.any()
    assert not len(found.results.pairs)


NO_RESNAME = "has no atoms.*no atom has the resname 'LIG', only ALA, ARG"
CLUSTERS = (ana.GromosClustering, ana.DensityClustering, ana.OnlineClustering)
COMPARED = (ana.ResidueRMSD, ana.LDDT, ana.TMScore, ana.NativeContacts, ana.SymmetricRMSD)
EMPTY: dict[str, tuple[Callable[[Universe], Analysis], Any]] = {
    "contacts": (lambda u: mdreel.ResidueContacts(u.select_atoms("resname LIG")), "atomgroup has no atoms: change the"),
    "other contacts": (lambda u: mdreel.ResidueContacts(u, u.atoms[:0]), "other has no atoms: change the selection"),
    "fingerprint": (lambda u: fingerprint(u, first="resname LIG"), "atomgroup has no atoms: change the selection"),
    "other of a fingerprint": (lambda u: fingerprint(u, second="resname LIG"), "other has no atoms: change the"),
    "no interactions": (lambda u: ana.InteractionFingerprint(u, None, []), "names of Hydrophobic, .*not an empty list"),
    "waters": (lambda u: bridged(u, "resname TIP3"), "water of WaterBridge has no atoms: change the selection"),
    "first of bridges": (
        lambda u: ana.WaterBridgeAnalysis(u, "resname LIG", SECOND),
        ("no bridges will be found, because selection1 'resname LIG' " + NO_RESNAME, empty),
    ),
    "second of bridges": (
        lambda u: ana.WaterBridgeAnalysis(u, FIRST, "resname LIG"),
        ("no bridges will be found, because selection2 'resname LIG' " + NO_RESNAME, empty),
    ),
    "waters of bridges": (
        lambda u: ana.WaterBridgeAnalysis(u, "protein", "protein", "resname TIP3"),
        # Each bond of selection 1 reaches selection 2.
        ("no bridges with waters will be found, because water_selection 'resname TIP3' has no atoms", direct),
    ),
    "survival": (lambda u: ana.SurvivalProbability(u, "resname LIG and around 3 protein", 2), "no atoms in any frame"),
    "relaxation": (
        lambda u: ana.WaterOrientationalRelaxation(u, "resname LIG and around 3 protein", 2),
        "no atoms in any frame: no atom can match the selection",
    ),
    "survival near nothing": (
        lambda u: ana.SurvivalProbability(u, "name OW and around 3 resname LIG", 2),
        ("no atom is selected in any frame", values(sp_timeseries=[1, np.nan, np.nan])),
    ),
    **{kind.__name__: (lambda u, kind=kind: kind(u, select="resname LIG"), NO_RESNAME) for kind in CLUSTERS + COMPARED},
    "k-means": (lambda u: ana.KMeansClustering(u, "resname LIG", n_clusters=2), NO_RESNAME),
    "k-medoids": (lambda u: ana.KMedoidsClustering(u, "resname LIG", n_clusters=2), NO_RESNAME),
    "hierarchical": (lambda u: ana.HierarchicalClustering(u, "resname LIG", n_clusters=2), NO_RESNAME),
    "correlation": (lambda u: ana.CrossCorrelation(u, "resname LIG"), NO_RESNAME),
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty_groups_have_a_clear_outcome(name: str) -> None:
    make, outcome = EMPTY[name]
    assert_outcome(lambda: make(system()), outcome)
