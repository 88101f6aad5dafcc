"""Tests that RMSD takes the selections, weights and errors of MDAnalysis, whose results are expected."""

import pickle
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis import rms
from MDAnalysis.exceptions import SelectionError as TheirSelectionError
from MDAnalysisTests.datafiles import CRD, DCD, PSF

import mdreel
from mdreel.errors import AtomOrderWarning, MdreelError, MismatchError, SelectionError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def adk(*structure: str) -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, *(structure or (DCD,)))


def both(*, atol: float = 1e-5, **options: Any) -> np.ndarray:
    """Return our RMSD of AdK after comparing it with that of MDAnalysis."""
    ours = mdreel.RMSD(adk(), **options).run(step=12).results.rmsd
    theirs = rms.RMSD(adk(), **options).run(step=12).results.rmsd
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=atol)
    return ours


FIRST, SECOND = "name CA and resid 1:40", "name CA and resid 2:41"


@pytest.mark.parametrize(
    "select",
    [
        "name CA",
        (FIRST, SECOND),
        {"mobile": FIRST, "reference": SECOND},
        {"mobile": [FIRST, "resid 50"], "reference": [FIRST, "resid 50"]},
        ((SECOND, FIRST), (SECOND, FIRST)),
        (FIRST, FIRST),
    ],
)
@pytest.mark.parametrize("reference", [None, "universe", "group"])
def test_selections_mean_what_they_mean_in_mdanalysis(select: Any, reference: str | None) -> None:
    given = {None: None, "universe": adk(CRD), "group": adk(CRD).atoms}[reference]
    found = both(select=select, reference=given)
    assert found[:, 2].max() > 1


def test_atoms_are_taken_in_their_order_without_a_selection() -> None:
    order = np.random.default_rng(3).permutation(214)
    atoms, reference = (universe.select_atoms("name CA")[order] for universe in (adk(), adk(CRD)))
    weights = np.arange(1.0, 215.0)
    ours = mdreel.RMSD(atoms, reference, None, weights=weights).run(step=12).results.rmsd
    theirs = rms.RMSD(atoms, reference, None, weights=weights).run(step=12).results.rmsd
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)
    assert mdreel.RMSD(atoms, reference, None).mobile_atoms == atoms


def test_selected_atoms_are_sorted_and_each_taken_once() -> None:
    order = np.random.default_rng(3).permutation(214)
    atoms = adk().select_atoms("name CA")
    shuffled = mdreel.RMSD(atoms[order] + atoms[:9], weights=atoms.masses + np.arange(214)).run(step=12)
    sorted_ = mdreel.RMSD(atoms, weights=atoms.masses + np.arange(214)).run(step=12)
    np.testing.assert_array_equal(shuffled.results.rmsd, sorted_.results.rmsd)
    assert shuffled.mobile_atoms == atoms


@pytest.mark.parametrize("weights", [None, "mass"])
@pytest.mark.parametrize("reference", [None, "universe"])
def test_groups_are_selected_from_the_whole_universes(weights: str | None, reference: str | None) -> None:
    groups = ["resid 50:60", (FIRST, SECOND), {"mobile": [SECOND, "resid 50"], "reference": [FIRST, "resid 50"]}]
    given = None if reference is None else adk(CRD)
    both(select="name CA", groupselections=groups, weights=weights, reference=given, atol=1e-4)
    own = [None, "mass", np.arange(1.0, 62.0)]
    n_atoms = len(adk().select_atoms(SECOND)) + len(adk().select_atoms("resid 50"))
    own[2] = np.arange(1.0, n_atoms + 1)
    both(select="name CA", groupselections=groups, weights_groupselections=own, reference=given, atol=1e-4)


@pytest.mark.parametrize("groups", [None, ["name CA", "resid 3:9"]])
def test_reference_of_other_masses_is_centred_by_its_own(groups: list[str] | None) -> None:
    reference = adk(CRD)
    reference.atoms.masses = np.linspace(1, 50, len(reference.atoms))
    options = {"reference": reference, "weights": "mass", "tol_mass": 100.0, "groupselections": groups}
    found = both(**options, atol=1e-4)
    assert abs(found - mdreel.RMSD(adk(), **{**options, "reference": adk(CRD)}).run(step=12).results.rmsd).max() > 0.01


def test_separate_trajectory_is_the_reference_of_other_atoms_too() -> None:
    options = {"select": (FIRST, SECOND), "groupselections": [(SECOND, FIRST)], "ref_frame": 5}
    expected = mdreel.RMSD(adk(), **options).run().results.rmsd
    found = mdreel.RMSD(MDAnalysis.Universe(PSF), trajectory=DCD, **options).run().results.rmsd
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_current_positions_are_the_reference_without_a_frame() -> None:
    universe, reference = adk(), adk()
    reference.trajectory[9]
    reference.atoms.translate([1.0, 0, 0])
    found = mdreel.RMSD(universe, reference, "name CA", ref_frame=None, superposition=False).run().results.rmsd[:, 2]
    assert found[9] == pytest.approx(1.0, abs=1e-5)
    with pytest.raises(MismatchError, match="give a reference"):
        mdreel.RMSD(universe, ref_frame=None)


@pytest.mark.parametrize(
    ("options", "theirs", "ours"),
    [
        ({"select": "nmae CA"}, TheirSelectionError, SelectionError),
        ({"select": ("name CA", "resid 1")}, TheirSelectionError, MismatchError),
        ({"select": ("name CA", "name N")}, TheirSelectionError, MismatchError),
        ({"groupselections": [("name CA", "resid 1")]}, TheirSelectionError, MismatchError),
        ({"groupselections": ["nmae CA"]}, TheirSelectionError, SelectionError),
        ({"select": 42}, TypeError, SelectionError),
        ({"select": ["name CA", "name N"]}, TypeError, SelectionError),
        ({"groupselections": [42]}, TypeError, SelectionError),
        ({"select": {"mobile": "all"}}, KeyError, SelectionError),
        ({"weights": [[1.0, 2.0], [3.0]]}, (TypeError, ValueError), MismatchError),
        ({"weights": 42}, ValueError, MismatchError),
        ({"weights": "charge"}, ValueError, MismatchError),
        ({"weights": np.ones((3341, 1))}, ValueError, MismatchError),
        ({"groupselections": ["all"], "weights_groupselections": [None, None]}, ValueError, MismatchError),
        ({"weights_groupselections": ["mass"]}, ValueError, MismatchError),
    ],
)
def test_errors_are_caught_as_those_of_mdanalysis(options: dict[str, Any], theirs: Any, ours: Any) -> None:
    with pytest.raises(theirs):
        rms.RMSD(adk(), **options)
    with pytest.raises(theirs) as caught:
        mdreel.RMSD(adk(), **options)
    assert isinstance(caught.value, ours)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (type(caught.value), str(caught.value))
    assert isinstance(again, MdreelError)
    assert not str(again).startswith(("'", '"'))


def test_one_string_is_no_list_of_groups() -> None:
    with pytest.raises(SelectionError, match="must be a list"):
        mdreel.RMSD(adk(), groupselections="name CA")


def test_other_order_is_a_warning_if_no_selection_is_made() -> None:
    atoms, turned = adk().select_atoms("name CA"), adk(CRD).select_atoms("name CA")[::-1]
    with pytest.warns(AtomOrderWarning, match="another order"):
        found = mdreel.RMSD(atoms, turned, select=None).run(step=12).results.rmsd
    theirs = rms.RMSD(atoms, turned, select=None).run(step=12).results.rmsd
    np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-5)


def test_rmsf_of_one_frame_is_zero() -> None:
    universe = adk()
    assert not mdreel.RMSF(universe).run(start=70, stop=71).results.rmsf.any()
    with pytest.warns(DeprecationWarning, match="results.rmsf"):
        assert not mdreel.RMSF(universe.select_atoms("name CA")).run(frames=[3]).rmsf.any()
