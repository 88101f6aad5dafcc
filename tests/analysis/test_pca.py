"""Tests of PCA against MDAnalysis and NumPy."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis import pca as peer
from MDAnalysisTests.datafiles import DCD, GRO, PSF, XTC

import mdreel
from mdreel._core import Source
from mdreel.analysis.pca import cumulative_overlap, rmsip
from mdreel.errors import MismatchError, SelectionError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
ALPHA = "protein and name CA and resid 1:60"


@pytest.fixture(params=[(PSF, DCD), (GRO, XTC)], ids=["adk", "water"])
def universe(request: pytest.FixtureRequest) -> MDAnalysis.Universe:
    return MDAnalysis.Universe(*request.param)


@pytest.mark.parametrize("align", [False, True])
def test_pca_agrees_with_mdanalysis(universe: MDAnalysis.Universe, align: bool) -> None:
    atoms = universe.select_atoms(ALPHA)
    ours = mdreel.PCA(universe, select=ALPHA, align=align).run()
    theirs = peer.PCA(universe, select=ALPHA, align=align).run()
    # The peer moves coordinates in single precision, of which the water has moved by tens of Å.
    bound = 1e-4 * max(1.0, np.abs(theirs.cov).max())
    np.testing.assert_allclose(ours.results.covariance, theirs.cov, rtol=0, atol=bound)
    np.testing.assert_allclose(ours.results.variance[:5], theirs.results.variance[:5].real, rtol=1e-4)
    np.testing.assert_allclose(ours.results.mean, theirs.mean, rtol=0, atol=1e-4)
    shares = theirs.results.cumulated_variance[:5].real
    np.testing.assert_allclose(ours.results.cumulated_variance[:5], shares, rtol=0, atol=1e-5)
    of_ours, of_theirs = ours.results.p_components[:, :2], theirs.results.p_components[:, :2].real
    np.testing.assert_allclose(np.abs((of_ours * of_theirs).sum(axis=0)), 1.0, rtol=0, atol=1e-4)
    if not align:
        found, expected = ours.transform(atoms, 2), theirs.transform(atoms, 2).real
        np.testing.assert_allclose(np.abs(found), np.abs(expected), rtol=0, atol=1e-3)


def test_pca_is_that_of_numpy(adk_positions: np.ndarray) -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    atoms = universe.select_atoms(ALPHA)
    x = adk_positions[::3, atoms.ix].reshape(33, -1).astype(np.float64)
    pca = mdreel.PCA(universe, ALPHA).run(step=3)
    np.testing.assert_allclose(pca.results.covariance, np.cov(x.T), rtol=0, atol=1e-6)
    # Projections have the variances that the components have, and no covariance.
    projected = pca.transform(atoms, 4, step=3)
    np.testing.assert_allclose(np.cov(projected.T), np.diag(pca.results.variance[:4]), rtol=0, atol=1e-4)
    np.testing.assert_allclose(pca.results.p_components.T @ pca.results.p_components, np.eye(180), atol=1e-12)
    given = x.mean(axis=0) + 0.5
    shifted = mdreel.PCA(universe, ALPHA, mean=given.reshape(-1, 3)).run(step=3)
    expected = (x - given).T @ (x - given) / 32
    np.testing.assert_allclose(shifted.results.covariance, expected, rtol=0, atol=1e-6)


def test_pca_is_bitwise_identical_for_all_executors(adk_xtc: Path) -> None:
    universe = MDAnalysis.Universe(PSF)
    atoms = universe.select_atoms(ALPHA)
    expected = mdreel.PCA(universe, ALPHA, align=True, trajectory=adk_xtc).run(backend="serial")
    projected = expected.transform(atoms, 3, trajectory=adk_xtc)
    for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2, "n_parts": 5}):
        pca = mdreel.PCA(universe, ALPHA, align=True, trajectory=adk_xtc).run(**options)
        assert pca.results.covariance.tobytes() == expected.results.covariance.tobytes(), options
        assert pca.transform(atoms, 3, trajectory=adk_xtc, **options).tobytes() == projected.tobytes(), options


def test_overlaps_are_those_of_mdanalysis() -> None:
    rng = np.random.default_rng(5)
    a, b = (np.linalg.qr(rng.normal(size=(12, 12)))[0] for _ in range(2))
    for n in (None, 1, 4):
        assert rmsip(a, b, n) == pytest.approx(peer.rmsip(a, b, n), abs=1e-12)
        assert cumulative_overlap(a, b, 2, n) == pytest.approx(peer.cumulative_overlap(a, b, 2, n), abs=1e-12)
    assert rmsip(a, a, 3) == pytest.approx(1.0)
    with pytest.raises(MismatchError, match="12 and 9 coordinates"):
        rmsip(a, b[:, :9])


def test_rigid_motion_has_no_component_after_alignment() -> None:
    rng = np.random.default_rng(7)
    points = rng.normal(scale=6.0, size=(12, 3))
    turns = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(25)]
    frames = np.array([points @ (turn * np.linalg.det(turn)) + rng.normal(size=3) for turn in turns], np.float32)
    universe = MDAnalysis.Universe.empty(12, trajectory=True)
    source = Source.memory(frames, np.arange(25.0))
    assert mdreel.PCA(universe, align=True, trajectory=source).run().results.variance[0] < 1e-10
    assert mdreel.PCA(universe, trajectory=source).run().results.variance[0] > 1.0


def test_pca_refuses_invalid_input(universe: MDAnalysis.Universe) -> None:
    with pytest.raises(SelectionError, match="has no atoms"):
        mdreel.PCA(universe, select="name XY")
    with pytest.raises(MismatchError, match="mean has 2 atoms, the selection has"):
        mdreel.PCA(universe, ALPHA, mean=np.zeros((2, 3)))
    with pytest.raises(MismatchError, match="n_components must be 1 to"):
        mdreel.PCA(universe, ALPHA, n_components=0)
    with pytest.raises(MismatchError, match="a single frame has no covariance"):
        mdreel.PCA(universe, ALPHA).run(stop=1)
    pca = mdreel.PCA(universe, ALPHA, n_components=3)
    with pytest.raises(AttributeError, match=r"call run\(\) first"):
        pca.transform(universe.select_atoms(ALPHA))
    pca.run()
    assert pca.results.p_components.shape[1] == len(pca.results.variance) == 3
    with pytest.raises(MismatchError, match="atomgroup has 2"):
        pca.transform(universe.atoms[:2])
    with pytest.raises(MismatchError, match="in topology order"):
        pca.transform(universe.select_atoms(ALPHA)[::-1])


def test_plots_draw_variances_and_a_plane(universe: MDAnalysis.Universe) -> None:
    pca = mdreel.PCA(universe, ALPHA, align=True).run()
    assert pca.plot().axes[0].get_ylabel() == "Variance (%)"
    plane = pca.projection(universe.select_atoms(ALPHA), 2).run().plot()
    assert [axes.get_ylabel() for axes in plane.axes] == ["Component 2 (Å)", "Time (ps)"]
