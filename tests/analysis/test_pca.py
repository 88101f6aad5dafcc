"""Tests of PCA against MDAnalysis and NumPy."""

import warnings
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis import pca as peer
from MDAnalysisTests.datafiles import DCD, GRO, PSF, XTC

import mdreel
from mdreel._core import Source
from mdreel.analysis.pca import cumulative_overlap, rmsip
from mdreel.errors import MismatchError, SelectionError, UnsupportedError

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
    with pytest.raises(MismatchError, match=r"Number of atoms in mean \(2\)"):
        mdreel.PCA(universe, ALPHA, mean=np.zeros((2, 3)))
    with pytest.raises(MismatchError, match="n_components must be 1 to"):
        mdreel.PCA(universe, ALPHA, n_components=0)
    with pytest.raises(MismatchError, match="a single frame has no covariance"):
        mdreel.PCA(universe, ALPHA).run(stop=1)
    with pytest.raises(MismatchError, match="must have the shape"):
        mdreel.PCA(universe, ALPHA, mean=np.zeros(180))
    with pytest.raises(MismatchError, match="give its positions"):
        mdreel.PCA(universe, ALPHA, mean=universe.select_atoms(ALPHA))
    with pytest.raises(MismatchError, match="not finite"):
        mdreel.PCA(universe, ALPHA, mean=np.full((60, 3), np.nan))
    with pytest.raises(UnsupportedError, match="universe is an UpdatingAtomGroup"):
        mdreel.PCA(universe.select_atoms("around 4 resname ALA", updating=True))


def test_what_needs_results_is_refused_before_a_run() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    atoms = universe.select_atoms(ALPHA)
    pca, done = mdreel.PCA(universe, ALPHA), mdreel.PCA(universe, ALPHA).run()
    assert not hasattr(pca, "mean")
    assert not hasattr(pca, "cov")
    for call in (
        lambda: pca.transform(atoms),
        lambda: pca.projection(atoms),
        lambda: pca.project_single_frame(0),
        lambda: pca.rmsip(done),
        lambda: done.cumulative_overlap(pca),
    ):
        with pytest.raises(ValueError, match=r"Call run\(\) on the PCA before"):
            call()
    with pytest.raises(ValueError, match="must be another PCA class"):
        done.rmsip(3)


def test_projections_refuse_other_numbers() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    atoms = universe.select_atoms(ALPHA)
    pca = mdreel.PCA(universe, ALPHA, n_components=3).run()
    assert pca.results.p_components.shape[1] == len(pca.results.variance) == pca.n_components == 3
    with pytest.raises(MismatchError, match="atomgroup has 2"):
        pca.transform(universe.atoms[:2])
    for n_components in (0, 4, -1):
        with pytest.raises(MismatchError, match="n_components must be 1 to 3"):
            pca.transform(atoms, n_components)
    with pytest.raises(MismatchError, match="needs align=True"):
        pca.transform(atoms, superposition=True)


@pytest.mark.parametrize("options", [{"start": 20, "stop": 60}, {"frames": [30, 2, 50, 60]}, {"start": 50, "step": -3}])
def test_frames_are_superposed_on_the_first_that_is_analysed(options: dict[str, Any]) -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    for mean in (None, universe.select_atoms(ALPHA).positions + 1.0):
        ours = mdreel.PCA(universe, ALPHA, align=True, mean=mean).run(**options)
        theirs = peer.PCA(universe, select=ALPHA, align=True, mean=mean).run(**options)
        np.testing.assert_allclose(ours.mean, theirs.mean, rtol=0, atol=1e-5)
        np.testing.assert_allclose(ours.cov, theirs.cov, rtol=0, atol=1e-4)
        assert (ours.cov == ours.cov.T).all()
    (together,) = mdreel.run([mdreel.PCA(universe, ALPHA, align=True, mean=mean)], **options)
    assert together.cov.tobytes() == ours.cov.tobytes()


def test_transform_gives_the_numbers_of_mdanalysis() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    atoms = universe.select_atoms(ALPHA)
    others = universe.select_atoms(ALPHA.replace("CA", "N"))
    for align in (False, True):
        ours, theirs = (kind(universe, select=ALPHA, align=align).run() for kind in (mdreel.PCA, peer.PCA))
        signs = np.sign((ours.results.p_components[:, :3] * theirs.results.p_components[:, :3]).sum(axis=0))
        # Repeated atoms take part as often as they are given, each with its own row of the components.
        repeated = atoms[np.r_[0:30, 0:30]]
        for group in (atoms, atoms[::-1], others, repeated):
            found, expected = (one.transform(group, 3, 5, 50, 3) for one in (ours, theirs))
            assert found.dtype == expected.dtype == np.float64
            assert found.shape == expected.shape == (15, 3)
            np.testing.assert_allclose(found * signs, expected, rtol=0, atol=2e-3)


def test_transform_warns_where_the_components_are_of_superposed_frames() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    atoms = universe.select_atoms(ALPHA)
    pca = mdreel.PCA(universe, ALPHA, align=True).run()
    with pytest.warns(UserWarning, match="give superposition=True") as caught:
        as_they_are = pca.transform(atoms, 2)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="superpose the trajectory first"):
        pca.project_single_frame(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        np.testing.assert_array_equal(pca.transform(atoms, 2, superposition=False), as_they_are)
        alike = pca.transform(atoms, 2, superposition=True)
    # Superposed as they were, frames have the variances of the components.
    np.testing.assert_allclose(np.cov(alike.T), np.diag(pca.results.variance[:2]), rtol=0, atol=1e-4)
    np.testing.assert_array_equal(pca.projection(atoms, 2).run().results.projection, alike)


def test_number_of_components_can_be_changed_after_a_run() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    pca, theirs = (kind(universe, select="name CA and resid 1:10") for kind in (mdreel.PCA, peer.PCA))
    assert pca.n_components is theirs.n_components is None
    for one in (pca, theirs):
        one.n_components = 3
        one.run()
    for n_components in (None, 4, 7):
        for one in (pca, theirs):
            one.n_components = n_components
        assert pca.n_components == theirs.n_components
        for name in ("p_components", "variance", "cumulated_variance"):
            assert pca.results[name].shape == theirs.results[name].shape
            assert pca.results[name].dtype == theirs.results[name].dtype
        np.testing.assert_allclose(pca.results.cumulated_variance, theirs.results.cumulated_variance, atol=1e-5)
    with pytest.warns(UserWarning, match="only have 30 components: all are kept"):
        pca.n_components = 99
    assert pca.n_components == 30
    with pytest.raises(MismatchError, match="n_components must be 1 to 30"):
        pca.n_components = -1
    for name in ("p_components", "variance", "cumulated_variance"):
        with pytest.warns(DeprecationWarning, match=name):
            assert getattr(pca, name) is pca.results[name]


def test_atoms_in_another_order_or_repeated_have_the_covariance_of_numpy(adk_positions: np.ndarray) -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    group = universe.atoms[[40, 7, 7, 300, 2]]
    x = adk_positions[:, group.ix].reshape(98, -1).astype(np.float64)
    pca = mdreel.PCA(group, select=None).run()
    np.testing.assert_allclose(pca.cov, np.cov(x.T), rtol=0, atol=1e-5)
    np.testing.assert_allclose(pca.mean, x.mean(axis=0).reshape(-1, 3), rtol=0, atol=1e-5)
    projected = pca.transform(group, 3)
    np.testing.assert_allclose(projected, (x - x.mean(axis=0)) @ pca.results.p_components[:, :3], rtol=0, atol=1e-4)
    of_residues = mdreel.PCA(universe.residues[:2], select=None, align=True).run()
    assert of_residues.cov.tobytes() == mdreel.PCA(universe.residues[:2].atoms, align=True).run().cov.tobytes()
    ordered = mdreel.PCA(group).run()
    np.testing.assert_allclose(
        ordered.cov, peer.PCA(group.unique.universe, select="index 2 7 40 300").run().cov, atol=1e-4
    )


def test_overlaps_of_analyses_are_those_of_mdanalysis() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    ours, theirs = (
        [kind(universe, select=ALPHA).run(**part) for part in ({"stop": 40}, {"start": 40})]
        for kind in (mdreel.PCA, peer.PCA)
    )
    for n_components in (1, 3, (3,), (3, 5), [5, 3]):
        assert ours[0].rmsip(ours[1], n_components) == pytest.approx(theirs[0].rmsip(theirs[1], n_components), abs=1e-3)
    for i, n_components in ((0, 1), (2, 10)):
        expected = theirs[0].cumulative_overlap(theirs[1], i, n_components)
        assert ours[0].cumulative_overlap(ours[1], i, n_components) == pytest.approx(expected, abs=1e-3)
    with pytest.raises(MismatchError, match="Too many values"):
        ours[0].rmsip(ours[1], (1, 2, 3))
    with pytest.raises(MismatchError, match="n_components must be 1 to 180"):
        ours[0].rmsip(ours[1], 181)  # MDAnalysis divides by the number that is not there


def test_plots_draw_variances_and_a_plane(universe: MDAnalysis.Universe) -> None:
    pca = mdreel.PCA(universe, ALPHA, align=True).run()
    assert pca.plot().axes[0].get_ylabel() == "Variance (%)"
    plane = pca.projection(universe.select_atoms(ALPHA), 2).run().plot()
    assert [axes.get_ylabel() for axes in plane.axes] == ["Component 2 (Å)", "Time (ps)"]
