"""Tests that AlignTraj and AverageStructure do to files and memory what those of MDAnalysis do."""

from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis import align
from MDAnalysis.exceptions import SelectionError as TheirSelectionError
from MDAnalysisTests.datafiles import CRD, DCD, PSF, TPR, TRR

import mdreel
from mdreel.errors import AtomOrderWarning, MismatchError, UnsupportedError

pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::DeprecationWarning", "ignore::MDAnalysis.exceptions.SelectionWarning"
)
BACKBONE = "backbone and resid 3:90"


def adk(*structure: str) -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, *(structure or (DCD,)))


def coordinates(universe: MDAnalysis.Universe) -> np.ndarray:
    return np.array([universe.atoms.positions for _ in universe.trajectory])


@pytest.mark.parametrize("order", ["fac", "afc"])
@pytest.mark.parametrize("window", [{}, {"start": 3, "step": 5}, {"frames": [7, 2, 9]}])
def test_positions_change_in_memory(window: dict[str, Any], order: str) -> None:
    axes = ["fac".index(axis) for axis in order]
    loaded = [
        MDAnalysis.Universe(PSF, np.ascontiguousarray(coordinates(adk()).transpose(axes)), order=order)
        for _ in range(2)
    ]
    for universe in loaded:
        universe.trajectory[4]
    ours = mdreel.AlignTraj(loaded[0], adk(CRD), BACKBONE).run(**window)
    theirs = align.AlignTraj(loaded[1], adk(CRD), BACKBONE).run(**window)
    np.testing.assert_allclose(ours.results.rmsd, theirs.results.rmsd, rtol=0, atol=1e-5)
    assert ours.filename is None
    assert ours.written is None
    assert loaded[0].trajectory.frame == 4
    np.testing.assert_array_equal(loaded[0].atoms.positions, coordinates(loaded[0])[4])
    np.testing.assert_allclose(coordinates(loaded[0]), coordinates(loaded[1]), rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", ["AlignTraj", "AverageStructure"])
def test_file_moves_into_memory(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    one, other = adk(), adk()
    options = {"select": BACKBONE, "filename": "unused.pdb", "in_memory": True}
    ours = getattr(mdreel, name)(one, adk(CRD), **options).run()
    theirs = getattr(align, name)(other, adk(CRD), **options).run()
    assert one.trajectory.format == other.trajectory.format == "MEMORY"
    np.testing.assert_allclose(coordinates(one), coordinates(other), rtol=0, atol=1e-4)
    np.testing.assert_allclose(ours.results.rmsd, theirs.results.rmsd, rtol=0, atol=1e-5)
    assert ours.filename is theirs.filename is None
    assert list(tmp_path.iterdir()) == []


def test_average_in_memory_keeps_to_transformations_and_to_one_process() -> None:
    universe = MDAnalysis.Universe(PSF, coordinates(adk()))
    alpha = universe.select_atoms("name CA")
    fit = mdreel.transformations.fit_rot_trans(alpha, alpha.positions + np.float32(3))
    average = mdreel.AverageStructure(universe, adk(), BACKBONE).run(transformations=[fit], n_workers=2)
    moved = universe.trajectory.timeseries(alpha.universe.select_atoms(BACKBONE), order="fac").mean(axis=0)
    np.testing.assert_allclose(average.results.positions, moved, rtol=0, atol=1e-4)


def test_trajectory_in_memory_takes_no_file_and_says_so(tmp_path: Path) -> None:
    universe = MDAnalysis.Universe(PSF, coordinates(adk()))
    with pytest.warns(UserWarning, match=r"a.xtc will not be written"):
        mdreel.AlignTraj(universe, adk(), "name CA", tmp_path / "a.xtc").run()
    with pytest.raises(MismatchError, match="in_memory"):
        mdreel.AlignTraj(adk(), adk(), in_memory=True, trajectory=DCD)
    before = coordinates(universe)
    mdreel.AlignTraj(universe, adk(CRD), "name CA", tmp_path / "a.xtc", trajectory=DCD).run()
    np.testing.assert_array_equal(coordinates(universe), before)
    assert (tmp_path / "a.xtc").exists()


def test_velocities_in_memory_stay_with_a_warning() -> None:
    universe = MDAnalysis.Universe(TPR, TRR)
    universe.transfer_to_memory(stop=2)
    velocities = universe.atoms.velocities.copy() if universe.trajectory.ts.has_velocities else None
    if velocities is None:
        positions = coordinates(universe)
        universe.load_new(positions, velocities=np.ones_like(positions))
    with pytest.warns(UserWarning, match="velocities in memory are not rotated"):
        mdreel.AlignTraj(universe, universe, "name CA").run()


def test_reference_is_the_current_frame_when_the_run_starts(tmp_path: Path) -> None:
    universe, reference = adk(), adk()
    reference.trajectory[5]
    ours = mdreel.AlignTraj(universe, reference, "name CA", tmp_path / "a.xtc")
    reference.trajectory[9]
    assert ours.run().results.rmsd.argmin() == 9
    assert reference.trajectory.frame == 9
    universe.trajectory[6]
    assert mdreel.AlignTraj(universe, universe, "name CA", tmp_path / "a.xtc").run().results.rmsd.argmin() == 6
    found = mdreel.AlignTraj(universe, reference, "name CA", tmp_path / "a.xtc", ref_frame=3).run().results.rmsd
    assert found.argmin() == 3


def test_reference_that_was_moved_is_taken_as_it_is(tmp_path: Path) -> None:
    reference = adk()
    reference.atoms.translate([5.0, 6.0, 7.0])
    centre = reference.select_atoms("name CA").positions.mean(axis=0)
    mdreel.AlignTraj(adk(), reference, "name CA", tmp_path / "a.dcd").run(stop=3)
    aligned = MDAnalysis.Universe(PSF, tmp_path / "a.dcd").select_atoms("name CA")
    np.testing.assert_allclose(aligned.positions.mean(axis=0), centre, atol=1e-4)


def test_file_has_a_default_name_and_replaces_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    aligned = mdreel.AlignTraj(adk(), adk(), "name CA").run(stop=2)
    assert aligned.filename == align.AlignTraj(adk(), adk(), "name CA").filename == "rmsfit_adk_dims.dcd"
    mdreel.AlignTraj(adk(), adk(), "name CA").run(stop=4)
    assert MDAnalysis.Universe(PSF, "rmsfit_adk_dims.dcd").trajectory.n_frames == 4
    with pytest.raises(FileExistsError):
        mdreel.AlignTraj(adk(), adk(), force=False)
    for trajectory in (DCD, [DCD], Path(DCD)):
        assert mdreel.AlignTraj(adk(), adk(), prefix="my_", trajectory=trajectory).filename == "my_adk_dims.dcd"
    chain = mdreel.AlignTraj(adk(DCD, DCD), adk(), prefix="my_")
    assert chain.filename == "my_adk_dims.dcd"
    with pytest.raises(MismatchError, match="is the input trajectory"):
        mdreel.AlignTraj(MDAnalysis.Universe(PSF, "rmsfit_adk_dims.dcd"), adk(), filename="rmsfit_adk_dims.dcd")


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_precision_is_that_of_the_writer_of_mdanalysis(tmp_path: Path, precision: int) -> None:
    options = {"select": "name CA", "writer_kwargs": {"precision": precision}}
    mdreel.AlignTraj(adk(), adk(), filename=tmp_path / "a.xtc", **options).run(stop=3)
    align.AlignTraj(adk(), adk(), filename=str(tmp_path / "b.xtc"), **options).run(stop=3)
    ours, theirs = (coordinates(MDAnalysis.Universe(PSF, tmp_path / name)) for name in ("a.xtc", "b.xtc"))
    step = 10.0 ** (1 - precision)
    np.testing.assert_allclose(ours / step, np.round(ours / step), atol=2e-3)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1.01 * step)
    with pytest.raises(UnsupportedError, match="remarks"):
        mdreel.AlignTraj(adk(), adk(), filename=tmp_path / "a.xtc", writer_kwargs={"remarks": "mine"})


def test_formats_that_only_mdanalysis_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = tmp_path / "ours.pdb", tmp_path / "theirs.pdb"
    for one, name in zip((mdreel, align), names, strict=True):
        one.AlignTraj(adk(), adk(CRD), "name CA", str(name)).run(step=40)
    ours, theirs = (MDAnalysis.Universe(name) for name in names)
    assert ours.trajectory.n_frames == theirs.trajectory.n_frames == 3
    np.testing.assert_allclose(coordinates(ours), coordinates(theirs), rtol=0, atol=1.01e-3)
    assert ours.atoms.names.tolist() == theirs.atoms.names.tolist()
    monkeypatch.chdir(tmp_path)
    alone = mdreel.AlignTraj(MDAnalysis.Universe("ours.pdb"), adk(CRD), "name CA", force=False)
    alone.run(stop=1)
    assert alone.filename == "rmsfit_ours.pdb"
    assert Path("rmsfit_ours.pdb").exists()
    with pytest.raises(FileExistsError):
        mdreel.AlignTraj(MDAnalysis.Universe("ours.pdb"), adk(CRD), "name CA", force=False)
    with pytest.raises(UnsupportedError, match="stores one frame, not 2"):
        mdreel.AlignTraj(adk(), adk(CRD), "name CA", "a.gro").run(stop=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ours.pdb", "rmsfit_ours.pdb", "theirs.pdb"]


def incomplete() -> MDAnalysis.Universe:
    """Return AdK without some atoms of the residues 8 and 90."""
    return MDAnalysis.Merge(adk(CRD).select_atoms("not (resid 8 and name CB) and not (resid 90 and name H*)"))


def test_residues_with_other_numbers_of_atoms_are_left_out(tmp_path: Path) -> None:
    with pytest.warns(AtomOrderWarning, match="2 of 214 residues.* ALA 8"):
        ours = mdreel.AlignTraj(adk(), incomplete(), filename=tmp_path / "a.dcd").run(stop=4)
    theirs = align.AlignTraj(adk(), incomplete(), filename=str(tmp_path / "b.dcd")).run(stop=4)
    np.testing.assert_allclose(ours.results.rmsd, theirs.results.rmsd, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(ours.mobile_atoms.ix, theirs.mobile_atoms.ix)
    np.testing.assert_array_equal(ours.ref_atoms.ix, theirs.ref_atoms.ix)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("AlignTraj", {"strict": True}),
        ("AlignTraj", {"match_atoms": False}),
        ("AlignTraj", {"select": ("name CA", "name CA and resid 1:9")}),
        ("AverageStructure", {}),
    ],
)
def test_other_numbers_of_atoms_are_the_error_of_mdanalysis(name: str, options: Any, tmp_path: Path) -> None:
    if name == "AlignTraj":
        options = {"filename": str(tmp_path / "a.dcd"), **options}
    for one in (mdreel, align):
        with pytest.raises(TheirSelectionError, match="atoms"):
            getattr(one, name)(adk(), incomplete(), **options)
    with pytest.raises(MismatchError, match=r"has \d+ atoms"):
        getattr(mdreel, name)(adk(), incomplete(), **options)


@pytest.mark.parametrize("name", ["AlignTraj", "AverageStructure"])
def test_mass_weights_are_the_masses_of_the_reference(name: str, tmp_path: Path) -> None:
    reference = adk(CRD)
    reference.atoms.masses = np.linspace(1, 50, len(reference.atoms))
    extra = {"filename": str(tmp_path / "a.dcd")} if name == "AlignTraj" else {}
    options = {"weights": "mass", "tol_mass": 100.0, "select": BACKBONE, **extra}
    ours, theirs = (getattr(one, name)(adk(), reference, **options).run(stop=4) for one in (mdreel, align))
    np.testing.assert_allclose(ours.results.rmsd, theirs.results.rmsd, rtol=0, atol=1e-5)


def test_attributes_are_those_of_mdanalysis(tmp_path: Path) -> None:
    options = {"select": "name CA", "filename": str(tmp_path / "a.dcd")}
    ours, theirs = (one.AlignTraj(adk(), adk(), **options).run(stop=4, step=2) for one in (mdreel, align))
    for name in ("mobile", "mobile_atoms", "ref_atoms"):
        np.testing.assert_array_equal(getattr(ours, name).ix, getattr(theirs, name).ix)
    np.testing.assert_array_equal(ours.frames, theirs.frames)
    np.testing.assert_allclose(ours.times, theirs.times)
    assert (ours.n_frames, ours.filename) == (theirs.n_frames, theirs.filename)
    with pytest.warns(DeprecationWarning, match=r"results\.rmsd"):
        np.testing.assert_array_equal(ours.rmsd, ours.results.rmsd)
