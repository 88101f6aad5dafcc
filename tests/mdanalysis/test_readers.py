"""Our readers under MDAnalysis show what MDAnalysis's readers show."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest
from MDAnalysisTests import datafiles

import mdreel
from conformance.test_real_files import DATA, REFUSED, REFUSED_BY_MDANALYSIS
from conformance.test_real_files import FILES as ALL_FILES
from h5md_writer import write_h5md
from mdanalysis.recorded_frames import FILES, check_same, make_reader, recorded
from mdreel.mdanalysis.reader import CoreReader

pytestmark = [
    pytest.mark.usefixtures("own_cache"),
    pytest.mark.filterwarnings(
        "ignore:DCDReader currently makes independent timesteps:DeprecationWarning",
        "ignore:NCDF trajectory does not contain `time` information:UserWarning",
        "ignore:Reader has no dt information:UserWarning",
    ),
]
# AMBER's restart files have another reader, and there are no frames in two more.
READ = [name for name in ALL_FILES if not name.endswith(".ncrst") and name not in {*REFUSED, *REFUSED_BY_MDANALYSIS}]


@pytest.fixture(params=FILES)
def path(request: pytest.FixtureRequest) -> str:
    return str(FILES[request.param])


def frames_of_mdanalysis(path: str, **options: Any) -> list[dict[str, Any]]:
    with make_reader(path, **options) as reader:
        assert not isinstance(reader, CoreReader)
        return [recorded(ts) for ts in reader]


def our_reader(path: str, **options: Any) -> Any:
    with mdreel.mdanalysis.accelerate():
        reader = make_reader(path, **options)
    assert isinstance(reader, CoreReader)
    return reader


@pytest.mark.parametrize("name", READ)
def test_reader_shows_the_bits_of_mdanalysis(name: str) -> None:
    theirs = make_reader(DATA / name)
    ours = our_reader(str(DATA / name))
    assert isinstance(ours, type(theirs))
    for attribute in ("n_atoms", "n_frames", "units", "dt", "totaltime", "format", "frame", "time"):
        assert getattr(ours, attribute) == getattr(theirs, attribute), attribute
    check_same([recorded(ours.ts)], [recorded(theirs.ts)])
    check_same([recorded(ts) for ts in ours], [recorded(ts) for ts in theirs])
    check_same([recorded(ours.ts)], [recorded(theirs.ts)])  # the first again


@pytest.mark.parametrize(
    "frames",
    [-1, 2, slice(None, None, -1), slice(1, None, 2), slice(None, None, -2), [2, 0, 2, 1], [True, False, True]],
    ids=str,
)
def test_reader_shows_any_frames(path: str, frames: Any) -> None:
    every = frames_of_mdanalysis(path)
    reader = our_reader(path)
    if isinstance(frames, int):
        check_same([recorded(reader[frames])], [every[frames]])
        return
    if frames == [True, False, True]:
        frames = np.resize(frames, len(every))
    check_same([recorded(ts) for ts in reader[frames]], [every[i] for i in np.arange(len(every))[frames]])


def test_reader_refuses_frames_that_are_not_there(path: str) -> None:
    reader = our_reader(path)
    for number in (reader.n_frames, -reader.n_frames - 1):
        with pytest.raises(IndexError, match="exceeds length of trajectory"):
            reader[number]


def test_reader_steps_with_next_and_rewinds_behind_the_last(path: str) -> None:
    every = frames_of_mdanalysis(path)
    reader = our_reader(path)
    check_same([recorded(reader.next())], [every[1]])
    reader[-1]
    with pytest.raises(StopIteration):
        next(reader)
    check_same([recorded(reader.ts)], [every[0]])
    reader[1]
    reader.rewind()
    check_same([recorded(reader.ts)], [every[0]])


def test_two_readers_of_a_file_move_on_their_own(path: str) -> None:
    every = frames_of_mdanalysis(path)
    first, second = our_reader(path), our_reader(path)
    second[-1]
    for i, ts in enumerate(first):
        check_same([recorded(ts), recorded(second[-1 - i])], [every[i], every[-1 - i]])


def test_copy_of_a_reader_moves_on_its_own(path: str) -> None:
    shown = []
    for reader in (our_reader(path), make_reader(path)):
        reader[1]
        copy = reader.copy()
        assert isinstance(copy, type(reader))
        shown.append([recorded(copy.ts), recorded(copy[2]), recorded(reader.ts)])
        copy.close()
    check_same(*shown)


def test_pickled_reader_keeps_its_place_and_what_was_changed(path: str) -> None:
    every = frames_of_mdanalysis(path)
    reader = our_reader(path)
    reader[1].positions[0] = 7.0
    again = pickle.loads(pickle.dumps(reader))
    assert isinstance(again, CoreReader)
    assert again.ts.frame == 1
    assert (again.ts.positions[0] == 7.0).all()
    check_same([recorded(ts) for ts in again], every)


LOAD = """
import pickle, sys, warnings
warnings.simplefilter("ignore")
from MDAnalysis.coordinates.base import ProtoReader
with open(sys.argv[1], "rb") as file:
    reader = pickle.load(file)
assert "__call__" not in vars(type(ProtoReader)), "nobody has accelerated here"
print(type(reader).__module__, reader.ts.frame, float(sum(ts.positions.sum(dtype="f8") for ts in reader)))
"""


def test_pickled_reader_loads_in_a_process_that_is_not_accelerated(path: str, tmp_path: Path) -> None:
    reader = our_reader(path)
    reader[2]
    (tmp_path / "reader.pickle").write_bytes(pickle.dumps(reader))
    command = [sys.executable, "-c", LOAD, str(tmp_path / "reader.pickle")]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert answer[0].startswith("mdreel.mdanalysis.")
    assert int(answer[1]) == 2
    assert float(answer[2]) == sum(frame["positions"].sum(dtype=np.float64) for frame in frames_of_mdanalysis(path))


def test_closed_reader_reads_no_frame(path: str) -> None:
    with our_reader(path) as reader:
        reader[1]
    with pytest.raises((OSError, KeyError)):
        reader[0]


@pytest.mark.parametrize("name", ["XTC", "TRR", "DCD", "H5MD"])
def test_closed_reader_opens_the_file_again_for_an_iteration(name: str) -> None:
    reader = our_reader(FILES[name])
    reader.close()
    check_same([recorded(ts) for ts in reader], frames_of_mdanalysis(FILES[name]))


def test_reader_of_gromacs_files_leaves_nothing_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "adk.xtc"
    path.write_bytes(Path(datafiles.XTC).read_bytes())
    universe = mda.Universe(datafiles.GRO)
    with mdreel.mdanalysis.accelerate():
        universe.load_new(str(path), refresh_offsets=True)
    for _ in universe.trajectory:
        pass
    assert [entry.name for entry in tmp_path.iterdir()] == ["adk.xtc"]


def test_reader_of_gromacs_files_still_has_the_file_of_mdanalysis() -> None:
    reader = our_reader(datafiles.XTC)
    assert len(reader._xdr.offsets) == reader.n_frames == 10
    assert reader._xdr is reader._xdr


@pytest.mark.parametrize("sub", [[5, 6, 100], [100, 5, 6], np.arange(0, 47681, 50)], ids=["some", "mixed", "many"])
def test_reader_shows_a_part_of_the_atoms(sub: Any) -> None:
    every = frames_of_mdanalysis(datafiles.XTC)
    reader = our_reader(datafiles.XTC, sub=sub)
    assert reader.n_atoms == len(sub)
    for ts, expected in zip(reader, every, strict=True):
        np.testing.assert_array_equal(ts.positions, expected["positions"][sub])


@pytest.mark.parametrize("name", ["XTC", "TRR", "DCD"])
def test_reader_takes_another_time_between_frames(name: str) -> None:
    theirs = frames_of_mdanalysis(FILES[name], dt=0.7)
    check_same([recorded(ts) for ts in our_reader(FILES[name], dt=0.7)], theirs)


@pytest.mark.parametrize("unit", ["nm", "Angstrom", "pm"])
@pytest.mark.parametrize("kind", ["lengths", "vectors", "impossible vectors"])
def test_reader_of_h5md_shows_cells_of_every_unit(tmp_path: Path, kind: str, unit: str) -> None:
    random = np.random.default_rng(3)
    vectors = np.tril(random.uniform(1, 3, (40, 3, 3)))
    box = {"lengths": vectors[:, 0], "vectors": vectors, "impossible vectors": np.ones((40, 3, 3))}[kind]
    elements = {"position": random.normal(0, 1, (40, 7, 3)).astype(np.float32)}
    path = str(write_h5md(tmp_path / "cells.h5md", elements, box=box.astype(np.float32), units={"position": unit}))
    theirs = frames_of_mdanalysis(path)
    assert [frame["dimensions"] is None for frame in theirs] == [kind == "impossible vectors"] * 40
    check_same([recorded(ts) for ts in our_reader(path)], theirs)


@pytest.mark.parametrize("name", ["XTC", "TRR"])
def test_torn_end_of_a_file_is_a_warning(tmp_path: Path, name: str) -> None:
    whole = Path(FILES[name]).read_bytes()
    torn = tmp_path / f"torn.{name.lower()}"
    torn.write_bytes(whole[:-500])
    with pytest.warns(UserWarning, match=r"torn\..*byte"):
        reader = our_reader(str(torn))
    every = frames_of_mdanalysis(FILES[name])
    check_same([recorded(ts) for ts in reader], every[:-1])


def test_rewound_reader_sees_that_a_dcd_has_grown(tmp_path: Path, adk_positions: np.ndarray) -> None:
    from MDAnalysis.lib.formats.libdcd import DCDFile

    def write(n_frames: int) -> None:
        with DCDFile(str(tmp_path / "growing.dcd"), "w") as file:
            file.write_header("", 3341, 0, 1, 1.0, 0)
            for positions in adk_positions[:n_frames]:
                file.write(positions, [0] * 6)

    write(3)
    reader = our_reader(str(tmp_path / "growing.dcd"))
    assert reader.n_frames == 3
    write(7)
    np.testing.assert_array_equal([ts.positions.copy() for ts in reader], adk_positions[:7])
