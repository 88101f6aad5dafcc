"""Tests of mean square displacements against MDAnalysis."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis.msd import EinsteinMSD
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC, LAMMPSDUMP_non_linear
from numpy.typing import NDArray

import mdreel
from mdreel._core import Source
from mdreel.analysis.diffusion import diffusion_of
from mdreel.analysis.uneven_lags import UnevenLags
from mdreel.errors import MismatchError, SelectionError, UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
BOX = 20.0


@pytest.fixture(scope="module")
def walk() -> NDArray[np.float64]:
    """Return random walks with steps of 0.5 Å, shape (n_frames, n_particles, 3)."""
    steps = np.random.default_rng(5).normal(0, 0.5, (1500, 70, 3))
    return np.cumsum(steps, axis=0).astype(np.float32).astype(np.float64)


def universe_of(positions: NDArray[np.float64], **options: object) -> MDAnalysis.Universe:
    universe = MDAnalysis.Universe.empty(positions.shape[1], trajectory=True)
    universe.load_new(positions.astype(np.float32), **options)
    return universe


@pytest.fixture(scope="module")
def alpha() -> MDAnalysis.AtomGroup:
    return MDAnalysis.Universe(PSF, DCD).select_atoms("name CA")


@pytest.mark.parametrize("msd_type", ["xyz", "xy", "xz", "yz", "x", "y", "z"])
@pytest.mark.parametrize("fft", [True, False])
def test_msd_agrees_with_mdanalysis(alpha: MDAnalysis.AtomGroup, msd_type: str, fft: bool) -> None:
    ours = mdreel.EinsteinMSD(alpha, None, msd_type, fft).run(step=2).results
    theirs = EinsteinMSD(alpha, msd_type=msd_type, fft=False).run(step=2).results
    np.testing.assert_allclose(ours.timeseries, theirs.timeseries, rtol=0, atol=1e-6)
    np.testing.assert_allclose(ours.msds_by_particle, theirs.msds_by_particle, rtol=0, atol=1e-6)
    np.testing.assert_allclose(ours.delta_t_values, theirs.delta_t_values, rtol=1e-6)


def test_both_ways_give_the_same(walk: NDArray[np.float64]) -> None:
    atoms = universe_of(walk).atoms
    whole = mdreel.EinsteinMSD(atoms).run().results
    for max_lag in (0, 1, 77, 10_000):
        options = {"max_lag": max_lag, "per_particle": False}
        by_fft = mdreel.EinsteinMSD(atoms, **options).run().results
        direct = mdreel.EinsteinMSD(atoms, fft=False, **options).run().results
        n_lags = min(max_lag + 1, len(walk))
        assert by_fft.timeseries.shape == direct.timeseries.shape == (n_lags,)
        np.testing.assert_allclose(by_fft.timeseries, whole.timeseries[:n_lags], atol=1e-8)
        np.testing.assert_allclose(direct.timeseries, whole.timeseries[:n_lags], atol=1e-8)
        assert "msds_by_particle" not in by_fft


@pytest.mark.parametrize("scheme", ["lattice", "toroidal"])
def test_jumps_are_undone_on_any_executor(walk: NDArray[np.float64], tmp_path: Path, scheme: str) -> None:
    expected = mdreel.EinsteinMSD(universe_of(walk), "all", "xyz").run().results
    wrapped = universe_of(walk % BOX, dimensions=[BOX, BOX, BOX, 90, 90, 90])
    wrapped.atoms.write(tmp_path / "wrapped.dcd", frames="all")
    alone = mdreel.EinsteinMSD(wrapped.atoms, nojump=scheme, trajectory=tmp_path / "wrapped.dcd").run(backend="serial")
    np.testing.assert_allclose(alone.results.timeseries, expected.timeseries, rtol=1e-5, atol=1e-4)
    for options in ({"n_parts": 31}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2}):
        other = mdreel.EinsteinMSD(wrapped.atoms, nojump=scheme, trajectory=tmp_path / "wrapped.dcd").run(**options)
        assert other.results.timeseries.tobytes() == alone.results.timeseries.tobytes(), options
        assert other.results.msds_by_particle.tobytes() == alone.results.msds_by_particle.tobytes(), options
    by_source = mdreel.EinsteinMSD(wrapped.atoms).run(transformations=[mdreel.transformations.nojump(scheme)]).results
    np.testing.assert_allclose(by_source.timeseries, alone.results.timeseries, rtol=1e-5, atol=1e-4)


def test_schemes_agree_in_a_triclinic_cell_of_constant_size() -> None:
    atoms = MDAnalysis.Universe(TPR, XTC).select_atoms("name OW")[::50]
    lattice, toroidal = (mdreel.EinsteinMSD(atoms, nojump=scheme).run() for scheme in ("lattice", "toroidal"))
    plain = mdreel.EinsteinMSD(atoms).run()
    # The size fluctuates by 0.1 %.
    np.testing.assert_allclose(lattice.results.timeseries, toroidal.results.timeseries, rtol=0.02)
    assert lattice.results.timeseries[-1] < 0.7 * plain.results.timeseries[-1]


def test_particles_come_in_the_order_of_the_group(alpha: MDAnalysis.AtomGroup) -> None:
    mixed = alpha[[7, 3, 7, 0]]
    found = mdreel.EinsteinMSD(mixed, None).run().results
    each = mdreel.EinsteinMSD(alpha).run().results.msds_by_particle
    np.testing.assert_allclose(found.msds_by_particle, each[:, [7, 3, 7, 0]], atol=1e-9)
    np.testing.assert_allclose(found.timeseries, each[:, [7, 3, 7, 0]].mean(axis=1), atol=1e-9)


def test_random_walk_has_its_diffusion_coefficient(walk: NDArray[np.float64]) -> None:
    msd = mdreel.EinsteinMSD(universe_of(walk).atoms, max_lag=100).run()
    fit = msd.diffusion()
    assert abs(fit.coefficient - 0.125) < 0.01  # variance of a step along an axis / 2, per ps
    assert fit.error < 0.02
    assert (fit.begin, fit.end) == (10.0, 90.0)
    line = diffusion_of(np.arange(10.0), 3.0 + 6.0 * np.arange(10.0), 3, 2.0, 8.0)
    np.testing.assert_allclose([line.coefficient, line.error, line.slope, line.intercept], [1, 0, 6, 3], atol=1e-9)
    with pytest.raises(MismatchError, match="the fit needs 4 lag times from 1 to 2 ps, got 2"):
        msd.diffusion(1.0, 2.0)


def test_msd_refuses_invalid_input(alpha: MDAnalysis.AtomGroup) -> None:
    for options in (
        {"msd_type": "r"},
        {"msd_type": 3},
        {"max_lag": -1},
        {"nojump": "hybrid"},
        {"max_lag": 3, "non_linear": True},
    ):
        with pytest.raises(MismatchError):
            mdreel.EinsteinMSD(alpha, **options)
    with pytest.raises(MismatchError, match="leave it out for these frames"):
        mdreel.EinsteinMSD(alpha, max_lag=2).run(frames=[0, 1, 5])
    with pytest.raises(SelectionError, match="'name XX' has no atoms"):
        mdreel.EinsteinMSD(alpha, "name XX")
    updating = alpha.universe.select_atoms("prop x > 0", updating=True)
    for error in (TypeError, UnsupportedError):
        with pytest.raises(error, match="UpdatingAtomGroups are not valid"):
            mdreel.EinsteinMSD(updating)
    with pytest.raises(MismatchError, match="no periodic cell"):
        mdreel.EinsteinMSD(alpha, nojump="lattice").run()


def test_selection_is_that_of_mdanalysis(alpha: MDAnalysis.AtomGroup) -> None:
    mixed = alpha[[7, 3, 7, 0]]
    for group, select in ((alpha.universe, "name CA and resid 1:9"), (mixed, "all"), (mixed, "resid 4 8")):
        ours = mdreel.EinsteinMSD(group, select, fft=False)
        theirs = EinsteinMSD(group, select, fft=False).run(stop=9)
        assert ours.ag == theirs.ag
        assert (ours.n_particles, ours.dim_fac) == (theirs.n_particles, theirs.dim_fac)
        np.testing.assert_allclose(
            ours.run(stop=9).results.msds_by_particle, theirs.results.msds_by_particle, atol=1e-6
        )


@pytest.mark.parametrize("chosen", [{}, {"step": 2}, {"start": 3, "stop": 9, "step": 2}, {"frames": [0, 1, 4, 5]}])
def test_frames_at_unequal_intervals_agree_with_mdanalysis(chosen: dict) -> None:
    universe = MDAnalysis.Universe(LAMMPSDUMP_non_linear, format="LAMMPSDUMP")
    for msd_type in ("xyz", "xz", "y"):
        options = {"msd_type": msd_type, "non_linear": True}
        ours = mdreel.EinsteinMSD(universe, **options).run(**chosen).results
        theirs = EinsteinMSD(universe, fft=False, **options).run(**chosen).results
        for name in ("timeseries", "delta_t_values", "msds_by_particle"):
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-12, atol=1e-12)


def test_lags_are_those_between_the_frames_that_the_user_chooses(walk: NDArray[np.float64]) -> None:
    universe = universe_of(walk)
    frames = [0, 1, 3, 6, 7]
    ours = mdreel.EinsteinMSD(universe).run(frames=frames).results
    theirs = EinsteinMSD(universe, fft=False).run(frames=frames).results
    np.testing.assert_allclose(ours.delta_t_values, theirs.delta_t_values)
    np.testing.assert_allclose(ours.msds_by_particle, theirs.msds_by_particle, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("times", [np.zeros(40), -np.arange(40.0)])
def test_times_that_do_not_increase_are_refused(walk: NDArray[np.float64], times: NDArray[np.float64]) -> None:
    source = Source.memory(walk[:40].astype(np.float32), times)
    with pytest.raises(MismatchError, match="need times that increase"):
        mdreel.EinsteinMSD(universe_of(walk[:40]), trajectory=source).run()


def test_even_frames_have_the_same_displacements_either_way(walk: NDArray[np.float64]) -> None:
    universe = universe_of(walk[:40])
    even, uneven = (mdreel.EinsteinMSD(universe, non_linear=each).run().results for each in (False, True))
    np.testing.assert_allclose(uneven.delta_t_values, even.delta_t_values)
    np.testing.assert_allclose(uneven.msds_by_particle, even.msds_by_particle, atol=1e-9)


def test_lags_that_differ_by_rounding_are_the_same() -> None:
    times = np.array([0.1, 0.2, 0.3, 0.7], np.float32).astype(np.float64) + 1000
    lags = UnevenLags.of(times)
    np.testing.assert_allclose(lags.times, [0, 0.1, 0.2, 0.4, 0.5, 0.6], atol=1e-6)
    np.testing.assert_array_equal(lags.n_pairs, [4, 2, 1, 1, 1, 1])
    with pytest.raises(MismatchError, match="2 ps is followed by 1 ps"):
        UnevenLags.of(np.array([0.0, 2.0, 1.0]))


def test_missing_frames_in_a_trajectory_are_an_error_without_non_linear() -> None:
    universe = MDAnalysis.Universe(LAMMPSDUMP_non_linear, format="LAMMPSDUMP")
    with pytest.raises(MismatchError, match="non_linear=True"):
        mdreel.EinsteinMSD(universe).run()


def test_plot_has_the_line(walk: NDArray[np.float64]) -> None:
    atoms = universe_of(walk).atoms
    (axes,) = mdreel.EinsteinMSD(atoms).run().plot().axes
    assert axes.get_ylabel() == "Mean square displacement (Å²)"
    assert len(axes.lines) == 2
    assert len(mdreel.EinsteinMSD(atoms).run(stop=3).plot().axes[0].lines) == 1
