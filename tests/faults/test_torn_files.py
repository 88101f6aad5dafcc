"""Files cut at every byte, absurd headers, coordinates that are no numbers: an error that says where."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.lib.formats.libdcd import DCDFile
from MDAnalysis.lib.formats.libmdaxdr import TRRFile, XTCFile

import mdreel
from conformance.netcdf_writer import Make
from conformance.netcdf_writer import write as write_netcdf
from mdreel.errors import FormatError, FrameIndexError, MdreelError, MismatchError, WorkerError
from mdreel.trajectory.open import open as open_trajectory

N_FRAMES = 3
Write = Callable[[Path, np.ndarray], None]


def write_xtc(path: Path, positions: np.ndarray) -> None:
    with XTCFile(str(path), "w") as file:
        for i, frame in enumerate(positions):
            file.write(frame / np.float32(10), np.eye(3, dtype=np.float32) * 3, i, float(i), 1000)


def write_trr(path: Path, positions: np.ndarray) -> None:
    """Velocities in the second frame only: frames of two lengths."""
    with TRRFile(str(path), "w") as file:
        for i, frame in enumerate(positions):
            velocities = frame if i == 1 else None
            box = np.eye(3, dtype=np.float32) * 3
            file.write(frame / np.float32(10), velocities, None, box, i, float(i), 0.0, len(frame))


def write_dcd(path: Path, positions: np.ndarray) -> None:
    with DCDFile(str(path), "w") as file:
        file.write_header("", positions.shape[1], 0, 1, 1.0, 1)
        for frame in positions:
            file.write(frame, [30, 90, 30, 90, 90, 30])


def write_nc(path: Path, positions: np.ndarray) -> None:
    make = Make(variables=("time", "coordinates"), n_frames=len(positions), n_atoms=positions.shape[1])
    write_netcdf(path, make, {"coordinates": positions})


WRITERS: dict[str, Write] = {"xtc": write_xtc, "trr": write_trr, "dcd": write_dcd, "nc": write_nc}


def whole_file(folder: Path, kind: str, n_atoms: int) -> tuple[bytes, Any]:
    """A file of three frames, and atoms to go with it."""
    positions = np.random.default_rng(3).uniform(0, 20, (N_FRAMES, n_atoms, 3)).astype(np.float32)
    path = folder / f"whole.{kind}"
    WRITERS[kind](path, positions)
    return path.read_bytes(), MDAnalysis.Universe.empty(n_atoms).atoms


def ends_of_frames(folder: Path, kind: str, whole: bytes) -> list[int]:
    """Where each frame ends, as MDAnalysis knows it."""
    path = folder / f"whole.{kind}"
    if kind in ("xtc", "trr"):
        with (XTCFile if kind == "xtc" else TRRFile)(str(path)) as file:
            return [int(offset) for offset in file.offsets[1:]] + [len(whole)]
    if kind == "nc":
        # The header counts the frames: a file that ends before them is torn, wherever it ends.
        return []
    with DCDFile(str(path)) as file:
        size = file._framesize
        return [len(whole) - i * size for i in reversed(range(N_FRAMES))]


@pytest.mark.parametrize("n_atoms", [5, 12])  # XTC stores 9 atoms and fewer without compression
@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("access", ["map", "read"])
def test_file_cut_at_any_byte_is_an_error_or_has_whole_frames(
    tmp_path: Path, kind: str, n_atoms: int, access: str
) -> None:
    whole, atoms = whole_file(tmp_path, kind, n_atoms)
    ends = ends_of_frames(tmp_path, kind, whole)
    path = tmp_path / f"cut.{kind}"
    path.write_bytes(whole)
    expected = mdreel.RMSD(atoms, trajectory=path).run().results.rmsd
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        if length in ends:
            # Nothing tells such a file from one that is still growing.
            rmsd = mdreel.RMSD(atoms, trajectory=path).run().results.rmsd
            np.testing.assert_array_equal(rmsd, expected[: ends.index(length) + 1])
            continue
        with pytest.raises((FormatError, FrameIndexError)) as caught:
            mdreel.RMSD(atoms, trajectory=open_trajectory(path, access=access, index="none")).run(n_workers=2)
        assert str(path) in str(caught.value)
        if isinstance(caught.value, FrameIndexError):  # the header of a DCD file, and nothing after it
            assert kind == "dcd"
            assert length == ends[0] - (ends[1] - ends[0])


@pytest.mark.parametrize("kind", WRITERS)
def test_torn_file_gives_its_whole_frames_to_those_who_ask_for_no_more(tmp_path: Path, kind: str) -> None:
    whole, atoms = whole_file(tmp_path, kind, 12)
    path = tmp_path / f"torn.{kind}"
    path.write_bytes(whole[:-1])
    with pytest.raises(FormatError, match=rf"torn\.{kind}, frame 2, byte .* 2 whole frames come before it"):
        mdreel.RMSD(atoms, trajectory=path).run()
    assert mdreel.RMSD(atoms, trajectory=path).run(stop=2).frames.tolist() == [0, 1]


def test_dcd_is_not_torn_when_its_header_counts_the_whole_frames(tmp_path: Path) -> None:
    whole, atoms = whole_file(tmp_path, "dcd", 12)
    path = tmp_path / "growing.dcd"
    path.write_bytes(whole[:8] + np.array(2, "<i4").tobytes() + whole[12:-1])  # as while the third is being written
    assert mdreel.RMSD(atoms, trajectory=path).run().frames.tolist() == [0, 1]


@pytest.mark.parametrize("count", [0, -1])
def test_netcdf_that_counts_no_frames_has_those_that_are_there(tmp_path: Path, count: int) -> None:
    whole, atoms = whole_file(tmp_path, "nc", 12)
    path = tmp_path / "uncounted.nc"
    path.write_bytes(whole[:4] + np.array(count, ">i4").tobytes() + whole[8:])
    assert mdreel.RMSD(atoms, trajectory=path).run().frames.tolist() == [0, 1, 2]
    path.write_bytes(whole[:4] + np.array(count, ">i4").tobytes() + whole[8:-1])
    with pytest.raises(FormatError, match=r"uncounted\.nc, frame 2, byte .* 2 whole frames come before it"):
        mdreel.RMSD(atoms, trajectory=path).run()


def test_netcdf_is_not_torn_behind_the_frames_that_it_counts(tmp_path: Path) -> None:
    whole, atoms = whole_file(tmp_path, "nc", 12)
    path = tmp_path / "growing.nc"
    path.write_bytes(whole[:4] + np.array(2, ">i4").tobytes() + whole[8:-1])  # as while the third is being written
    assert mdreel.RMSD(atoms, trajectory=path).run().frames.tolist() == [0, 1]


ABSURD_VALUES = [-1, 0, 1, 13, 2**31 - 1, -(2**31)]
# Byte and type of a number in the first header, and the values that do no harm there: a scale or a range of
# coordinates is as good as another, and what DCD counts in its header is not needed where the file's size says it.
HEADERS: dict[tuple[str, str], tuple[int, str, list[int]]] = {
    ("xtc", "atoms"): (4, ">i4", []),
    ("xtc", "atoms again"): (52, ">i4", []),
    ("xtc", "precision"): (56, ">f4", [1, 13, 2**31 - 1]),
    ("xtc", "lowest x"): (60, ">i4", [-1, 0, 1, 13]),
    ("xtc", "highest x"): (72, ">i4", []),
    ("xtc", "small index"): (84, ">i4", []),
    ("xtc", "length of the stream"): (88, ">i4", []),
    ("trr", "magic number"): (0, ">i4", []),
    ("trr", "length of the name"): (4, ">i4", [13]),
    ("trr", "length of the name again"): (8, ">i4", []),
    ("trr", "name"): (12, ">i4", []),
    ("trr", "size of ir"): (24, ">i4", [0]),
    ("trr", "size of the box"): (32, ">i4", []),
    ("trr", "size of the virial"): (36, ">i4", [0]),
    ("trr", "size of the positions"): (52, ">i4", []),
    ("trr", "size of the velocities"): (56, ">i4", [0]),
    ("trr", "size of the forces"): (60, ">i4", [0]),
    ("trr", "atoms"): (64, ">i4", []),
    ("trr", "step"): (68, ">i4", ABSURD_VALUES),
    ("dcd", "first record"): (0, "<i4", []),
    ("dcd", "frames"): (8, "<i4", ABSURD_VALUES),
    ("dcd", "fixed atoms"): (40, "<i4", [0]),
    ("dcd", "unit cell"): (48, "<i4", [-1, 1, 13, 2**31 - 1, -(2**31)]),
    ("dcd", "title"): (92, "<i4", []),
    ("dcd", "lines of the title"): (96, "<i4", ABSURD_VALUES),
    ("dcd", "atoms"): (348, "<i4", []),
    ("nc", "frames"): (4, ">i4", [-1, 0, 1]),
    ("nc", "dimensions"): (12, ">i4", []),
    ("nc", "length of a name"): (16, ">i4", []),
    ("nc", "spatial"): (44, ">i4", []),
    ("nc", "atoms"): (56, ">i4", []),
    ("nc", "attributes"): (104, ">i4", []),
}


@pytest.mark.parametrize("value", ABSURD_VALUES)
@pytest.mark.parametrize(("kind", "name"), HEADERS)
def test_absurd_header_is_an_error_unless_it_does_no_harm(tmp_path: Path, kind: str, name: str, value: int) -> None:
    byte, dtype, harmless = HEADERS[kind, name]
    whole, atoms = whole_file(tmp_path, kind, 14)
    content = bytearray(whole)
    content[byte : byte + 4] = np.array(value, dtype).tobytes()
    path = tmp_path / f"absurd.{kind}"
    path.write_bytes(content)
    rmsd = mdreel.RMSD(atoms, trajectory=path)
    if value in harmless:
        assert np.isfinite(rmsd.run().results.rmsd).all()
        return
    with pytest.raises(MdreelError) as caught:
        rmsd.run()
    assert not isinstance(caught.value, WorkerError), "that would be a panic"
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("n_parts", [None, 1, 8])
def test_coordinate_that_is_no_number_is_named_by_file_and_frame(tmp_path: Path, n_parts: int | None) -> None:
    """Blocks of bytes know no frame numbers: the error must all the same."""
    positions = np.random.default_rng(4).uniform(0, 20, (900, 5, 3)).astype(np.float32)
    positions[700, 2, 1] = np.nan
    path = tmp_path / "nan.xtc"
    write_xtc(path, positions)
    rmsd = mdreel.RMSD(MDAnalysis.Universe.empty(5).atoms, trajectory=path)
    with pytest.raises(MismatchError, match=r"nan\.xtc: frame 700: atom 2 of the 5 selected .* finite"):
        rmsd.run(n_parts=n_parts)
    assert rmsd.run(stop=700).n_frames == 700


def test_reference_that_is_no_number_is_named_by_file_and_frame(tmp_path: Path) -> None:
    positions = np.random.default_rng(4).uniform(0, 20, (3, 5, 3)).astype(np.float32)
    positions[1, 4, 0] = np.inf
    path = tmp_path / "inf.dcd"
    write_dcd(path, positions)
    atoms = MDAnalysis.Universe.empty(5).atoms[2:]
    with pytest.raises(MismatchError, match=r"inf\.dcd, frame 1: atom 4 of the reference is at \[inf, .* finite"):
        mdreel.RMSD(atoms, ref_frame=1, trajectory=path).run(stop=1)
