"""Tests of hydrogen bonds against MDAnalysis."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis.hydrogenbonds.hbond_analysis import HydrogenBondAnalysis
from MDAnalysis.exceptions import NoDataError
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
        mdreel.HydrogenBondAnalysis(MDAnalysis.Universe(PSF), *BACKBONE, update_selections=False, trajectory=DCD)
    for selections in (BACKBONE, ("name N and prop x > 0", "name HN", "name O and around 5 resname ARG")):
        expected = mdreel.HydrogenBondAnalysis(adk, *selections).run(stop=3).results.hbonds
        alone = mdreel.HydrogenBondAnalysis(MDAnalysis.Universe(PSF), *selections, trajectory=DCD)
        assert len(expected) > 10
        np.testing.assert_array_equal(alone.run(stop=3).results.hbonds, expected)


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
    with pytest.raises(MismatchError, match="at most 3, the number of frames, not 20"):
        bonds.lifetime()
    with pytest.raises(AttributeError, match="call run"):
        mdreel.HydrogenBondAnalysis(adk, *BACKBONE).lifetime()
    none = mdreel.HydrogenBondAnalysis(adk, *BACKBONE, d_a_cutoff=1.5).run(stop=3)
    np.testing.assert_array_equal(none.lifetime(2), [[0, 1, 2], [1, np.nan, np.nan]])


def test_lifetime_of_frames_that_are_not_consecutive_is_logged(
    adk: MDAnalysis.Universe, caplog: pytest.LogCaptureFixture
) -> None:
    for step, messages in ((1, 0), (3, 1)):
        hydrogen_bonds = mdreel.HydrogenBondAnalysis(adk, *BACKBONE).run(stop=12, step=step)
        caplog.clear()
        hydrogen_bonds.lifetime(tau_max=2)
        found = [record.getMessage() for record in caplog.records if record.name == "mdreel.analysis"]
        assert len(found) == messages
    assert "are at least 3 frames of the trajectory apart" in found[0]


def test_hydrogen_bonds_refuse_invalid_input(adk: MDAnalysis.Universe) -> None:
    for options, error, message in (
        ({"between": []}, MismatchError, "no pairs"),
        ({"between": [["protein"]]}, MismatchError, "pairs of selections, got"),
        ({"between": [["protein", "protein"]] * 33}, UnsupportedError, "33 pairs"),
        ({"acceptors_sel": "nonsense"}, SelectionError, "nonsense"),
        ({"hydrogens_sel": "name HN", "donors_sel": "nonsense"}, SelectionError, "nonsense"),
    ):
        with pytest.raises(error, match=message):
            mdreel.HydrogenBondAnalysis(adk, **options)
    with pytest.raises(MismatchError, match="d_a_cutoff must be more than 1 Å, not 0"):
        mdreel.HydrogenBondAnalysis(adk, d_a_cutoff=0)


@pytest.mark.parametrize(
    ("options", "lacking"),
    [
        ({"between": ["protein", "resname SOL"]}, "no donors with hydrogens"),
        ({"acceptors_sel": "name XX"}, "no acceptors"),
        ({"hydrogens_sel": "name XX"}, "no donors with hydrogens"),
        ({"hydrogens_sel": " "}, "hydrogens_sel is an empty selection string"),
    ],
)
@pytest.mark.filterwarnings("default::UserWarning")
def test_bonds_without_candidates_are_none(adk: MDAnalysis.Universe, options: dict, lacking: str) -> None:
    with pytest.warns(UserWarning, match=lacking):
        bonds = mdreel.HydrogenBondAnalysis(adk, update_selections=False, **options)
    assert not bonds.has_candidates
    bonds.run(stop=3)
    assert bonds.results.hbonds.shape == (0, 6)
    assert bonds.count_by_time().tolist() == [0, 0, 0]
    assert (len(bonds.count_by_ids()), len(bonds.count_by_type())) == (0, 0)


UPDATED = [
    ("name N", "name HN", "name O"),
    (None, "name HN", "name O and around 5 resname ARG"),
    ("name N and prop x > 0", "name HN", "name O"),
    (None, "name HN and (prop z > 1)", "name O"),
    (None, None, "name O* and sphzone 12 (resid 100)"),
]


@pytest.mark.parametrize("selections", UPDATED)
@pytest.mark.parametrize("between", [None, ["resid 1:100", "resid 50:214"]])
def test_selections_are_updated_as_in_mdanalysis(
    adk: MDAnalysis.Universe, selections: tuple, between: list | None
) -> None:
    ours = mdreel.HydrogenBondAnalysis(adk, *selections, between=between).run(step=20)
    adk.trajectory[0]
    theirs = HydrogenBondAnalysis(adk, *selections, between=between).run(step=20)
    adk.trajectory[0]
    found, expected = in_order(ours.results.hbonds), in_order(theirs.results.hbonds)
    assert len(expected) > 5
    np.testing.assert_array_equal(found[:, :4], expected[:, :4])
    np.testing.assert_allclose(found[:, 4:], expected[:, 4:], rtol=0, atol=2e-3)
    np.testing.assert_array_equal(ours.count_by_time(), theirs.count_by_time())


def test_updates_matter(adk: MDAnalysis.Universe) -> None:
    for selections in UPDATED[1:]:
        updated, fixed = (
            mdreel.HydrogenBondAnalysis(adk, *selections, update_selections=each).run(step=20).results.hbonds
            for each in (True, False)
        )
        assert not np.array_equal(updated, fixed)


def test_both_ways_find_the_same_bonds_in_a_triclinic_cell() -> None:
    universe = MDAnalysis.Universe(TPR, XTC)
    water = ("name OW and resid 250:3000", "name HW1 HW2 and resid 250:3000", "name OW")
    updated, fixed = (
        mdreel.HydrogenBondAnalysis(universe, *water, update_selections=each).run(step=6).results.hbonds
        for each in (True, False)
    )
    assert len(fixed) > 1000
    updated, fixed = in_order(updated), in_order(fixed)
    np.testing.assert_array_equal(updated[:, :4], fixed[:, :4])
    np.testing.assert_allclose(updated[:, 4:], fixed[:, 4:], rtol=0, atol=1e-6)


def test_pairs_of_donors_and_hydrogens_follow_a_proton() -> None:
    universe = MDAnalysis.Universe.empty(3, trajectory=True)
    universe.add_TopologyAttr("names", ["O1", "H", "O2"])
    line = np.zeros((2, 3, 3), np.float32)
    line[:, :, 0] = [[0, 1.0, 2.6], [0, 1.6, 2.6]]
    universe.load_new(line)
    selections = ("name O*", "name H", "name O*")
    for kind in (mdreel.HydrogenBondAnalysis, HydrogenBondAnalysis):
        found = kind(universe, *selections).run().results.hbonds
        universe.trajectory[0]
        np.testing.assert_array_equal(found[:, :4], [[0, 0, 1, 2], [1, 2, 1, 0]])


def test_updated_bonds_are_bitwise_identical_for_all_executors(adk_xtc: Path) -> None:
    universe = MDAnalysis.Universe(PSF)

    def bits(**options: object) -> bytes:
        bonds = mdreel.HydrogenBondAnalysis(
            universe, None, "name HN and prop z > 1", "name O", trajectory=open_trajectory(adk_xtc, index="none")
        )
        return bonds.run(**options).results.hbonds.tobytes()

    expected = bits(backend="serial")
    for options in ({"n_parts": 13}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2, "n_parts": 5}):
        assert bits(**options) == expected, options


def test_guesses_are_those_of_mdanalysis(adk: MDAnalysis.Universe) -> None:
    ours, theirs = mdreel.HydrogenBondAnalysis(adk), HydrogenBondAnalysis(adk)
    assert (ours.donors_sel, ours.hydrogens_sel) == (theirs.donors_sel, theirs.hydrogens_sel)
    assert ours.acceptors_sel == theirs.acceptors_sel
    for method, arguments in (
        ("guess_donors", ("resid 1:9", -0.3)),
        ("guess_donors", ("name N*",)),
        ("guess_acceptors", ("resid 1:9", -0.6)),
        ("guess_hydrogens", ("resid 1:9", 1.05, 0.2, 0.95)),
        ("guess_hydrogens", ("name XX",)),
    ):
        assert getattr(ours, method)(*arguments) == getattr(theirs, method)(*arguments)


def test_selections_may_be_set_before_the_run(adk: MDAnalysis.Universe) -> None:
    expected = mdreel.HydrogenBondAnalysis(adk, *BACKBONE, d_a_cutoff=3.2).run(stop=3).results.hbonds
    later = mdreel.HydrogenBondAnalysis(adk)
    later.donors_sel, later.hydrogens_sel, later.acceptors_sel = BACKBONE
    later.d_a_cutoff = 3.2
    np.testing.assert_array_equal(later.run(stop=3).results.hbonds, expected)


def test_missing_data_is_that_of_mdanalysis(adk: MDAnalysis.Universe) -> None:
    bare = MDAnalysis.Universe.empty(2, trajectory=True)
    for error in (NoDataError, SelectionError):
        with pytest.raises(error, match="no mass information"):
            mdreel.HydrogenBondAnalysis(bare)
        with pytest.raises(error, match="no bond information"):
            mdreel.HydrogenBondAnalysis(bare, None, "index 0", "index 1")
        with pytest.raises(error, match="call run"):
            mdreel.HydrogenBondAnalysis(adk).lifetime()
    bare.add_TopologyAttr("bonds", [])
    with pytest.raises(SelectionError, match="atom 1 is one of 1 hydrogens without a bond"):
        mdreel.HydrogenBondAnalysis(bare, None, "index 1", "index 0")


def test_plot_shows_the_number(adk: MDAnalysis.Universe) -> None:
    figure = mdreel.HydrogenBondAnalysis(adk, *BACKBONE).run(stop=10).plot()
    assert figure.axes[0].get_ylabel() == "Hydrogen bonds"


def test_lifetime_plot_skips_unknown_values(adk: MDAnalysis.Universe) -> None:
    bonds = mdreel.HydrogenBondAnalysis(adk, *BACKBONE).run(stop=10)
    (line,) = bonds.plot_lifetime(10).axes[0].lines
    np.testing.assert_allclose(line.get_xdata(), np.arange(10) * bonds.interval)
