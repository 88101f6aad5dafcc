"""Tests of RMSF against MDAnalysis."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis import rms
from MDAnalysisTests.datafiles import DCD, GRO, PSF, XTC

import mdreel
from mdreel._core import Source
from mdreel.errors import MismatchError, SelectionError
from mdreel.trajectory.open import open as open_trajectory

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
ACCURACY = 1e-6  # Å


@pytest.fixture(params=[(PSF, DCD), (GRO, XTC)], ids=["adk", "water"])
def universe(request: pytest.FixtureRequest) -> MDAnalysis.Universe:
    return MDAnalysis.Universe(*request.param)


@pytest.mark.parametrize(
    "select", ["protein and name CA", "protein", "resname SOL and resid 300:400 or resid 1", "index 7"]
)
def test_rmsf_agrees_with_mdanalysis(universe: MDAnalysis.Universe, select: str) -> None:
    atoms = universe.select_atoms(select)
    for window in ({}, {"start": 2, "step": 3}, {"frames": [1, 5, 5, 0]}):
        ours = mdreel.RMSF(atoms).run(**window).results
        theirs = rms.RMSF(atoms).run(**window).results
        np.testing.assert_allclose(ours.rmsf, theirs.rmsf, rtol=0, atol=ACCURACY)
        positions = np.mean([atoms.positions for _ in universe.trajectory[window.get("frames", slice(None))]], axis=0)
        if not window:
            np.testing.assert_allclose(ours.positions, positions, rtol=0, atol=1e-4)  # theirs is float32


def test_rmsf_is_bitwise_identical_for_all_executors(adk_xtc: Path) -> None:
    universe = MDAnalysis.Universe(PSF)
    atoms = universe.select_atoms("backbone")
    expected = mdreel.RMSF(atoms, trajectory=adk_xtc).run(backend="serial").results
    for options in (
        {"n_parts": 1},
        {"n_parts": 97},
        {"n_workers": 3},
        {"backend": "processes", "n_workers": 2, "n_parts": 5},
        {"frames": np.random.default_rng(1).permutation(98)},
    ):
        source = open_trajectory(adk_xtc, index="none")
        results = mdreel.RMSF(atoms, trajectory=source).run(**options).results
        assert results.rmsf.tobytes() == expected.rmsf.tobytes(), options
        assert results.positions.tobytes() == expected.positions.tobytes(), options


def test_rmsf_is_in_the_order_of_the_group_with_its_repetitions(adk_xtc: Path) -> None:
    universe = MDAnalysis.Universe(PSF)
    all_atoms = mdreel.RMSF(universe.atoms, trajectory=adk_xtc).run().results
    order = [30, 2, 2, 1000, 0]
    some = mdreel.RMSF(universe.atoms[order], trajectory=adk_xtc).run().results
    np.testing.assert_array_equal(some.rmsf, all_atoms.rmsf[order])
    np.testing.assert_array_equal(some.positions, all_atoms.positions[order])


def test_rmsf_of_one_frame_is_zero(universe: MDAnalysis.Universe) -> None:
    results = mdreel.RMSF(universe.atoms).run(stop=1).results
    assert (results.rmsf == 0).all()
    np.testing.assert_array_equal(results.positions, universe.atoms.positions)


def test_rmsf_does_not_depend_on_where_the_system_is() -> None:
    positions = np.random.default_rng(1).normal(size=(50, 20, 3)).astype(np.float32)
    universe = MDAnalysis.Universe.empty(20, trajectory=True)

    def of(moved: np.ndarray) -> np.ndarray:
        source = Source.memory(moved, np.arange(50.0))
        return mdreel.RMSF(universe.atoms, trajectory=source).run().results.rmsf

    np.testing.assert_allclose(of(positions + np.float32(64)), of(positions), rtol=0, atol=1e-5)


def test_rmsf_refuses_invalid_input() -> None:
    universe = MDAnalysis.Universe.empty(3, trajectory=True)
    with pytest.raises(SelectionError, match="no atoms"):
        mdreel.RMSF(universe.atoms[:0])
    positions = np.zeros((9, 3, 3), np.float32)
    positions[5, 1, 2] = np.nan
    source = Source.memory(positions, np.arange(9.0))
    with pytest.raises(MismatchError, match="frame 5: atom 1 of those selected"):
        mdreel.RMSF(universe.atoms, trajectory=source).run()
