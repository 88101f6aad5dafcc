"""Tests of hydrogen bonds against MDAnalysis."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis.hydrogenbonds.hbond_analysis import HydrogenBondAnalysis
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC

import mdreel
from mdreel.errors import MismatchError, SelectionError, UnsupportedError
from mdreel.trajectory.open import open as open_trajectory

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
BACKBONE = ("name N", "name HN", "name O")


@pytest.fixture(scope="module")
def adk() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, DCD)


def in_order(hbonds: np.ndarray) -> np.ndarray:
    return hbonds[np.lexsort(hbonds[:, 3::-1].T)]


@pytest.mark.parametrize(
    ("files", "selections", "between"),
    [
        ((PSF, DCD), (), None),
        ((PSF, DCD), BACKBONE, None),
        ((PSF, DCD), (), [["resid 1:100", "resid 50:214"], ["resid 1:20", "resid 150:214"]]),
        ((TPR, XTC), (), ["protein", "resname SOL"]),
    ],
)
def test_bonds_are_those_of_mdanalysis(files: tuple, selections: tuple, between: list | None) -> None:
    universe = MDAnalysis.Universe(*files)
    ours = mdreel.HydrogenBondAnalysis(universe, *selections, between=between).run(step=5)
    universe.trajectory[0]
    theirs = HydrogenBondAnalysis(universe, *selections, between=between, update_selections=False).run(step=5)
    found, expected = in_order(ours.results.hbonds), in_order(theirs.results.hbonds)
    assert len(expected) > 50
    np.testing.assert_array_equal(found[:, :4], expected[:, :4])
    np.testing.assert_allclose(found[:, 4], expected[:, 4], rtol=0, atol=1e-4)
    np.testing.assert_allclose(found[:, 5], expected[:, 5], rtol=0, atol=2e-3)
    np.testing.assert_array_equal(ours.count_by_time(), theirs.count_by_time())
    np.testing.assert_array_equal(ours.count_by_type(), theirs.count_by_type())
    ids = ours.count_by_ids()
    np.testing.assert_array_equal(ids[:, 3], theirs.count_by_ids()[:, 3])
    assert {tuple(row) for row in ids} == {tuple(row) for row in theirs.count_by_ids()}


def test_bonds_are_bitwise_identical_for_all_executors(adk: MDAnalysis.Universe, adk_xtc: Path) -> None:
    def bits(**options: object) -> bytes:
        source = open_trajectory(adk_xtc, index="none")
        bonds = mdreel.HydrogenBondAnalysis(adk, trajectory=source)
        mdreel.run([mdreel.Rg(adk.select_atoms("name CA"), trajectory=source), bonds], **options)
        return bonds.results.hbonds.tobytes()

    expected = bits(backend="serial")
    for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2, "n_parts": 5}):
        assert bits(**options) == expected, options


def test_topology_alone_is_enough(adk: MDAnalysis.Universe) -> None:
    expected = mdreel.HydrogenBondAnalysis(adk).run(stop=5).results.hbonds
    found = mdreel.HydrogenBondAnalysis(MDAnalysis.Universe(PSF), trajectory=DCD).run(stop=5).results.hbonds
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(MismatchError, match="load a structure"):
        mdreel.HydrogenBondAnalysis(MDAnalysis.Universe(PSF), *BACKBONE, trajectory=DCD)


def test_counts_are_in_the_order_of_the_frames(adk: MDAnalysis.Universe) -> None:
    every = mdreel.HydrogenBondAnalysis(adk, *BACKBONE).run(stop=20).count_by_time()
    some = mdreel.HydrogenBondAnalysis(adk, *BACKBONE).run(frames=[2, 7, 19]).count_by_time()
    np.testing.assert_array_equal(some, every[[2, 7, 19]])
    none = mdreel.HydrogenBondAnalysis(adk, *BACKBONE, d_a_cutoff=1.5).run(stop=3)
    assert (none.results.hbonds.shape, none.count_by_time().tolist()) == ((0, 6), [0, 0, 0])


@pytest.mark.parametrize(
    ("files", "selections"),
    [((PSF, DCD), BACKBONE), ((TPR, XTC), ("protein and name N", "protein and name H", "protein and name O"))],
)
def test_lifetimes_are_those_of_mdanalysis_to_the_last_bit(files: tuple, selections: tuple) -> None:
    universe = MDAnalysis.Universe(*files)
    ours = mdreel.HydrogenBondAnalysis(universe, *selections).run()
    universe.trajectory[0]
    theirs = HydrogenBondAnalysis(universe, *selections, update_selections=False).run()
    tau_max = min(20, universe.trajectory.n_frames - 1)
    for options in ({}, {"window_step": 3}, {"intermittency": 2}, {"tau_max": 3, "intermittency": 1}):
        found = ours.lifetime(**{"tau_max": tau_max} | options)
        np.testing.assert_array_equal(found, theirs.lifetime(**{"tau_max": tau_max} | options))
        assert 0 < found[1, -1] < found[1, 1] < found[1, 0] == 1


def test_lifetimes_are_of_the_frames_that_were_analysed(adk: MDAnalysis.Universe) -> None:
    bonds = mdreel.HydrogenBondAnalysis(adk, *BACKBONE).run(frames=[40, 3, 5])
    assert bonds.lifetime(2)[1, 0] == 1
    with pytest.raises(MismatchError, match="0 to 3, the number of frames"):
        bonds.lifetime()
    with pytest.raises(AttributeError, match="call run"):
        mdreel.HydrogenBondAnalysis(adk, *BACKBONE).lifetime()
    none = mdreel.HydrogenBondAnalysis(adk, *BACKBONE, d_a_cutoff=1.5).run(stop=3)
    np.testing.assert_array_equal(none.lifetime(2), [[0, 1, 2], [1, np.nan, np.nan]])


def test_hydrogen_bonds_refuse_invalid_input(adk: MDAnalysis.Universe) -> None:
    for options, error, message in (
        ({"update_selections": True}, UnsupportedError, "same atoms"),
        ({"between": []}, MismatchError, "no pairs"),
        ({"between": [["protein", "protein"]] * 33}, UnsupportedError, "33 pairs"),
        ({"between": ["protein", "resname SOL"]}, SelectionError, "no donors|no acceptors"),
        ({"acceptors_sel": "nonsense"}, SelectionError, "nonsense"),
        ({"acceptors_sel": "name XX"}, SelectionError, "no acceptors"),
        ({"hydrogens_sel": "name XX"}, SelectionError, "no donors with hydrogens"),
    ):
        with pytest.raises(error, match=message):
            mdreel.HydrogenBondAnalysis(adk, **options)
    with pytest.raises(MismatchError, match="d_a_cutoff must be more than 1 Å, not 0"):
        mdreel.HydrogenBondAnalysis(adk, d_a_cutoff=0)


def test_plot_shows_the_number(adk: MDAnalysis.Universe) -> None:
    figure = mdreel.HydrogenBondAnalysis(adk, *BACKBONE).run(stop=10).plot()
    assert figure.axes[0].get_ylabel() == "Hydrogen bonds"


def test_lifetime_plot_skips_unknown_values(adk: MDAnalysis.Universe) -> None:
    bonds = mdreel.HydrogenBondAnalysis(adk, *BACKBONE).run(stop=10)
    (line,) = bonds.plot_lifetime(10).axes[0].lines
    np.testing.assert_allclose(line.get_xdata(), np.arange(10) * bonds.interval)
