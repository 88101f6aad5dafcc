"""Tests of the RMSD between all pairs of frames."""

import copy
import pickle
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis import rms
from MDAnalysis.analysis.diffusionmap import DiffusionMap, DistanceMatrix
from MDAnalysisTests.datafiles import DCD, GRO, PSF, XTC

import mdreel
from mdreel._core import Source
from mdreel.errors import FunctionError, MismatchError, SelectionError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
ALPHA = "protein and name CA"


@pytest.fixture(params=[(PSF, DCD), (GRO, XTC)], ids=["adk", "water"])
def universe(request: pytest.FixtureRequest) -> MDAnalysis.Universe:
    return MDAnalysis.Universe(*request.param)


def test_matrix_agrees_with_mdanalysis(universe: MDAnalysis.Universe) -> None:
    as_is = mdreel.DistanceMatrix(universe, ALPHA).run(stop=10).results.dist_matrix
    expected = DistanceMatrix(universe, select=ALPHA).run(stop=10).results.dist_matrix
    np.testing.assert_allclose(as_is, expected, rtol=0, atol=1e-6)
    positions = [universe.select_atoms(ALPHA).positions.astype(np.float64) for _ in universe.trajectory[:10]]
    ours = mdreel.DistanceMatrix(universe, ALPHA, superposition=True).run(stop=10).results.dist_matrix
    for i, j in np.argwhere(np.triu(np.ones((10, 10)), 1)):
        assert ours[i, j] == pytest.approx(rms.rmsd(positions[i], positions[j], superposition=True), abs=1e-6)


def test_each_row_has_the_bits_of_the_rmsd_from_that_frame(universe: MDAnalysis.Universe) -> None:
    atoms = universe.select_atoms(ALPHA)
    for weights in (None, "mass"):
        matrix = mdreel.DistanceMatrix(universe, ALPHA, weights=weights, superposition=True).run().results.dist_matrix
        for frame in (9, 4):
            rmsd = mdreel.RMSD(atoms, ref_frame=frame, weights=weights).run(stop=frame).results.rmsd[:, 2]
            assert matrix[frame, :frame].tobytes() == rmsd.tobytes()


def test_matrix_is_a_metric_and_symmetric(universe: MDAnalysis.Universe) -> None:
    matrix = mdreel.DistanceMatrix(universe, ALPHA, superposition=True).run(stop=9).results.dist_matrix
    assert (matrix == matrix.T).all()
    assert (np.diag(matrix) == 0).all()
    # The minimum RMSD obeys the triangle inequality.
    assert (matrix[:, None, :] <= matrix[:, :, None] + matrix[None, :, :] + 1e-9).all()


def test_matrix_is_bitwise_identical_for_all_executors(adk_xtc: Path) -> None:
    universe = MDAnalysis.Universe(PSF)
    made = mdreel.DistanceMatrix(universe, f"{ALPHA} or index 0", superposition=True, trajectory=adk_xtc)
    expected = made.run(backend="serial").results.dist_matrix.tobytes()
    for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2, "n_parts": 5}):
        assert made.run(**options).results.dist_matrix.tobytes() == expected, options
    frames = np.random.default_rng(1).permutation(98)
    shuffled = made.run(frames=frames).results.dist_matrix
    back = np.argsort(frames)
    np.testing.assert_allclose(shuffled[np.ix_(back, back)], np.frombuffer(expected).reshape(98, 98), rtol=0, atol=1e-9)


def test_distance_matrix_refuses_invalid_input(universe: MDAnalysis.Universe) -> None:
    with pytest.raises(SelectionError, match="has no atoms"):
        mdreel.DistanceMatrix(universe, "name XY")
    with pytest.raises(MismatchError, match="weights must have the shape"):
        mdreel.DistanceMatrix(universe, ALPHA, weights=[1.0, 2.0])
    with pytest.raises(MismatchError, match="superpose frames in metric"):
        mdreel.DistanceMatrix(universe, ALPHA, apart, superposition=True)
    with pytest.raises(MismatchError, match="metric must be a function"):
        mdreel.DistanceMatrix(universe, ALPHA, "rmsd")
    with pytest.raises(MismatchError, match="cutoff must be a number"):
        mdreel.DistanceMatrix(universe, ALPHA, cutoff=np.nan)
    positions = np.zeros((9, 3, 3), np.float32)
    positions[5, 1, 2] = np.nan
    empty = MDAnalysis.Universe.empty(3, trajectory=True)
    with pytest.raises(MismatchError, match="frame 5: atom 1 of the 3 selected"):
        mdreel.DistanceMatrix(empty, trajectory=Source.memory(positions, np.arange(9.0))).run()


def test_single_frame_is_0_from_itself(universe: MDAnalysis.Universe) -> None:
    matrix = mdreel.DistanceMatrix(universe, ALPHA).run(stop=1)
    assert matrix.results.dist_matrix.tolist() == [[0.0]]
    assert matrix.plot().axes


def test_plot_has_axes_of_time_or_of_frames(universe: MDAnalysis.Universe) -> None:
    matrix = mdreel.DistanceMatrix(universe, ALPHA)
    assert matrix.run(step=2).plot().axes[0].get_xlabel().startswith("Time")
    assert matrix.run(frames=[5, 1, 7]).plot().axes[0].get_xlabel() == "Frame analysed"


def apart(a: np.ndarray, b: np.ndarray, weights: Any = None) -> float:
    """A metric of a user's: the largest displacement, in whole Å."""
    assert a.dtype == b.dtype == np.float64
    return float(np.abs(a - b).max().round() + (0 if weights is None else np.sum(weights)))


def first_with_last(a: np.ndarray, b: np.ndarray, weights: Any = None) -> float:
    """A metric that is not symmetric, which shows which frame comes first."""
    return float(1000 * a[0, 0] + b[0, 0])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weights": np.linspace(0, 2, 214)},
        {"weights": [1, 2] * 107},
        {"cutoff": 0.7},
        {"cutoff": 1e9},
        {"metric": rms.rmsd},
        {"metric": apart},
        {"metric": apart, "cutoff": 1},
        {"metric": apart, "weights": np.ones(214, np.float32)},
        {"metric": first_with_last},
        {"metric": lambda a, b, weights: -5},
    ],
)
def test_options_are_those_of_mdanalysis(options: dict[str, Any]) -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    for frames in ({"stop": 6}, {"frames": [50, 2, 9]}):
        ours, theirs = (
            kind(universe, select=ALPHA, **options).run(**frames).results.dist_matrix
            for kind in (mdreel.DistanceMatrix, DistanceMatrix)
        )
        assert ours.dtype == theirs.dtype == np.float64
        assert (ours == ours.T).all()
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(ours == 0, theirs == 0)


def test_metric_gets_atoms_in_the_given_order_and_the_masses() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    group, seen = universe.atoms[[9, 4, 4, 0]], []

    def metric(a: np.ndarray, b: np.ndarray, weights: Any = None) -> float:
        seen.append((a, b, weights))
        return 1.0

    mdreel.DistanceMatrix(group, None, metric, weights="mass").run(frames=[7, 3])
    ((a, b, weights),) = seen
    for frame, positions in ((7, a), (3, b)):
        np.testing.assert_array_equal(positions, universe.trajectory[frame].positions[group.ix])
    np.testing.assert_array_equal(weights, group.masses)
    # Repetitions count in the RMSD.
    ours = mdreel.DistanceMatrix(group, None).run(frames=[7, 3]).results.dist_matrix
    assert ours[0, 1] == pytest.approx(rms.rmsd(a, b), abs=1e-9)


@pytest.mark.parametrize("wrong", [np.nan, np.zeros(3), "far", None, 1j])
def test_metric_that_returns_no_number_is_an_error(wrong: Any) -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    with pytest.raises(FunctionError, match=r"the metric of frames 4 and 6 returned .*: expected a number"):
        mdreel.DistanceMatrix(universe, ALPHA, lambda a, b, weights: wrong).run(frames=[4, 6])


def test_error_of_a_metric_stays_what_it_is_and_names_the_frames() -> None:
    def metric(a: np.ndarray, b: np.ndarray, weights: Any = None) -> float:
        raise ZeroDivisionError("no")

    with pytest.raises(ZeroDivisionError) as caught:
        mdreel.DistanceMatrix(MDAnalysis.Universe(PSF, DCD), ALPHA, metric).run(frames=[4, 6])
    assert caught.value.__notes__ == ["in the metric of frames 4 and 6"]


def test_diffusion_map_of_mdanalysis_takes_our_matrix() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    ours, theirs = (kind(universe, select=ALPHA) for kind in (mdreel.DistanceMatrix, DistanceMatrix))
    maps = [DiffusionMap(one) for one in (ours, theirs)]
    for one in maps:
        one.run(step=20)
    assert ours.n_frames == theirs.n_frames == 5
    np.testing.assert_allclose(maps[0].eigenvalues, maps[1].eigenvalues, rtol=0, atol=1e-6)
    done = mdreel.DistanceMatrix(universe, ALPHA).run(stop=4)
    before = done.results.dist_matrix
    DiffusionMap(done).run()
    assert done.results.dist_matrix is before  # it has run, and is not run again
    with pytest.warns(DeprecationWarning, match="dist_matrix"):
        assert done.dist_matrix is before


def test_matrix_is_an_analysis_of_mdreel_and_can_be_copied_and_pickled() -> None:
    done = mdreel.DistanceMatrix(MDAnalysis.Universe(PSF, DCD), ALPHA).run(stop=4)
    assert isinstance(done, DistanceMatrix)
    for one in (done, copy.copy(done), pickle.loads(pickle.dumps(done))):
        assert type(one) is mdreel.DistanceMatrix
        assert isinstance(one, mdreel.DistanceMatrix)
        np.testing.assert_array_equal(one.results.dist_matrix, done.results.dist_matrix)
    assert one.run(stop=3).results.dist_matrix.shape == (3, 3)


def test_atoms_of_an_updating_group_are_those_of_the_current_frame() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    universe.trajectory[30]
    updating = universe.select_atoms("around 4 resname TRP TYR", updating=True)
    atoms = updating.ix.copy()
    with pytest.warns(UserWarning, match="uses its current atoms in every frame") as caught:
        matrix = mdreel.DistanceMatrix(updating)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(matrix.atoms, atoms)


def test_options_of_run_have_no_effect_on_a_new_analysis(universe: MDAnalysis.Universe) -> None:
    with pytest.warns(UserWarning, match=r"backend has no effect .*: give it to run\(\)"):
        mdreel.DistanceMatrix(universe, ALPHA, backend="processes")
    with pytest.raises(TypeError, match="no parameter 'superpose': did you mean 'superposition'"):
        mdreel.DistanceMatrix(universe, ALPHA, superpose=True)
