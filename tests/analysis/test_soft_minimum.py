"""Tests of soft minima of the distances between residues against a loop over all atoms and against mdtraj."""

from typing import Any

import MDAnalysis
import mdtraj
import numpy as np
import pytest
from MDAnalysis.lib.distances import distance_array
from MDAnalysisTests.datafiles import DCD, GRO, PSF

import mdreel
from mdreel.errors import MismatchError, UnitWarning
from peptide_system import in_memory, peptide, peptide_positions

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
CELL = [30, 32, 34, 70, 80, 100]


def soft_minimum(distances: np.ndarray, beta: float) -> float:
    terms = beta / distances.astype(np.longdouble)
    return float(beta / (terms.max() + np.log(np.exp(terms - terms.max()).sum())))


@pytest.mark.parametrize("dimensions", [None, CELL, [9, 40, 40, 90, 90, 90]], ids=["no cell", "triclinic", "narrow"])
@pytest.mark.parametrize("beta", [200.0, 31.0, 2000.0])
def test_distances_are_those_of_a_loop_over_all_atoms(dimensions: Any, beta: float) -> None:
    universe, frames = peptide(), peptide_positions()[::60]
    cells = np.tile(np.array(dimensions or [0] * 6, np.float32), (len(frames), 1))
    arguments = {"scheme": "closest", "cutoff": 4.4, "trajectory": in_memory(frames, cells)}
    hard = mdreel.ResidueContacts(universe, **arguments).run()
    run = mdreel.ResidueContacts(universe, soft_min=True, soft_min_beta=beta, **arguments).run()
    universe.load_new(frames)
    residues = {one.ix: one.atoms for one in universe.residues}
    for i, _ in enumerate(universe.trajectory):
        pairs, found = run.contacts_in(i)
        others, distances = hard.contacts_in(i)
        np.testing.assert_array_equal(pairs, others)
        assert len(pairs)
        assert (found <= distances + 1e-6).all()
        for (one, other), distance in zip(pairs.tolist(), found, strict=True):
            every = distance_array(residues[one].positions, residues[other].positions, box=dimensions)
            assert distance == pytest.approx(soft_minimum(every, beta), abs=2e-5)
    for name in ("pairs", "frequency", "events", "counts", "first_frame", "offsets", "contacts"):
        np.testing.assert_array_equal(run.results[name], hard.results[name])
    lengths = [run.results.distances[run.results.contacts == row] for row in range(len(run.results.pairs))]
    np.testing.assert_allclose(run.results.minimum, [one.min() for one in lengths], atol=1e-5)
    np.testing.assert_allclose(run.results.mean, [one.mean() for one in lengths], atol=1e-5)


@pytest.mark.parametrize("scheme", ["closest-heavy", "ca", "sidechain-heavy"])
@pytest.mark.parametrize("beta", [20.0, 5.0])
def test_distances_in_a_cell_are_those_of_mdtraj(tmp_path: Any, scheme: Any, beta: float) -> None:
    path, frames = tmp_path / "part.gro", MDAnalysis.Universe(GRO)
    atoms = frames.select_atoms("protein and resid 1:60")
    atoms.write(path)
    part = MDAnalysis.Universe(path)
    part.load_new(atoms.positions[None], dimensions=frames.dimensions)
    loaded = mdtraj.load(path)
    loaded.xyz = part.atoms.positions[None] / 10
    for pbc in (True, False):
        _compare(part.atoms, loaded, scheme, beta, pbc)


@pytest.mark.parametrize("beta", [20.0, 5.0])
def test_distances_without_a_cell_are_those_of_mdtraj(beta: float) -> None:
    atoms = MDAnalysis.Universe(PSF, DCD).select_atoms("resid 1:60")
    _compare(atoms, mdtraj.load(DCD, top=PSF, atom_indices=atoms.ix)[:3], "closest-heavy", beta, True)


def _compare(atoms: MDAnalysis.AtomGroup, loaded: mdtraj.Trajectory, scheme: Any, beta: float, pbc: bool) -> None:
    """Fail unless the distances of all contacts are those of mdtraj, with beta in nm."""
    run = mdreel.ResidueContacts(atoms, scheme=scheme, cutoff=8.0, soft_min=True, soft_min_beta=10 * beta, pbc=pbc).run(
        stop=len(loaded)
    )
    if scheme == "ca":  # mdtraj has no soft minimum for a single pair of atoms
        distances, pairs = mdtraj.compute_contacts(loaded, "all", scheme, periodic=pbc)
    else:
        distances, pairs = mdtraj.compute_contacts(
            loaded, "all", scheme, periodic=pbc, soft_min=True, soft_min_beta=beta
        )
    n_compared = 0
    for i, frame in enumerate(10 * distances):
        expected = dict(zip(map(tuple, pairs.tolist()), frame.tolist(), strict=True))
        found, ours = run.contacts_in(i)
        theirs = np.array([expected[tuple(pair)] for pair in found.tolist()])
        kept = theirs > 0  # float32 overflows in mdtraj
        np.testing.assert_allclose(ours[kept], theirs[kept], rtol=2e-5, atol=2e-4)
        n_compared += kept.sum()
    assert n_compared > 50 * len(loaded)


def test_large_beta_gives_the_smallest_distance_and_nothing_overflows() -> None:
    universe, source = peptide(), in_memory(peptide_positions()[:5])
    hard = mdreel.ResidueContacts(universe, trajectory=source).run().results.distances
    run = mdreel.ResidueContacts(universe, soft_min=True, soft_min_beta=1e9, trajectory=source).run()
    np.testing.assert_allclose(run.results.distances, hard, atol=1e-5)
    frames = np.zeros((1, len(universe.atoms), 3), np.float32)
    touching = mdreel.ResidueContacts(universe, soft_min=True, trajectory=in_memory(frames)).run()
    assert not touching.results.distances.any()
    assert touching.results.counts[0] > 0


def test_distances_are_bitwise_identical_for_all_executors(adk_xtc: Any) -> None:
    run = mdreel.ResidueContacts(MDAnalysis.Universe(PSF), soft_min=True, trajectory=adk_xtc)
    expected = {name: array.tobytes() for name, array in run.run(backend="serial").results.items()}
    for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2, "n_parts": 5}):
        assert {name: array.tobytes() for name, array in run.run(**options).results.items()} == expected, options


def test_two_groups_have_the_soft_minima_of_one() -> None:
    universe, source = peptide(), in_memory(peptide_positions()[:4])
    both = mdreel.ResidueContacts(universe, universe, cutoff=6.0, soft_min=True, trajectory=source).run().results
    alone = mdreel.ResidueContacts(universe, cutoff=6.0, min_separation=1, soft_min=True, trajectory=source).run()
    np.testing.assert_array_equal(both.pairs, alone.results.pairs)
    np.testing.assert_allclose(both.distances, alone.results.distances, atol=1e-6)


def test_invalid_input_is_refused() -> None:
    universe = peptide()
    with pytest.raises(MismatchError, match="soft_min_beta is for soft_min=True"):
        mdreel.ResidueContacts(universe, soft_min_beta=200.0)
    for beta, message in (
        (0.0, "soft_min_beta must be more than 0 Å"),
        (-1.0, "soft_min_beta must be more than 0 Å"),
        (np.nan, "soft_min_beta must be a number"),
    ):
        with pytest.raises(MismatchError, match=message):
            mdreel.ResidueContacts(universe, soft_min=True, soft_min_beta=beta)
    with pytest.raises(MismatchError, match="soft_min_beta must be a finite length"):
        mdreel.ResidueContacts(universe, soft_min=True, soft_min_beta=np.inf)
    with pytest.warns(UnitWarning, match="20 nm are 200 Å"):
        mdreel.ResidueContacts(universe, soft_min=True, soft_min_beta=20.0)
