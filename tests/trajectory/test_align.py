"""Aligned trajectories: the positions of MDAnalysis, velocities turned, and nothing left behind where it fails."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis import align
from MDAnalysisTests.datafiles import CRD, DCD, PSF, TPR, TRR

import mdreel
from mdreel._core import Source
from mdreel.errors import MismatchError, SelectionError, UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def positions_in(topology: str, path: Path) -> np.ndarray:
    universe = MDAnalysis.Universe(topology, path)
    return np.array([universe.atoms.positions for _ in universe.trajectory])


@pytest.mark.parametrize("weights", [None, "mass"])
@pytest.mark.parametrize("reference", [None, "structure"])
def test_positions_and_rmsd_are_those_of_mdanalysis(tmp_path: Path, weights: str | None, reference: str | None) -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    fixed = MDAnalysis.Universe(PSF, CRD if reference else DCD)
    theirs = align.AlignTraj(
        universe, fixed, select="backbone", filename=str(tmp_path / "a.dcd"), weights=weights
    ).run()
    universe = MDAnalysis.Universe(PSF, DCD)
    given = fixed if reference else None
    ours = mdreel.AlignTraj(universe, given, "backbone", tmp_path / "b.dcd", weights=weights).run()
    found, expected = (positions_in(PSF, tmp_path / name) for name in ("b.dcd", "a.dcd"))
    np.testing.assert_allclose(found, expected, rtol=0, atol=5e-5)  # theirs are rounded to single precision twice
    # MDAnalysis finds a frame up to 1e-6 Å from itself.
    np.testing.assert_allclose(ours.results.rmsd, theirs.results.rmsd, rtol=0, atol=1e-5)
    assert ours.written.n_frames == 98


def test_velocities_turn_with_the_atoms(tmp_path: Path) -> None:
    universe = MDAnalysis.Universe(TPR, TRR)
    mdreel.AlignTraj(universe, None, select="protein and name CA", filename=tmp_path / "a.trr", ref_frame=2).run(step=3)
    aligned = MDAnalysis.Universe(TPR, str(tmp_path / "a.trr"))
    for before, after in zip(universe.trajectory[::3], aligned.trajectory, strict=True):
        moved, velocities = after.positions[:300].astype(float), after.velocities[:300]
        still = before.positions[:300].astype(float)
        centred = [points - points.mean(axis=0) for points in (still, moved)]
        left, _, right = np.linalg.svd(centred[0].T @ centred[1])
        np.testing.assert_allclose(before.velocities[:300] @ (left @ right), velocities, atol=2e-3)
        np.testing.assert_array_equal(before.dimensions, after.dimensions)


def test_transformation_gives_frames_without_the_motion_of_the_whole(tmp_path: Path) -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    alpha = universe.select_atoms("name CA")
    fit = mdreel.transformations.fit_rot_trans(alpha, alpha.positions, weights="mass")
    as_they_are = mdreel.RMSD(alpha, superposition=False, weights="mass").run(transformations=[fit]).results.rmsd
    expected = mdreel.RMSD(alpha, weights="mass").run().results.rmsd
    np.testing.assert_allclose(as_they_are, expected, rtol=0, atol=1e-5)


def test_file_has_the_same_bytes_for_any_number_of_workers(tmp_path: Path, adk_xtc: Path) -> None:
    universe = MDAnalysis.Universe(PSF)
    contents = set()
    for n_workers in (1, 3):
        path = tmp_path / f"{n_workers}.xtc"
        mdreel.AlignTraj(universe, None, select="name CA", filename=path, trajectory=adk_xtc).run(n_workers=n_workers)
        contents.add(path.read_bytes())
    assert len(contents) == 1


def test_selections_may_differ_where_atoms_match(tmp_path: Path) -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    for name, options in (("a.dcd", {}), ("b.dcd", {"match_atoms": False})):
        both = ("name CA and resid 1:30", "name CA and resid 2:31")
        mdreel.AlignTraj(universe, universe, both, tmp_path / name, **options).run(stop=3)
    assert (tmp_path / "a.dcd").read_bytes() == (tmp_path / "b.dcd").read_bytes()


def test_what_cannot_be_aligned_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    with pytest.raises(MismatchError, match="filename"):
        mdreel.AlignTraj(universe, None, trajectory=Source.memory(np.zeros((1, 3341, 3), np.float32), np.zeros(1)))
    with pytest.raises(UnsupportedError, match="txt"):
        mdreel.AlignTraj(universe, None, filename=tmp_path / "a.txt")
    with pytest.raises(SelectionError, match="no atoms"):
        mdreel.AlignTraj(universe, None, select="name NONE", filename=tmp_path / "a.xtc")
    other = MDAnalysis.Universe(TPR)
    with pytest.raises(MismatchError, match=r"reference has.*residues"):
        mdreel.AlignTraj(universe, other.select_atoms("resid 1:50"), "backbone", tmp_path / "a.xtc")
    with pytest.raises(MismatchError, match="do not match those of the reference"):
        mdreel.AlignTraj(universe, universe, ("name CA", "name N"), tmp_path / "a.xtc")
    with pytest.raises(MismatchError, match="shape"):
        mdreel.transformations.fit_rot_trans(universe.select_atoms("name CA"), np.zeros((3, 3)))
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "a.xtc").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        mdreel.AlignTraj(universe, None, select="name CA", filename=tmp_path / "a.xtc", force=False)
    assert (tmp_path / "a.xtc").read_bytes() == b"mine"
