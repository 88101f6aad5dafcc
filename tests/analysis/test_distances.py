"""Tests of distance arrays and their averages."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.lib.distances import distance_array
from MDAnalysisTests.datafiles import DCD, GRO, PSF, XTC

import mdreel
from mdreel.errors import MismatchError, SelectionError
from mdreel.trajectory.open import open as open_trajectory

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
CUTOFF = 9.0
SINGLE = 1e-4  # Å: MDAnalysis computes distances in single precision


@pytest.fixture(params=[(PSF, DCD), (GRO, XTC)], ids=["adk", "water"])
def universe(request: pytest.FixtureRequest) -> MDAnalysis.Universe:
    return MDAnalysis.Universe(*request.param)


@pytest.mark.parametrize("pbc", [False, True])
def test_distances_within_frames_agree_with_mdanalysis(universe: MDAnalysis.Universe, pbc: bool) -> None:
    first, second = universe.select_atoms("name CA and resid 1:30"), universe.select_atoms("name CB and resid 20:50")
    has_images = pbc and universe.dimensions is not None
    ours = mdreel.DistanceArray(first, second, pbc=has_images).run(step=4).results.distances
    theirs = [
        distance_array(first.positions, second.positions, box=universe.dimensions if has_images else None)
        for _ in universe.trajectory[::4]
    ]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=SINGLE)
    if not has_images:
        universe.trajectory[4]
        between = first.positions.astype(float)[:, None] - second.positions.astype(float)
        np.testing.assert_allclose(ours[1], np.linalg.norm(between, axis=-1), rtol=0, atol=1e-9)
    own = mdreel.DistanceArray(first).run(stop=1).results.distances[0]
    np.testing.assert_array_equal(own, own.T)
    assert (np.diagonal(own) == 0).all()


def test_distances_to_the_first_frame_agree_with_mdanalysis(universe: MDAnalysis.Universe) -> None:
    alpha = universe.select_atoms("name CA")
    universe.trajectory[2]
    reference = alpha.positions.copy()
    theirs = [distance_array(alpha.positions, reference) for _ in universe.trajectory]
    for given in (alpha, reference):
        ours = mdreel.DistanceArray(alpha, reference=given, ref_frame=2).run().results.distances
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=SINGLE)


def test_statistics_are_those_of_all_distances(universe: MDAnalysis.Universe) -> None:
    first, second = universe.select_atoms("name CA"), universe.select_atoms("name N and resid 3:40")
    distances = mdreel.DistanceArray(first, second).run().results.distances
    reduced = mdreel.DistanceArray(first, second, cutoff=CUTOFF).run().results
    np.testing.assert_allclose(reduced.mean, distances.mean(axis=0), rtol=0, atol=1e-9)
    np.testing.assert_allclose(reduced.variance, distances.var(axis=0), rtol=0, atol=1e-7)
    np.testing.assert_array_equal(reduced.contact_frequency, (distances < CUTOFF).mean(axis=0))


def test_distances_are_bitwise_identical_for_all_executors(adk_xtc: Path) -> None:
    alpha = MDAnalysis.Universe(PSF).select_atoms("name CA and resid 1:60")

    def bits(cutoff: float | None, **options: object) -> bytes:
        source = open_trajectory(adk_xtc, index="none")
        results = mdreel.DistanceArray(alpha, cutoff=cutoff, trajectory=source).run(**options).results
        return b"".join(np.asarray(value).tobytes() for value in results.values())

    for cutoff in (None, CUTOFF):
        expected = bits(cutoff, backend="serial")
        for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2, "n_parts": 5}):
            assert bits(cutoff, **options) == expected, options


def test_distances_refuse_invalid_input(universe: MDAnalysis.Universe) -> None:
    alpha = universe.select_atoms("name CA")
    with pytest.raises(SelectionError, match="other has no atoms"):
        mdreel.DistanceArray(alpha, alpha[:0])
    with pytest.raises(MismatchError, match="not both"):
        mdreel.DistanceArray(alpha, alpha, reference=alpha)
    with pytest.raises(MismatchError, match="another Universe"):
        mdreel.DistanceArray(alpha, MDAnalysis.Universe(PSF, DCD).atoms)
    with pytest.raises(MismatchError, match=r"shape \(n, 3\), got \(4, 2\)"):
        mdreel.DistanceArray(alpha, reference=np.zeros((4, 2))).run()
    with pytest.raises(MismatchError, match="reference must have finite coordinates"):
        mdreel.DistanceArray(alpha, reference=np.full((4, 3), np.nan)).run()
    if universe.dimensions is None:
        for cutoff in (None, CUTOFF):
            with pytest.raises(MismatchError, match="frame 0: no periodic cell"):
                mdreel.DistanceArray(alpha, cutoff=cutoff, pbc=True).run()
