"""Tests of RMSD against MDAnalysis, and with unusual input."""

from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis import rms
from MDAnalysisTests.datafiles import CRD, DCD, GRO, PSF, XTC

import mdreel
from mdreel.errors import FormatError, FrameIndexError, MismatchError, SelectionError, UnsupportedError
from mdreel.trajectory.open import open as open_trajectory

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
ACCURACY = 1e-6  # Å


@pytest.fixture
def adk() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, DCD)


@pytest.fixture
def ca(adk: MDAnalysis.Universe) -> MDAnalysis.AtomGroup:
    return adk.select_atoms("protein and name CA")


def difference(ours: np.ndarray, theirs: np.ndarray) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=ACCURACY)


@pytest.mark.parametrize("weights", [None, "mass"])
@pytest.mark.parametrize("ref_frame", [0, 41])
@pytest.mark.parametrize("window", [{}, {"start": 3, "stop": 90, "step": 7}, {"step": -5}, {"frames": [5, 3, 5, -1]}])
def test_rmsd_agrees_with_mdanalysis_on_dcd(ca: Any, weights: Any, ref_frame: int, window: dict[str, Any]) -> None:
    ours = mdreel.RMSD(ca, weights=weights, ref_frame=ref_frame).run(**window)
    theirs = rms.RMSD(ca, weights=weights, ref_frame=ref_frame).run(**window)
    difference(ours.results.rmsd, theirs.results.rmsd)
    assert ours.results.rmsd.dtype == np.float64
    assert ours.n_frames == len(theirs.results.rmsd)
    np.testing.assert_array_equal(ours.frames, ours.results.rmsd[:, 0])
    np.testing.assert_array_equal(ours.times, ours.results.rmsd[:, 1])


@pytest.mark.parametrize("selection", ["protein and name CA", "index 47600:47680", "all"])
def test_rmsd_agrees_with_mdanalysis_on_a_system_rich_in_water(selection: str) -> None:
    atoms = MDAnalysis.Universe(GRO, XTC).select_atoms(selection)
    ours = mdreel.RMSD(atoms).run().results.rmsd
    theirs = rms.RMSD(atoms).run().results.rmsd
    difference(ours[1:], theirs[1:])
    # MDAnalysis takes the centre off in float32: a frame's distance from itself comes out as up to 2e-6 Å.
    assert ours[0, 2] < 1e-9
    positions = np.array([atoms.positions for _ in atoms.universe.trajectory], np.float64)
    expected = [superposed_rmsd(frame, positions[0]) for frame in positions[1:]]
    np.testing.assert_allclose(ours[1:, 2], expected, rtol=1e-10)


def superposed_rmsd(frame: np.ndarray, reference: np.ndarray) -> float:
    """Return the minimum RMSD from a singular value decomposition (Kabsch 1976), in float64."""
    frame, reference = frame - frame.mean(axis=0), reference - reference.mean(axis=0)
    left, scales, right = np.linalg.svd(frame.T @ reference)
    scales[2] *= np.sign(np.linalg.det(left @ right))
    squares = (frame**2).sum() + (reference**2).sum() - 2 * scales.sum()
    return float(np.sqrt(max(squares, 0.0) / len(frame)))


def test_rmsd_agrees_with_mdanalysis_on_xtc(adk_xtc: Path) -> None:
    atoms = MDAnalysis.Universe(PSF, str(adk_xtc)).select_atoms("protein and name CA")
    difference(mdreel.RMSD(atoms).run().results.rmsd, rms.RMSD(atoms).run().results.rmsd)


@pytest.mark.parametrize("weights", [None, "mass"])
def test_rmsd_without_superposition_compares_positions_as_they_are(ca: Any, weights: Any) -> None:
    ours = mdreel.RMSD(ca, weights=weights, superposition=False).run().results.rmsd[:, 2]
    w = ca.masses if weights else np.ones(len(ca))
    positions = np.array([ca.positions for _ in ca.universe.trajectory], np.float64)
    squares = ((positions - positions[0]) ** 2).sum(axis=2)
    difference(ours, np.sqrt(squares @ w / w.sum()))


def test_rmsd_takes_a_reference_of_another_universe_and_leaves_its_frame(ca: Any) -> None:
    other = MDAnalysis.Universe(PSF, DCD)
    other.trajectory[11]
    reference = other.select_atoms("protein and name CA")
    ours = mdreel.RMSD(ca, reference, ref_frame=50).run().results.rmsd
    assert other.trajectory.frame == 11
    difference(ours, mdreel.RMSD(ca, ref_frame=50).run().results.rmsd)
    crystal = MDAnalysis.Universe(PSF, CRD).select_atoms("protein and name CA")
    difference(mdreel.RMSD(ca, crystal).run().results.rmsd, rms.RMSD(ca, crystal).run().results.rmsd)


def test_rmsd_takes_positions_as_reference(ca: Any) -> None:
    positions = ca.positions.copy()
    expected = mdreel.RMSD(ca).run().results.rmsd
    np.testing.assert_array_equal(mdreel.RMSD(ca, positions).run().results.rmsd, expected)
    np.testing.assert_array_equal(mdreel.RMSD(ca, positions.tolist()).run().results.rmsd, expected)


def test_rmsd_takes_other_atoms_of_the_same_trajectory_as_reference(adk: Any) -> None:
    first, second = adk.select_atoms("name CA and resid 1:50"), adk.select_atoms("name CA and resid 51:100")
    ours = mdreel.RMSD(first, second, ref_frame=3).run().results.rmsd
    adk.trajectory[3]
    np.testing.assert_array_equal(ours, mdreel.RMSD(first, second.positions.copy()).run().results.rmsd)


def test_rmsd_never_moves_the_universe(adk: Any, ca: Any) -> None:
    adk.trajectory[7]
    mdreel.RMSD(ca, ref_frame=3).run()
    mdreel.RMSD(ca, adk.select_atoms("name CA"), ref_frame=9).run()
    assert adk.trajectory.frame == 7


def test_rmsd_does_not_depend_on_the_order_of_the_atoms(ca: Any) -> None:
    order = np.random.default_rng(5).permutation(len(ca))
    weights = np.random.default_rng(6).uniform(size=len(ca))
    positions = ca.positions.copy()
    expected = mdreel.RMSD(ca, positions, weights=weights).run().results.rmsd
    shuffled = mdreel.RMSD(ca[order], positions[order], select=None, weights=weights[order]).run().results.rmsd
    np.testing.assert_array_equal(shuffled, expected)
    with pytest.raises(MismatchError, match="use select=None"):
        mdreel.RMSD(ca[order], positions[order])


def test_rmsd_counts_a_repeated_atom_as_often_as_it_is_given(ca: Any) -> None:
    repeated = ca + ca[:10]
    weights = np.ones(len(ca))
    weights[:10] = 2
    expected = mdreel.RMSD(ca, weights=weights).run().results.rmsd
    ours = mdreel.RMSD(repeated, select=None).run().results.rmsd
    np.testing.assert_array_equal(ours, expected)
    positions = np.array([repeated.positions for _ in ca.universe.trajectory], np.float64)
    np.testing.assert_allclose(ours[1:, 2], [superposed_rmsd(x, positions[0]) for x in positions[1:]], rtol=1e-10)
    with pytest.raises(MismatchError, match="more than once"):
        mdreel.RMSD(repeated, np.random.default_rng(2).normal(size=(len(repeated), 3)), select=None)


def test_rmsd_reads_a_trajectory_that_the_universe_does_not_have(ca: Any, adk_xtc: Path) -> None:
    atoms = MDAnalysis.Universe(PSF).select_atoms("protein and name CA")
    expected = mdreel.RMSD(ca).run().results.rmsd
    for trajectory in (DCD, [DCD], Path(DCD), open_trajectory(DCD)):
        np.testing.assert_array_equal(mdreel.RMSD(atoms, trajectory=trajectory).run().results.rmsd, expected)
    both = mdreel.RMSD(atoms, trajectory=[DCD, DCD]).run().results.rmsd
    np.testing.assert_array_equal(both[:, 0], np.arange(196))
    np.testing.assert_array_equal(both[:98, 2], expected[:, 2])
    np.testing.assert_array_equal(both[98:, 1:], expected[:, 1:])


def test_rmsd_of_frames_in_memory_is_that_of_the_file(ca: Any, adk_positions: np.ndarray) -> None:
    memory = MDAnalysis.Universe(PSF, adk_positions).select_atoms("protein and name CA")
    ours = mdreel.RMSD(memory).run().results.rmsd
    np.testing.assert_array_equal(ours[:, 2], mdreel.RMSD(ca).run().results.rmsd[:, 2])
    np.testing.assert_array_equal(ours[:, 1], np.arange(98))


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ({"start": 98}, "98 frames"),
        ({"start": 5, "stop": 5}, "98 frames"),
        ({"step": 0}, "step must not be 0"),
        ({"frames": [0, 98]}, "frame 98 does not exist: the trajectory has 98 frames"),
        ({"frames": [-99]}, "frame -99 does not exist"),
        ({"frames": []}, r"shape \(0,\)"),
        ({"frames": np.zeros(98, bool)}, "98 frames"),
    ],
)
def test_rmsd_refuses_frames_that_do_not_exist(ca: Any, window: dict[str, Any], message: str) -> None:
    with pytest.raises(FrameIndexError, match=message):
        mdreel.RMSD(ca).run(**window)


def test_rmsd_takes_a_mask_of_frames(ca: Any) -> None:
    mask = np.arange(98) % 9 == 4
    np.testing.assert_array_equal(mdreel.RMSD(ca).run(frames=mask).frames, np.flatnonzero(mask))
    with pytest.raises(MismatchError, match="97 frames"):
        mdreel.RMSD(ca).run(frames=mask[:97])
    with pytest.raises(MismatchError, match="not both"):
        mdreel.RMSD(ca).run(frames=mask, step=2)


@pytest.mark.parametrize("ref_frame", [98, -99])
def test_rmsd_refuses_a_reference_frame_that_does_not_exist(ca: Any, ref_frame: int) -> None:
    with pytest.raises(FrameIndexError, match=f"frame {ref_frame} does not exist"):
        mdreel.RMSD(ca, ref_frame=ref_frame).run()


def test_rmsd_refuses_groups_that_it_cannot_analyse(adk: Any, ca: Any) -> None:
    with pytest.raises(SelectionError, match="no atoms"):
        mdreel.RMSD(adk.select_atoms("name CA and name CB"))
    with pytest.raises(SelectionError, match=r"not 42 \(int\)"):
        mdreel.RMSD(42)
    with pytest.raises(UnsupportedError, match="UpdatingAtomGroup"):
        mdreel.RMSD(adk.select_atoms("around 3 resid 1", updating=True), select=None)
    with pytest.raises(MismatchError, match="214 atoms, reference has 213"):
        mdreel.RMSD(ca, ca[:-1])
    with pytest.raises(MismatchError, match=r"\(214, 3\), got \(213, 3\)"):
        mdreel.RMSD(ca, ca.positions[:-1])
    with pytest.raises(MismatchError, match=r"\(214,\), got \(3,\)"):
        mdreel.RMSD(ca, weights=[1, 2, 3])
    with pytest.raises(MismatchError, match="'charge'"):
        mdreel.RMSD(ca, weights="charge")  # type: ignore[arg-type]
    with pytest.raises(SelectionError, match="masses"):
        bare = MDAnalysis.Universe.empty(3, trajectory=True)
        mdreel.RMSD(bare.atoms, weights="mass")


def test_rmsd_refuses_a_trajectory_of_other_atoms(ca: Any) -> None:
    with pytest.raises(MismatchError, match=r"adk_oplsaa\.xtc: the trajectory has 47681 atoms, the topology has 3341"):
        mdreel.RMSD(ca, trajectory=XTC).run()


def test_rmsd_representation_and_summary(ca: Any) -> None:
    rmsd = mdreel.RMSD(ca)
    assert repr(rmsd) == "<RMSD of 214 atoms, not run>"
    with pytest.raises(AttributeError, match="run"):
        _ = rmsd.timing
    assert rmsd.run() is rmsd
    assert repr(rmsd) == "<RMSD of 214 atoms, 98 frames>"
    assert "highest" in rmsd._repr_html_()
    assert "frames/s" in rmsd._repr_html_()
    figure = rmsd.plot()
    assert "RMSD (Å)" in [axes.get_ylabel() for axes in figure.axes]


def test_rmsd_of_a_torn_file_is_an_error_that_says_where(ca: Any, tmp_path: Path, adk_xtc: Path) -> None:
    torn = tmp_path / "torn.xtc"
    torn.write_bytes(adk_xtc.read_bytes()[:-100])
    rmsd = mdreel.RMSD(ca, trajectory=torn)
    for _ in range(2):  # without and with the index
        with pytest.raises(FormatError, match=r"torn\.xtc, frame 97, byte"):
            rmsd.run()
    assert rmsd.run(stop=97).n_frames == 97
