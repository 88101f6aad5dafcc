"""Frames as arrays: every format, order, selection and way to read, against MDAnalysis and against single frames."""

import re
import sys
import warnings
from collections.abc import Callable
from copy import deepcopy
from itertools import permutations
from pathlib import Path
from threading import Thread
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, GRO, PRM_NCBOX, PSF, TPR, TRJ_NCBOX, TRR, XTC, H5MD_xvf, TPR_xvf

import mdreel
from damaged_files import KINDS, N_ATOMS, N_FRAMES, frame_by_frame, write_sound
from growing_file import grow, positions
from mdreel._core import Source
from mdreel.errors import (
    DamagedFrameWarning,
    FormatError,
    FrameIndexError,
    MismatchError,
    SelectionError,
    UnsupportedError,
)
from mdreel.live.producers.producer import Producer
from publishing import publish

ORDERS = ["".join(order) for order in permutations("fac")]
SYSTEMS = {
    "dcd": (PSF, DCD),
    "xtc": (TPR, XTC),
    "trr": (TPR, TRR),
    "netcdf": (PRM_NCBOX, TRJ_NCBOX),
    "h5md": (TPR_xvf, H5MD_xvf),
}


@pytest.fixture(params=SYSTEMS)
def universe(request: pytest.FixtureRequest) -> MDAnalysis.Universe:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of times that H5MD does not store
        return MDAnalysis.Universe(*SYSTEMS[request.param])


@pytest.fixture
def memory() -> Source:
    """Five frames of four atoms that are all different."""
    return Source.memory(np.arange(60, dtype=np.float32).reshape(5, 4, 3), np.arange(5.0) * 2)


@pytest.mark.filterwarnings("ignore:Reader has no dt information")
def test_read_gives_the_numbers_of_mdanalysis(universe: MDAnalysis.Universe) -> None:
    found = mdreel.read(universe)
    frames = [(ts.positions.copy(), ts.time, deepcopy(ts.dimensions)) for ts in universe.trajectory]
    np.testing.assert_array_equal(found.positions, [each for each, _, _ in frames])
    np.testing.assert_allclose(found.times, [time for _, time, _ in frames], rtol=1e-6)
    for cell, (_, _, theirs) in zip(found.cells, frames, strict=True):
        np.testing.assert_allclose(cell, [np.nan] * 6 if theirs is None else theirs, rtol=1e-5)
    assert found.frames.tolist() == list(range(len(frames)))
    assert (found.velocities, found.forces) == (None, None)


@pytest.mark.filterwarnings("ignore:Reader has no dt information")
def test_read_gives_the_quantities_asked_for(universe: MDAnalysis.Universe) -> None:
    ts = universe.trajectory[1]
    names = [name for name in ("positions", "velocities", "forces") if getattr(ts, f"has_{name}")]
    found = mdreel.read(universe, frames=[1], quantities=names[::-1])
    assert sorted(found.quantities) == sorted(names)
    for name in names:
        np.testing.assert_allclose(found.quantities[name][0], getattr(ts, name), rtol=1e-5)


def test_velocities_alone_are_those_beside_positions() -> None:
    alone = mdreel.read(TRR, quantities="velocities", step=3)
    beside = mdreel.read(TRR, quantities=("positions", "velocities"), step=3)
    assert alone.positions is None
    np.testing.assert_array_equal(alone.velocities, beside.velocities)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_orders_and_dtypes_are_those_of_timeseries(order: str, dtype: Any) -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    atoms = universe.select_atoms("name CA")
    found = mdreel.read(DCD, atoms, order=order, dtype=dtype)
    assert found.positions is not None
    assert found.positions.dtype == dtype
    np.testing.assert_array_equal(found.positions, universe.trajectory.timeseries(atomgroup=atoms, order=order))


@pytest.mark.parametrize("kind", ["trr", "netcdf"])
def test_numbers_depend_neither_on_the_order_nor_on_the_dtype_of_the_arrays(kind: str) -> None:
    path = SYSTEMS[kind][1]
    names = mdreel.open(path).quantities
    for atoms in (None, [*range(40, 90), 100, 102, 103, 200]):
        straight = mdreel.read(path, atoms, quantities=names, step=2).quantities
        doubled = mdreel.read(path, atoms, quantities=names, step=2, dtype=np.float64).quantities
        strided = mdreel.read(path, atoms, quantities=names, step=2, order="acf").quantities
        for name in names:
            assert straight[name].flags.c_contiguous
            np.testing.assert_array_equal(straight[name], doubled[name])
            np.testing.assert_array_equal(straight[name], strided[name].transpose(2, 0, 1))


def test_atoms_keep_their_order_and_repetitions(memory: Source) -> None:
    every = mdreel.read(memory).positions
    assert every is not None
    for atoms in ([2], [3, 0], [1, 1, 0, 3], np.array([0, 2])):
        for order in ("fac", "acf"):
            found = mdreel.read(memory, atoms, order=order).positions
            np.testing.assert_array_equal(found, every[:, atoms].transpose(["fac".index(axis) for axis in order]))


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ({"start": 1, "step": 2}, [1, 3]),
        ({"start": -2}, [3, 4]),
        ({"step": -2}, [4, 2, 0]),
        ({"frames": [3, 0, 3]}, [3, 0, 3]),
        ({"frames": [True, False, False, False, True]}, [0, 4]),
    ],
)
def test_frames_are_those_of_a_slice_a_list_or_a_mask(
    memory: Source, window: dict[str, Any], expected: list[int]
) -> None:
    every = mdreel.read(memory)
    found = mdreel.read(memory, **window)
    assert found.frames.tolist() == expected
    assert every.positions is not None
    np.testing.assert_array_equal(found.positions, every.positions[expected])
    np.testing.assert_array_equal(found.times, every.times[expected])
    chunks = [chunk.copy() for chunk in mdreel.iread(memory, chunk=2, **window)]
    assert [number for chunk in chunks for number in chunk.frames] == expected
    np.testing.assert_array_equal(np.concatenate([chunk.positions for chunk in chunks]), found.positions)


@pytest.mark.parametrize("kind", KINDS)
def test_bits_depend_neither_on_workers_nor_on_chunks(tmp_path: Path, kind: str) -> None:
    path = write_sound(tmp_path, kind, n_frames=70).path
    alone = mdreel.read(path, n_workers=1).positions
    assert alone is not None
    for n_workers in (2, 5):
        np.testing.assert_array_equal(mdreel.read(path, n_workers=n_workers).positions, alone)
    for chunk in (1, 32, 500):
        chunks = [found.copy().positions for found in mdreel.iread(path, chunk=chunk, n_workers=2)]
        np.testing.assert_array_equal(np.concatenate(chunks), alone)


def test_out_is_filled_and_given_back(memory: Source) -> None:
    for order in ORDERS:
        expected = mdreel.read(memory, order=order)
        assert expected.positions is not None
        out = np.full(expected.positions.shape, -1, np.float32)
        found = mdreel.read(memory, order=order, out=out)
        assert found.positions is not None
        assert np.shares_memory(found.positions, out)
        np.testing.assert_array_equal(out, expected.positions)
    wide = np.full((5, 4, 6), -1.0)
    mdreel.read(memory, dtype=np.float64, out={"positions": wide[:, :, ::2]})
    np.testing.assert_array_equal(wide[:, :, ::2], mdreel.read(memory).positions)
    assert (wide[:, :, 1::2] == -1).all()


def test_files_are_read_as_one(tmp_path: Path) -> None:
    several = [write_sound(tmp_path / name, "xtc").path for name in "ab" if (tmp_path / name).mkdir() is None]
    found = mdreel.read(several, start=-3, step=1)
    assert found.frames.tolist() == list(range(2 * N_FRAMES - 3, 2 * N_FRAMES))
    np.testing.assert_array_equal(found.positions, mdreel.read(several[1], start=-3).positions)


@pytest.mark.parametrize("kind", ["xtc", "trr", "nc"])
@pytest.mark.parametrize("n_workers", [1, 3])
def test_damaged_frames_are_refused_or_left_out(tmp_path: Path, kind: str, n_workers: int) -> None:
    sound = write_sound(tmp_path, kind)
    place = sound.ranges[4][0] + (0 if kind != "nc" else 1)
    path = sound.with_bytes(place, b"\x7f\xff\xff\xff" * 4)
    intact = frame_by_frame(mdreel.open(path).with_on_error("skip"))
    if len(intact) == N_FRAMES:
        pytest.skip("any four bytes are numbers in this format")
    with pytest.raises(FormatError, match="frame 4"):
        mdreel.read(path, n_workers=n_workers)
    with pytest.warns(DamagedFrameWarning):
        found = mdreel.read(path, on_error="skip", n_workers=n_workers)
    assert found.positions is not None
    assert found.frames.tolist() == list(intact)
    assert [frame.tobytes() for frame in found.positions] == list(intact.values())
    assert [one.frame for one in found.damage if one.frame is not None] == [4]
    with pytest.warns(DamagedFrameWarning):
        found = mdreel.read(path, on_error="stop", n_workers=n_workers)
    assert found.frames.tolist() == [0, 1, 2, 3]


def test_torn_end_is_refused(tmp_path: Path) -> None:
    sound = write_sound(tmp_path, "xtc")
    torn = sound.written(sound.content[:-10])
    for reading in (mdreel.read, mdreel.iread):
        with pytest.raises(FormatError):
            reading(torn)


def test_growing_file_is_read_to_its_end(tmp_path: Path) -> None:
    pattern, output, stop = tmp_path / "whole.xtc", tmp_path / "growing.xtc", tmp_path / "stop"
    grow("xtc", 500, pattern).wait(60)
    expected = mdreel.read(pattern, step=3)
    with grow("pieces", pattern, output, stop):
        source = mdreel.trajectory.follow(output, stop_file=stop, timeout=60)
        found = mdreel.read(source, step=3, order="afc", dtype=np.float64)
    assert expected.positions is not None
    np.testing.assert_array_equal(found.positions, expected.positions.transpose(1, 0, 2))
    assert found.frames.tolist() == expected.frames.tolist()
    with pytest.raises(UnsupportedError, match="growing"):
        mdreel.read(source, out=np.empty((500, 20, 3), np.float32))


@pytest.mark.skipif(sys.platform != "linux", reason="channels are for Linux")
def test_channel_is_read_to_its_end(tmp_path: Path) -> None:
    name = tmp_path / "channel"
    with Producer(name, 20, n_slots=4) as producer:
        channel = mdreel.live.channel(name, timeout=60).source()
        simulation = Thread(target=lambda: [publish(producer, frame) for frame in range(60)] and producer.end())
        simulation.start()
        chunks = [chunk.copy() for chunk in mdreel.iread(channel, step=2, chunk=7)]
        simulation.join()
    frames = np.concatenate([chunk.frames for chunk in chunks])
    assert frames.tolist() == list(range(0, 60, 2))
    assert all(len(chunk) <= 7 for chunk in chunks)
    found = np.concatenate([chunk.positions for chunk in chunks])
    np.testing.assert_allclose(found, [positions(frame) for frame in frames], rtol=1e-5)


def test_chunks_share_their_memory_unless_copied() -> None:
    chunks = mdreel.iread(DCD, chunk=10)
    first = next(chunks)
    kept = first.copy()
    second = next(chunks)
    assert np.shares_memory(first.positions, second.positions)
    assert kept.positions is not None
    np.testing.assert_array_equal(kept.positions, mdreel.read(DCD, stop=10).positions)


def test_selections_are_those_of_the_universe() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    by_words = mdreel.read(universe, "name CA", stop=3)
    by_group = mdreel.read(DCD, universe.select_atoms("name CA"), stop=3)
    np.testing.assert_array_equal(by_words.positions, by_group.positions)


def test_arrays_are_shared_by_dlpack() -> None:
    found = mdreel.read(DCD, stop=3).positions
    assert found is not None
    assert np.shares_memory(np.from_dlpack(found), found)


def test_xarray_dataset_names_its_axes(memory: Source) -> None:
    pytest.importorskip("xarray")
    found = mdreel.read(memory, order="afc")
    dataset = found.to_xarray()
    assert dataset["positions"].dims == ("atom", "frame", "axis")
    np.testing.assert_array_equal(
        dataset["positions"].transpose("frame", "atom", "axis"), mdreel.read(memory).positions
    )
    assert dataset["time"].to_numpy().tolist() == [0, 2, 4, 6, 8]


REFUSED: dict[str, tuple[Callable[[Source], Any], type[Exception], str]] = {
    "order": (lambda s: mdreel.read(s, order="fax"), UnsupportedError, "letters f, a and c"),
    "dtype": (lambda s: mdreel.read(s, dtype=int), UnsupportedError, "float32 or float64"),
    "quantity": (lambda s: mdreel.read(s, quantities="charges"), UnsupportedError, "unknown quantity 'charges'"),
    "no quantity": (lambda s: mdreel.read(s, quantities=()), MismatchError, "at least one of"),
    "missing quantity": (lambda s: mdreel.read(s, quantities="forces"), MismatchError, "no forces"),
    "workers": (lambda s: mdreel.read(s, n_workers=0), MismatchError, "n_workers must be 1 or more"),
    "atom": (lambda s: mdreel.read(s, [0, 4]), MismatchError, "no atom 4: the trajectory has 4 atoms"),
    "negative atom": (lambda s: mdreel.read(s, [-1]), MismatchError, "no atom -1"),
    "no atoms": (lambda s: mdreel.read(s, []), SelectionError, "must be an AtomGroup or a list"),
    "words": (lambda s: mdreel.read(s, "name CA"), SelectionError, "needs a topology"),
    "frames": (lambda s: mdreel.read(s, start=9), FrameIndexError, "no frame is left"),
    "frame": (lambda s: mdreel.read(s, frames=[5]), FrameIndexError, "5"),
    "chunk": (lambda s: mdreel.iread(s, chunk=0), MismatchError, "chunk must be"),
    "shape": (lambda s: mdreel.read(s, out=np.empty((5, 3, 3), np.float32)), MismatchError, "(5, 4, 3)"),
    "type": (lambda s: mdreel.read(s, out=np.empty((5, 4, 3))), MismatchError, "got float64"),
    "list": (lambda s: mdreel.read(s, out=[1.0]), MismatchError, "got list"),
    "names": (lambda s: mdreel.read(s, out={"forces": np.empty((5, 4, 3))}), MismatchError, "arrays for positions"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_with_the_remedy(memory: Source, case: str) -> None:
    call, kind, words = REFUSED[case]
    with pytest.raises(kind, match=re.escape(words)):
        call(memory)


def test_read_only_array_is_refused(memory: Source) -> None:
    out = np.empty((5, 4, 3), np.float32)
    out.flags.writeable = False
    with pytest.raises(MismatchError, match="read-only"):
        mdreel.read(memory, out=out)


def test_atoms_of_another_system_are_refused(memory: Source) -> None:
    with pytest.raises(MismatchError, match="4 atoms, the topology has 47681"):
        mdreel.read(memory, MDAnalysis.Universe(GRO).atoms[:3])
    assert N_ATOMS != 4
