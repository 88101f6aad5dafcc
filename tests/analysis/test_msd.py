"""Tests of mean square displacements against MDAnalysis."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis.msd import EinsteinMSD
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC
from numpy.typing import NDArray

import mdreel
from mdreel.analysis.diffusion import diffusion_of
from mdreel.errors import MismatchError

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
    ours = mdreel.EinsteinMSD(alpha, msd_type, fft).run(step=2).results
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
    expected = mdreel.EinsteinMSD(universe_of(walk).atoms, "xyz").run().results
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
    found = mdreel.EinsteinMSD(mixed).run().results
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
    for options in ({"msd_type": "r"}, {"max_lag": -1}, {"nojump": "hybrid"}):
        with pytest.raises(MismatchError):
            mdreel.EinsteinMSD(alpha, **options)
    with pytest.raises(MismatchError, match="at equal intervals"):
        mdreel.EinsteinMSD(alpha).run(frames=[0, 1, 5])
    with pytest.raises(MismatchError, match="no periodic cell"):
        mdreel.EinsteinMSD(alpha, nojump="lattice").run()


def test_plot_has_the_line(walk: NDArray[np.float64]) -> None:
    atoms = universe_of(walk).atoms
    (axes,) = mdreel.EinsteinMSD(atoms).run().plot().axes
    assert axes.get_ylabel() == "Mean square displacement (Å²)"
    assert len(axes.lines) == 2
    assert len(mdreel.EinsteinMSD(atoms).run(stop=3).plot().axes[0].lines) == 1
