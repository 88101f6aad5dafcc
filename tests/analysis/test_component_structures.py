"""Tests of structures along principal components against MDAnalysis."""

import pickle
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis import pca as peer
from MDAnalysisTests.datafiles import DCD, GRO, PSF

import mdreel
from mdreel.errors import MismatchError, SelectionError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
ALPHA = "name CA and resid 1:10"


def adk() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, DCD)


@pytest.fixture(scope="module")
def components() -> mdreel.PCA:
    return mdreel.PCA(adk(), ALPHA).run()


def projected(kind: Any, components: Any, group: str | None, anchor: str | None, **options: Any) -> np.ndarray:
    """Return the positions of all atoms in frame 3 after the projection."""
    universe = adk()
    pca = kind(universe, select=ALPHA, **options).run()
    of = None if group is None else universe.select_atoms(group)
    function = pca.project_single_frame(components, group=of, anchor=anchor)
    ts = universe.trajectory[3]
    assert function(ts) is ts
    return ts.positions.copy()


@pytest.mark.parametrize("components", [None, 0, [0], [0, 2], np.array([3, 1]), slice(0, 3), np.arange(30) < 5])
def test_positions_are_those_of_mdanalysis(components: Any) -> None:
    found, expected = (projected(kind, components, None, None) for kind in (mdreel.PCA, peer.PCA))
    assert found.dtype == expected.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-4)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("group", ["resid 1:10", "resid 3 4 and name CB CA", ALPHA])
def test_residues_follow_their_anchors_as_in_mdanalysis(group: str, align: bool) -> None:
    found, expected = (projected(kind, 0, group, "name CA", align=align) for kind in (mdreel.PCA, peer.PCA))
    np.testing.assert_allclose(found, expected, rtol=0, atol=5e-4)
    assert not np.allclose(found, adk().trajectory[3].positions, atol=0.1)


def test_function_is_a_transformation_of_a_trajectory(components: mdreel.PCA) -> None:
    function = components.project_single_frame([0, 1])
    universe, atoms = adk(), adk().select_atoms(ALPHA)
    universe.trajectory.add_transformations(function)
    scores = components.transform(atoms, 2, superposition=False)
    moved = np.array([universe.atoms[atoms.ix].positions.ravel() for _ in universe.trajectory], np.float64)
    expected = components.mean.ravel() + scores @ components.results.p_components[:, :2].T
    np.testing.assert_allclose(moved, expected, rtol=0, atol=1e-4)


def test_function_changes_the_frame_that_it_gets(components: mdreel.PCA) -> None:
    function = pickle.loads(pickle.dumps(components.project_single_frame(0)))
    universe = adk()
    before = universe.atoms.positions
    copied = function(universe.trajectory.ts.copy())
    np.testing.assert_array_equal(universe.atoms.positions, before)
    group = universe.select_atoms(ALPHA)
    assert function(group) is group
    np.testing.assert_array_equal(universe.atoms.positions, copied.positions)
    with pytest.raises(MismatchError, match="the frame has 47681 atoms"):
        function(MDAnalysis.Universe(GRO).trajectory.ts)


def test_invalid_choices_are_refused(components: mdreel.PCA) -> None:
    universe = components.atomgroup.universe
    residues = universe.select_atoms("resid 1:10")
    for error in (IndexError, MismatchError):
        with pytest.raises(error, match="there are 30"):
            components.project_single_frame([0, 99])
    for options, message in (
        ({"group": residues}, "'anchor' cannot be 'None'"),
        ({"group": residues, "anchor": "backbone"}, "More than one 'anchor'.*has 4"),
        ({"group": residues, "anchor": "name CB"}, "do not have an 'anchor': 2, the first"),
        ({"group": universe.atoms, "anchor": "name CA"}, "not part of PCA class"),
        ({"group": adk().atoms, "anchor": "name CA"}, "of the Universe"),
    ):
        with pytest.raises(MismatchError, match=message):
            components.project_single_frame(0, **options)
    with pytest.raises(SelectionError, match="nonsense"):
        components.project_single_frame(0, group=residues, anchor="nonsense")
    with pytest.warns(UserWarning, match="no effect without group"):
        components.project_single_frame(0, anchor="name CA")
