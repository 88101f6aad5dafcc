"""H5MD in every layout: the numbers that were written, in our units."""

import pickle
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from h5md_writer import write_h5md
from mdreel._core import Frames, FrameSet, Source
from mdreel.errors import FormatError, UnsupportedError
from mdreel.trajectory.h5md_units import conversion_factor
from mdreel.trajectory.open import open as open_trajectory

N_FRAMES, N_ATOMS = 23, 57
QUANTITIES = ["positions", "velocities", "forces"]


def numbers(seed: int = 0, n_frames: int = N_FRAMES, n_atoms: int = N_ATOMS) -> np.ndarray:
    """Coordinates with few digits, so that compression finds something; float32."""
    return np.random.default_rng(seed).integers(-5000, 5000, (n_frames, n_atoms, 3)).astype(np.float32) / 64


def read_frames(source: Source, frames: FrameSet | None = None, atoms: np.ndarray | None = None) -> Frames:
    frames = FrameSet.range(0, 1, source.n_frames) if frames is None else frames
    atoms = np.arange(source.n_atoms) if atoms is None else atoms
    return source.read(frames, atoms.astype(np.uint32), QUANTITIES)


LAYOUTS: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "frames": {"chunks": (1, N_ATOMS, 3)},
    "several frames": {"chunks": (7, N_ATOMS, 3)},
    "atoms": {"chunks": (N_FRAMES, 10, 3)},
    "both": {"chunks": (4, 13, 3)},
    "columns": {"chunks": (5, 20, 2)},
    "one column": {"chunks": (5, 20, 1)},
    "larger than the data": {"chunks": (64, 64, 3), "maxshape": (None, None, 3)},
    "chosen by h5py": {"chunks": True},
}
FILTERS: dict[str, dict[str, Any]] = {
    "none": {},
    "gzip 0": {"compression": "gzip", "compression_opts": 0},
    "gzip 1": {"compression": "gzip", "compression_opts": 1},
    "gzip 9": {"compression": "gzip", "compression_opts": 9},
    "shuffle": {"shuffle": True},
    "fletcher32": {"fletcher32": True},
    "lzf": {"compression": "lzf"},
    "all": {"compression": "gzip", "shuffle": True, "fletcher32": True},
}


@pytest.mark.parametrize("number", ["<f4", ">f4", "<f8", ">f8", "<i4", ">i8"])
@pytest.mark.parametrize("filters", FILTERS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_h5md_of_every_layout_has_the_numbers_that_were_written(
    tmp_path: Path, layout: str, filters: str, number: str
) -> None:
    if layout == "contiguous" and filters != "none":
        return  # filters need chunks
    written = numbers().astype(number)
    options = {**LAYOUTS[layout], **FILTERS[filters]}
    source = open_trajectory(write_h5md(tmp_path / "run.h5md", {"position": written}, layout=options))
    atoms = np.array([0, 3, 12, 13, 14, 40, 56])
    np.testing.assert_array_equal(read_frames(source).positions, written.astype(np.float32))
    frames = FrameSet.list(np.array([22, 0, 8, 8, 7], np.uint64))
    np.testing.assert_array_equal(read_frames(source, frames, atoms).positions, written[[22, 0, 8, 8, 7]][:, atoms])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    chunk=st.tuples(st.integers(1, 30), st.integers(1, 60), st.integers(1, 3)),
    filters=st.sampled_from(sorted(FILTERS)),
    holes=st.lists(st.tuples(st.integers(0, N_FRAMES - 1), st.integers(0, N_ATOMS - 1)), max_size=4),
    frames=st.lists(st.integers(0, N_FRAMES - 1), min_size=1, max_size=40),
    atoms=st.sets(st.integers(0, N_ATOMS - 1), min_size=1),
    fill=st.sampled_from([0.0, 7.5]),
)
def test_h5md_gives_any_frames_and_atoms_of_any_chunks(
    tmp_path: Path,
    chunk: tuple[int, int, int],
    filters: str,
    holes: list[tuple[int, int]],
    frames: list[int],
    atoms: set[int],
    fill: float,
) -> None:
    """Chunks are written one by one; those without a hole's neighbours are missing, and hold the fill value."""
    path = write_h5md(tmp_path / "run.h5md", {"position": numbers()})
    expected = np.full((N_FRAMES, N_ATOMS, 3), fill, np.float32)
    with h5py.File(path, "a") as file:
        group = file["particles/atoms/position"]
        del group["value"]
        options = {"chunks": chunk, "maxshape": (None, None, None), "fillvalue": fill, **FILTERS[filters]}
        value = group.create_dataset("value", (N_FRAMES, N_ATOMS, 3), "f4", **options)
        value.attrs["unit"] = "Angstrom"
        for frame, atom in holes or [(0, 0)]:
            value[frame, atom : atom + 9] = expected[frame, atom : atom + 9] = numbers()[frame, atom : atom + 9]
    chosen = read_frames(open_trajectory(path), FrameSet.list(np.array(frames, np.uint64)), np.array(sorted(atoms)))
    np.testing.assert_array_equal(chosen.positions, expected[np.ix_(frames, sorted(atoms))])
    np.testing.assert_array_equal(chosen.times, frames)


def test_h5md_reads_only_the_chunks_that_hold_wanted_atoms(tmp_path: Path) -> None:
    path = write_h5md(
        tmp_path / "run.h5md", {"position": numbers()}, layout={"chunks": (5, 20, 3), "compression": "gzip"}
    )
    with h5py.File(path) as file:
        chunk = file["particles/atoms/position/value"].id.get_chunk_info_by_coord((5, 20, 0))
    content = bytearray(path.read_bytes())
    content[chunk.byte_offset : chunk.byte_offset + chunk.size] = bytes(chunk.size)
    path.write_bytes(content)
    source = open_trajectory(path)
    elsewhere = np.array([0, 19, 40, 56])
    np.testing.assert_array_equal(read_frames(source, None, elsewhere).positions, numbers()[:, elsewhere])
    before = read_frames(source, FrameSet.range(0, 1, 5)).positions
    np.testing.assert_array_equal(before, numbers()[:5])
    with pytest.raises(
        FormatError, match=rf"frame 7, byte {chunk.byte_offset}: /particles/atoms/position/value: the defl"
    ):
        read_frames(source, FrameSet.list(np.array([7], np.uint64)), np.array([20]))


@pytest.mark.parametrize("shape", [(3,), (3, 3), (N_FRAMES, 3), (N_FRAMES, 3, 3)])
@pytest.mark.parametrize("number", ["<f4", ">f8", "<i4"])
def test_h5md_box_is_that_of_each_frame(tmp_path: Path, shape: tuple[int, ...], number: str) -> None:
    lengths = np.broadcast_to(
        np.array([3, 4, 5]) + np.arange(N_FRAMES)[:, None] * (len(shape) > 1 and shape[0] != 3), (N_FRAMES, 3)
    )
    vectors = np.zeros((N_FRAMES, 3, 3))
    vectors[:, range(3), range(3)] = lengths
    vectors[:, 1, 0] = 1 if shape[-2:] == (3, 3) else 0
    box = {1: lengths[0], 2: lengths if shape[0] != 3 else vectors[0], 3: vectors}[len(shape)].astype(number)
    path = write_h5md(tmp_path / "run.h5md", {"position": numbers()}, box=box, units={"position": "nm"})
    frames = read_frames(open_trajectory(path))
    assert frames.has_cell.all()
    np.testing.assert_allclose(frames.vectors, 10 * vectors, atol=1e-5)
    np.testing.assert_array_equal(frames.positions, numbers() * np.float32(10))


def test_h5md_without_edges_or_with_zeros_has_no_cell(tmp_path: Path) -> None:
    for box in (None, np.zeros(3), np.zeros((N_FRAMES, 3, 3))):
        frames = read_frames(open_trajectory(write_h5md(tmp_path / "run.h5md", {"position": numbers()}, box=box)))
        assert not frames.has_cell.any()


def test_h5md_converts_every_quantity(tmp_path: Path) -> None:
    elements = {"position": numbers(1), "velocity": numbers(2), "force": numbers(3)}
    units = {"position": "pm", "velocity": "nm ns-1", "force": "kJ mol-1 nm-1", "time": "fs", "box": "nm"}
    times = np.linspace(0, 1, N_FRAMES, dtype=np.float32)
    path = write_h5md(tmp_path / "run.h5md", elements, units=units, times=times, box=np.full(3, 2.0))
    source = open_trajectory(path)
    assert source.quantities == QUANTITIES
    frames = read_frames(source)
    for name, element, factor in zip(QUANTITIES, elements, (0.01, 0.01, 0.1), strict=True):
        np.testing.assert_array_equal(getattr(frames, name), elements[element] * np.float32(factor))
    np.testing.assert_array_equal(frames.times, (times * np.float32(1e-3)).astype(np.float64))
    np.testing.assert_array_equal(frames.dimensions[0], [20, 20, 20, 90, 90, 90])


def test_h5md_steps_and_times_may_be_increments(tmp_path: Path) -> None:
    path = write_h5md(tmp_path / "run.h5md", {"position": numbers()})
    with h5py.File(path, "a") as file:
        group = file["particles/atoms/position"]
        for name, increment, offset in (("step", 500, 1000), ("time", 0.5, 20.0)):
            del group[name]
            group[name] = increment
            group[name].attrs["offset"] = offset
        group["time"].attrs["unit"] = "ps"
    frames = read_frames(open_trajectory(path))
    np.testing.assert_array_equal(frames.steps, 1000 + 500 * np.arange(N_FRAMES))
    np.testing.assert_array_equal(frames.times, 20 + 0.5 * np.arange(N_FRAMES))


def test_h5md_without_times_counts_frames_and_says_so(tmp_path: Path) -> None:
    path = write_h5md(tmp_path / "run.h5md", {"position": numbers()})
    with h5py.File(path, "a") as file:
        del file["particles/atoms/position/time"]
    source = open_trajectory(path)
    np.testing.assert_array_equal(source.times(), np.arange(N_FRAMES))
    assert "counted" in source.describe()[0]["times"]


def test_h5md_velocities_of_fewer_steps_belong_to_their_frames(tmp_path: Path) -> None:
    path = write_h5md(tmp_path / "run.h5md", {"position": numbers(), "velocity": numbers(2)})
    kept = [3, 11, 20]
    with h5py.File(path, "a") as file:
        group = file["particles/atoms/velocity"]
        del group["value"], group["step"], group["time"]
        group["value"], group["step"] = numbers(2)[kept], kept
        group["value"].attrs["unit"] = "Angstrom ps-1"
    frames = read_frames(open_trajectory(path))
    assert np.flatnonzero(frames.has_velocities).tolist() == kept
    np.testing.assert_array_equal(frames.velocities[kept], numbers(2)[kept])
    with h5py.File(path, "a") as file:
        file["particles/atoms/velocity/step"][0] = 99
    with pytest.raises(UnsupportedError, match="velocity: there are steps that the other elements do not have"):
        open_trajectory(path)


def test_h5md_of_several_groups_asks_which(tmp_path: Path) -> None:
    path = write_h5md(tmp_path / "run.h5md", {"position": numbers()}, groups=("protein", "water"))
    with pytest.raises(UnsupportedError, match=r"several particle groups: protein, water; choose one with group="):
        open_trajectory(path)
    source = open_trajectory(path, group="water")
    assert source.describe()[0]["group of particles"] == "water"
    assert pickle.loads(pickle.dumps(source)).describe() == source.describe()
    with pytest.raises(FormatError, match="'ions', found protein, water"):
        open_trajectory(path, group="ions")


def test_h5md_behind_a_block_of_the_user_is_found(tmp_path: Path) -> None:
    path = write_h5md(
        tmp_path / "run.h5md", {"position": numbers()}, layout={"chunks": (4, 10, 3)}, userblock_size=2048
    )
    np.testing.assert_array_equal(read_frames(open_trajectory(path)).positions, numbers())


def test_h5md_is_chained_with_other_formats(tmp_path: Path, adk_xtc: Path) -> None:
    path = write_h5md(tmp_path / "run.h5md", {"position": numbers(n_atoms=3341)})
    source = open_trajectory([path, adk_xtc], index="none")
    source = pickle.loads(pickle.dumps(source))
    assert [facts["format"] for facts in source.describe()] == ["H5MD", "XTC"]
    assert source.n_frames == N_FRAMES + 98
    np.testing.assert_array_equal(
        read_frames(source, FrameSet.list(np.array([5], np.uint64))).positions, numbers(n_atoms=3341)[5:6]
    )


def test_h5md_of_many_files_keeps_few_of_them_open(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.h5md" for i in range(150)]
    for i, path in enumerate(paths):
        write_h5md(path, {"position": numbers(i, 2)})
    before = len(list(Path("/proc/self/fd").iterdir()))
    frames = read_frames(source := open_trajectory(paths))
    assert len(list(Path("/proc/self/fd").iterdir())) - before <= 64
    assert source.n_frames == 300
    np.testing.assert_array_equal(frames.positions[280:282], numbers(140, 2))


# Unit of H5MD, the same in MDAnalysis's words, what is measured in H5MD's module and in MDAnalysis's.
UNITS = [
    *((unit, unit, "length", "length") for unit in ("nm", "pm", "fm", "Angstrom")),
    *((unit, unit, "time", "time") for unit in ("ps", "fs", "ns", "s", "AKMA")),
    ("nm ps-1", "nm/ps", "velocity", "speed"),
    ("nm ns-1", "nm/ns", "velocity", "speed"),
    ("pm ps-1", "pm/ps", "velocity", "speed"),
    ("m s-1", "m/s", "velocity", "speed"),
    ("A fs-1", "Angstrom/fs", "velocity", "speed"),
    ("Angstrom AKMA-1", "Angstrom/AKMA", "velocity", "speed"),
    ("kJ mol-1 nm-1", "kJ/(mol*nm)", "force", "force"),
    ("kcal mol-1 Angstrom-1", "kcal/(mol*Angstrom)", "force", "force"),
    ("N", "N", "force", "force"),
    ("J m-1", "J/m", "force", "force"),
]
OURS = {"length": "Angstrom", "time": "ps", "speed": "Angstrom/ps", "force": "kJ/(mol*Angstrom)"}


@pytest.mark.parametrize(("unit", "word", "kind", "their_kind"), UNITS)
def test_units_are_those_of_mdanalysis(unit: str, word: str, kind: str, their_kind: str) -> None:
    from MDAnalysis.units import get_conversion_factor

    theirs = get_conversion_factor(their_kind, word, OURS[their_kind])
    ours = conversion_factor(unit, kind, "")
    if unit in ("N", "J m-1"):  # MDAnalysis's number of Avogadro is that of 2010
        assert ours == pytest.approx(theirs, rel=1e-7)
    elif kind == "time":
        assert ours == theirs
    else:  # what coordinates are multiplied with
        assert np.float32(ours) == np.float32(theirs)


@pytest.mark.parametrize(
    ("unit", "said"), [("parsec", "unknown"), ("nm2", "not a unit of length"), ("", "not a unit"), ("ps", "not a unit")]
)
def test_units_of_something_else_are_refused(unit: str, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        conversion_factor(unit, "length", "here")
