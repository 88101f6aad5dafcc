"""H5MD files that we write: MDAnalysis, plain h5py and our own reader find what went into them."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD_TRICLINIC, TRR, XTC, TRR_xvf

from conformance.mdanalysis_oracle import Frames, differences, frames_of_h5md, frames_of_mdreel
from mdreel._core import Source, version
from mdreel.errors import MismatchError
from mdreel.trajectory.convert import convert
from mdreel.trajectory.repack import repack
from mdreel.trajectory.split import split

pytestmark = pytest.mark.filterwarnings("ignore:DCDReader currently makes independent timesteps:DeprecationWarning")

N_FRAMES, N_ATOMS = 37, 23
TIMES = np.r_[0.1 * np.arange(N_FRAMES - 1), 99.25]
TRICLINIC = np.array([30, 35, 40, 77, 83, 95], np.float32)
UNITS = {"position": "Angstrom", "velocity": "Angstrom ps-1", "force": "kJ mol-1 Angstrom-1"}


def memory(n_frames: int = N_FRAMES, n_atoms: int = N_ATOMS, cell: np.ndarray | None = TRICLINIC) -> Source:
    positions = np.random.default_rng(n_atoms).uniform(-20, 50, (n_frames, n_atoms, 3)).astype(np.float32)
    dimensions = None
    if cell is not None:
        growth = np.r_[np.ones(3), np.zeros(3)] * np.arange(n_frames)[:, None]
        dimensions = (cell + growth).astype(np.float32)
        dimensions[3::5] = 0  # some frames have none
    return Source.memory(positions, TIMES[:n_frames], dimensions)


def agree_with_mdanalysis(path: Path) -> Frames:
    ours, theirs = frames_of_mdreel(path), frames_of_h5md(path)
    found = differences(ours, theirs)
    if found.pop("dimensions", None):  # see test_real_files.py: the vectors have all bits
        np.testing.assert_array_max_ulp(ours.dimensions, theirs.dimensions, maxulp=2)
    assert found == {}
    return theirs


@pytest.mark.parametrize("cell", [None, np.array([30, 35, 40, 90, 90, 90]), TRICLINIC], ids=["none", "cuboid", "all"])
@pytest.mark.parametrize("n_atoms", [1, 9, 300])
@pytest.mark.parametrize("ending", ["h5md", "h5"])
def test_mdanalysis_reads_what_went_into_the_file(
    tmp_path: Path, cell: np.ndarray | None, n_atoms: int, ending: str
) -> None:
    source, path = memory(n_atoms=n_atoms, cell=cell), tmp_path / f"a.{ending}"
    written = convert(source, path)
    assert (written.n_frames, written.timing.n_frames, written.n_atoms) == (N_FRAMES, N_FRAMES, n_atoms)
    theirs = agree_with_mdanalysis(path)
    positions = np.random.default_rng(n_atoms).uniform(-20, 50, (N_FRAMES, n_atoms, 3)).astype(np.float32)
    np.testing.assert_array_equal(theirs.positions, positions)
    np.testing.assert_array_equal(theirs.times, TIMES)
    np.testing.assert_array_equal(theirs.steps, np.arange(N_FRAMES))
    has_cell = ~np.isnan(theirs.dimensions).any(axis=1)
    assert has_cell.tolist() == [cell is not None and i % 5 != 3 for i in range(N_FRAMES)]
    if cell is not None:
        expected = np.r_[cell[:3] + 12, cell[3:]]
        np.testing.assert_allclose(theirs.dimensions[12], expected, rtol=1e-6)
        if (cell[3:] == 90).all():
            np.testing.assert_array_equal(theirs.dimensions[12], expected)


@pytest.mark.parametrize("original", [TRR, TRR_xvf, XTC, DCD_TRICLINIC])
@pytest.mark.parametrize("storage", [{"access": "frames"}, {"access": "atoms", "compression": "gzip"}])
def test_real_trajectories_come_back_in_every_bit(tmp_path: Path, original: str, storage: dict) -> None:
    path = tmp_path / "a.h5md"
    repack(original, path, **storage)
    theirs, before = agree_with_mdanalysis(path), frames_of_mdreel(Path(original))
    np.testing.assert_array_equal(theirs.positions, before.positions)
    np.testing.assert_array_equal(theirs.times, before.times)
    np.testing.assert_array_equal(theirs.steps, before.steps)
    for name in ("velocities", "forces"):
        mine, other = getattr(theirs, name), getattr(before, name)
        if np.isnan(other).any():
            assert mine is None
        else:
            np.testing.assert_array_equal(mine, other)
    np.testing.assert_array_equal(frames_of_mdreel(path).vectors, before.vectors)


def test_quantities_that_not_all_frames_have_are_left_out_or_refused(tmp_path: Path) -> None:
    from conformance.test_written_quantities import write_mixed

    present = {"velocities": [True, False, False, True], "forces": [True, True, True, True]}
    convert(write_mixed(tmp_path / "a.trr", present), tmp_path / "a.h5md")
    theirs = agree_with_mdanalysis(tmp_path / "a.h5md")
    assert theirs.velocities is None
    assert theirs.forces is not None
    present = {"velocities": [True, True, False, True], "forces": [False] * 4}
    with pytest.raises(MismatchError, match=r"b\.trr: frame 2: no velocities, which H5MD demands"):
        convert(write_mixed(tmp_path / "b.trr", present), tmp_path / "b.h5md")
    assert not (tmp_path / "b.h5md").exists()


@pytest.mark.parametrize("chunk", [(1, 1), (1, 23), (4, 10), (5, 23), (37, 1), (64, 64), (7, 22)])
@pytest.mark.parametrize("level", [None, 0, 1, 9])
def test_every_chunking_holds_the_same(tmp_path: Path, chunk: tuple[int, int], level: int | None) -> None:
    path = tmp_path / "a.h5md"
    repack(memory(), path, chunk=chunk, compression="none" if level is None else "gzip", level=level)
    theirs = agree_with_mdanalysis(path)
    convert(memory(), tmp_path / "b.h5md")
    assert differences(theirs, frames_of_h5md(tmp_path / "b.h5md")) == {}
    with h5py.File(path) as file:
        value = file["particles/trajectory/position/value"]
        assert value.chunks == (min(chunk[0], N_FRAMES), min(chunk[1], N_ATOMS), 3)
        assert (value.compression, value.compression_opts, value.shuffle) == (
            None if level is None else "gzip", level, level is not None
        )  # fmt: skip
        np.testing.assert_array_equal(value[:], theirs.positions)


@pytest.mark.parametrize("storage", [{"access": "frames"}, {"chunk": (8, 100), "compression": "gzip", "level": 1}])
def test_file_has_the_same_bytes_for_any_number_of_workers(tmp_path: Path, adk_dcd: Path, storage: dict) -> None:
    files = []
    for n_workers in (1, 2, 5):
        path = tmp_path / f"{n_workers}.h5md"
        repack(adk_dcd, path, n_workers=n_workers, **storage)
        files.append(path.read_bytes())
    assert files[0] == files[1] == files[2]


def test_file_is_built_as_h5md_says(tmp_path: Path) -> None:
    path = tmp_path / "a.h5md"
    repack(TRR_xvf, path, access="both", group="protein")
    before = frames_of_mdreel(Path(TRR_xvf))
    with h5py.File(path) as file:
        assert file["h5md"].attrs["version"].tolist() == [1, 1]
        assert file["h5md/author"].attrs["name"] == "N/A"
        assert dict(file["h5md/creator"].attrs) == {"name": "mdreel", "version": version()}
        assert file["h5md/modules/units"].attrs["version"].tolist() == [1, 0]
        assert list(file["particles"]) == ["protein"]
        group = file["particles/protein"]
        assert sorted(group) == ["box", "force", "position", "velocity"]
        assert group["box"].attrs["dimension"] == 3
        assert group["box"].attrs["boundary"].tolist() == ["periodic"] * 3
        for element, unit in UNITS.items():
            value = group[element]["value"]
            assert (value.dtype.str, value.attrs["unit"], value.maxshape[0]) == ("<f4", unit, None)
            assert group[element]["step"] == group["position/step"]  # one dataset with several names
            assert group[element]["time"] == group["position/time"]
        np.testing.assert_array_equal(group["velocity/value"], before.velocities)
        edges = group["box/edges"]
        assert (edges["step"], edges["time"]) == (group["position/step"], group["position/time"])
        assert edges["value"].attrs["unit"] == "Angstrom"
        np.testing.assert_array_equal(edges["value"], before.vectors)
        times = group["position/time"]
        assert (times.dtype.str, times.attrs["unit"]) == ("<f8", "ps")
        np.testing.assert_array_equal(times, before.times)
        np.testing.assert_array_equal(group["position/step"], before.steps)


def test_file_without_a_cell_has_no_boundary(tmp_path: Path) -> None:
    convert(memory(cell=None), tmp_path / "a.h5md")
    with h5py.File(tmp_path / "a.h5md") as file:
        box = file["particles/trajectory/box"]
        assert box.attrs["boundary"].tolist() == ["none"] * 3
        assert list(box) == []


def test_wanted_atoms_and_frames_are_written(tmp_path: Path) -> None:
    atoms, frames = np.r_[3:40:2, 500:900, 19000], [2, 0, 2, 1]
    convert(TRR_xvf, tmp_path / "a.h5md", atoms=atoms, frames=frames)
    theirs, before = agree_with_mdanalysis(tmp_path / "a.h5md"), frames_of_mdreel(Path(TRR_xvf))
    for name in ("positions", "velocities", "forces"):
        np.testing.assert_array_equal(getattr(theirs, name), getattr(before, name)[frames][:, atoms])
    np.testing.assert_array_equal(theirs.times, before.times[frames])


def test_segments_of_h5md_hold_every_frame_once(tmp_path: Path, adk_dcd: Path) -> None:
    written = split(adk_dcd, tmp_path / "part.h5md", n_parts=3, n_workers=2)
    assert [path.name for path in written.paths] == ["part-1.h5md", "part-2.h5md", "part-3.h5md"]
    assert (written.n_frames, written.timing.n_frames) == (98, 98)
    theirs = [agree_with_mdanalysis(path) for path in written.paths]
    before = frames_of_mdreel(adk_dcd)
    np.testing.assert_array_equal(np.concatenate([part.positions for part in theirs]), before.positions)
    np.testing.assert_array_equal(np.concatenate([part.times for part in theirs]), before.times)


def test_h5md_becomes_other_h5md_and_the_same_dcd(tmp_path: Path, adk_dcd: Path) -> None:
    """Chunks of the source and of the output begin in different places."""
    convert(adk_dcd, tmp_path / "a.dcd")
    repack(adk_dcd, tmp_path / "a.h5md", chunk=(30, 7), compression="gzip", level=1)
    repack(tmp_path / "a.h5md", tmp_path / "b.h5md", access="frames", n_workers=3)
    convert(tmp_path / "b.h5md", tmp_path / "b.dcd")
    np.testing.assert_array_equal(
        frames_of_mdreel(tmp_path / "a.dcd").positions, frames_of_mdreel(tmp_path / "b.dcd").positions
    )
