"""Tests of the RMSD between all pairs of frames."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis import rms
from MDAnalysis.analysis.diffusionmap import DistanceMatrix
from MDAnalysisTests.datafiles import DCD, GRO, PSF, XTC

import mdreel
from mdreel._core import Source
from mdreel.errors import MismatchError, SelectionError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
ALPHA = "protein and name CA"


@pytest.fixture(params=[(PSF, DCD), (GRO, XTC)], ids=["adk", "water"])
def universe(request: pytest.FixtureRequest) -> MDAnalysis.Universe:
    return MDAnalysis.Universe(*request.param)


def test_matrix_agrees_with_mdanalysis(universe: MDAnalysis.Universe) -> None:
    as_is = mdreel.DistanceMatrix(universe, ALPHA, superposition=False).run(stop=10).results.dist_matrix
    expected = DistanceMatrix(universe, select=ALPHA).run(stop=10).results.dist_matrix
    np.testing.assert_allclose(as_is, expected, rtol=0, atol=1e-6)
    positions = [universe.select_atoms(ALPHA).positions.astype(np.float64) for _ in universe.trajectory[:10]]
    ours = mdreel.DistanceMatrix(universe, ALPHA).run(stop=10).results.dist_matrix
    for i, j in np.argwhere(np.triu(np.ones((10, 10)), 1)):
        assert ours[i, j] == pytest.approx(rms.rmsd(positions[i], positions[j], superposition=True), abs=1e-6)


def test_each_row_has_the_bits_of_the_rmsd_from_that_frame(universe: MDAnalysis.Universe) -> None:
    atoms = universe.select_atoms(ALPHA)
    for weights in (None, "mass"):
        matrix = mdreel.DistanceMatrix(universe, ALPHA, weights).run().results.dist_matrix
        for frame in (9, 4):
            rmsd = mdreel.RMSD(atoms, ref_frame=frame, weights=weights).run(stop=frame).results.rmsd[:, 2]
            assert matrix[frame, :frame].tobytes() == rmsd.tobytes()


def test_matrix_is_a_metric_and_symmetric(universe: MDAnalysis.Universe) -> None:
    matrix = mdreel.DistanceMatrix(universe, ALPHA).run(stop=9).results.dist_matrix
    assert (matrix == matrix.T).all()
    assert (np.diag(matrix) == 0).all()
    # The minimum RMSD obeys the triangle inequality.
    assert (matrix[:, None, :] <= matrix[:, :, None] + matrix[None, :, :] + 1e-9).all()


def test_matrix_is_bitwise_identical_for_all_executors(adk_xtc: Path) -> None:
    universe = MDAnalysis.Universe(PSF)
    made = mdreel.DistanceMatrix(universe, f"{ALPHA} or index 0", trajectory=adk_xtc)
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
