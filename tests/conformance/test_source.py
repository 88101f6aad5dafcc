"""What every source must do, whatever it reads."""

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.netcdf_writer import Make
from conformance.netcdf_writer import write as write_netcdf
from h5md_writer import write_h5md
from mdreel._core import Frames, FrameSet, Source
from mdreel.errors import FrameIndexError, MismatchError
from mdreel.live.channels.channel import Channel
from mdreel.live.producers.producer import Producer
from mdreel.trajectory.follow import follow
from mdreel.trajectory.mdanalysis_source import open_foreign
from mdreel.trajectory.open import open as open_trajectory
from netcdf4_writer import write_netcdf4

N_FRAMES, N_ATOMS = 98, 3341
KINDS = [
    "memory",
    "dcd",
    "xtc",
    "xtc located",
    "xtc followed",
    "netcdf",
    "netcdf with velocities",
    "trr",
    "trr located",
    "trr followed",
    "dcd followed",
    "chain of xtc",
    "chain of dcd and xtc",
    "h5md",
    "h5md in chunks",
    "netcdf-4",
    "chain of h5md and xtc",
    "read by mdanalysis",
    "channel",
]
WRITTEN = 6e-3  # Å: what XTC's rounding to 0.01 Å leaves, and float32


@pytest.fixture(scope="session")
def xtc_segments(tmp_path_factory: pytest.TempPathFactory, adk_positions: np.ndarray) -> list[Path]:
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    paths = []
    for first, end in ((0, 1), (1, 40), (40, 98)):
        path = tmp_path_factory.mktemp("segments") / f"{first}.xtc"
        with XTCFile(str(path), "w") as file:
            for i in range(first, end):
                file.write(adk_positions[i] / 10, np.eye(3, dtype=np.float32) * 10, i, float(i), 1000)
        paths.append(path)
    return paths


@pytest.fixture(scope="session")
def netcdf_files(tmp_path_factory: pytest.TempPathFactory, adk_positions: np.ndarray) -> dict[str, Path]:
    """The AdK trajectory as AMBER NetCDF: in records with cells, and in pieces with velocities."""
    folder = tmp_path_factory.mktemp("netcdf")
    size = {"n_frames": N_FRAMES, "n_atoms": N_ATOMS}
    plain = Make(variables=("time", "coordinates", "cell_lengths", "cell_angles"), **size)
    moving = Make(variables=("velocities", "coordinates"), fixed_frames=True, **size)
    cell = {"cell_lengths": np.full(3, 100), "cell_angles": np.full(3, 90)}
    write_netcdf(folder / "plain.nc", plain, {"coordinates": adk_positions, **cell})
    write_netcdf(folder / "moving.nc", moving, {"coordinates": adk_positions})
    return {"netcdf": folder / "plain.nc", "netcdf with velocities": folder / "moving.nc"}


@pytest.fixture(scope="session")
def adk_trr(tmp_path_factory: pytest.TempPathFactory, adk_positions: np.ndarray) -> Path:
    """The AdK trajectory as TRR; frames have velocities and forces now and then, of their own numbers."""
    from MDAnalysis.lib.formats.libmdaxdr import TRRFile

    path = tmp_path_factory.mktemp("adk") / "adk.trr"
    with TRRFile(str(path), "w") as file:
        for i, positions in enumerate(adk_positions):
            velocities, forces = (positions / 7 if i % every == 0 else None for every in (3, 5))
            box = np.eye(3, dtype=np.float32) * 10
            file.write(positions / 10, velocities, forces, box, i, float(i), 0.0, N_ATOMS)
    return path


@pytest.fixture(params=KINDS)
def make_source(
    request: pytest.FixtureRequest,
    adk_positions: np.ndarray,
    adk_dcd: Path,
    adk_xtc: Path,
    adk_trr: Path,
    xtc_segments: list[Path],
    netcdf_files: dict[str, Path],
    tmp_path: Path,
) -> Callable[[], Source]:
    def located(path: Path) -> Source:
        source = open_trajectory(path, index="none")
        assert source.n_frames == N_FRAMES
        return source

    def followed(path: Path) -> Source:
        source = follow(path, n_frames=N_FRAMES, index="none")
        read_frames(source, [N_FRAMES - 1], [0])
        return source

    def chunked() -> Source:
        layout = {"chunks": (10, 500, 3), "compression": "gzip", "compression_opts": 1, "shuffle": True}
        box = np.full((N_FRAMES, 3), 100.0)
        return open_trajectory(write_h5md(tmp_path / "adk.h5md", {"position": adk_positions}, layout=layout, box=box))

    def after_h5md() -> Source:
        first = write_h5md(tmp_path / "adk.h5md", {"position": adk_positions[:40]})
        return open_trajectory([first, xtc_segments[2]], index="none")

    def after_dcd() -> Source:
        from MDAnalysis.lib.formats.libdcd import DCDFile

        first = tmp_path / "first.dcd"
        with DCDFile(str(first), "w") as file:
            file.write_header("", N_ATOMS, 0, 1, 1.0, 0)
            for positions in adk_positions[:40]:
                file.write(positions, [0] * 6)
        return open_trajectory([first, xtc_segments[2]], index="none")

    def published() -> Source:
        with Producer(tmp_path / "channel", N_ATOMS, n_slots=N_FRAMES) as producer:
            for i, positions in enumerate(adk_positions):
                producer.publish(positions, i, float(i), np.eye(3) * 100)
        source = Channel(tmp_path / "channel").source()
        read_frames(source, [N_FRAMES - 1], [0])
        return source

    makers: dict[str, Callable[[], Source]] = {
        "memory": lambda: Source.memory(adk_positions, np.arange(N_FRAMES, dtype=np.float64)),
        "dcd": lambda: open_trajectory(adk_dcd),
        "xtc": lambda: open_trajectory(adk_xtc, index="none"),
        "xtc located": lambda: located(adk_xtc),
        "xtc followed": lambda: followed(adk_xtc),
        "netcdf": lambda: open_trajectory(netcdf_files["netcdf"]),
        "netcdf with velocities": lambda: open_trajectory(netcdf_files["netcdf with velocities"]),
        "trr": lambda: open_trajectory(adk_trr, index="none"),
        "trr located": lambda: located(adk_trr),
        "trr followed": lambda: followed(adk_trr),
        "dcd followed": lambda: followed(adk_dcd),
        "chain of xtc": lambda: open_trajectory(xtc_segments, index="none"),
        "chain of dcd and xtc": after_dcd,
        "h5md": lambda: open_trajectory(write_h5md(tmp_path / "adk.h5md", {"position": adk_positions})),
        "h5md in chunks": chunked,
        "netcdf-4": lambda: open_trajectory(write_netcdf4(tmp_path / "adk.nc", adk_positions)),
        "chain of h5md and xtc": after_h5md,
        "read by mdanalysis": lambda: open_foreign(str(adk_xtc), "XTC"),
        "channel": published,
    }
    assert set(makers) == set(KINDS)
    return makers[request.param]


def read_frames(source: Source, frames: list[int], atoms: list[int]) -> Frames:
    return source.read(FrameSet.list(np.array(frames, np.uint64)), np.array(atoms, np.uint32))


def test_source_says_its_size(make_source: Callable[[], Source]) -> None:
    source = make_source()
    assert (source.n_atoms, source.n_frames) == (N_ATOMS, N_FRAMES)
    assert source.times().shape == (N_FRAMES,)
    assert source.n_bytes > 0
    source.check_end()


def test_source_gives_the_positions_of_every_frame(
    make_source: Callable[[], Source], adk_positions: np.ndarray
) -> None:
    source = make_source()
    frames = source.read(FrameSet.range(0, 1, N_FRAMES), np.arange(N_ATOMS, dtype=np.uint32))
    np.testing.assert_allclose(frames.positions, adk_positions, rtol=0, atol=WRITTEN)
    assert frames.positions.dtype == frames.vectors.dtype == frames.dimensions.dtype == np.float32
    assert (frames.vectors.shape, frames.dimensions.shape) == ((N_FRAMES, 3, 3), (N_FRAMES, 6))
    assert frames.steps.shape == (N_FRAMES,)
    assert frames.has_positions.all()
    assert frames.velocities is None
    assert frames.forces is None
    np.testing.assert_array_equal(frames.times, source.times())
    np.testing.assert_array_equal(np.isnan(frames.vectors).all(axis=(1, 2)), ~frames.has_cell)
    np.testing.assert_allclose(frames.dimensions[frames.has_cell] - [100, 100, 100, 90, 90, 90], 0, atol=1e-4)


def test_source_says_what_it_does_not_have(make_source: Callable[[], Source]) -> None:
    source = make_source()
    frames = source.read(FrameSet.range(0, 1, 2), np.array([5], np.uint32), ["positions", "velocities", "forces"])
    for name in ("velocities", "forces"):
        assert name in source.quantities or not getattr(frames, f"has_{name}").any()
        assert np.isnan(getattr(frames, name)[~getattr(frames, f"has_{name}")]).all()


def test_source_reads_the_first_frame_without_locating_the_others(
    make_source: Callable[[], Source], adk_positions: np.ndarray
) -> None:
    source = make_source()
    located = source.is_located
    positions = source.read(FrameSet.range(0, 1, 1), np.array([0, 3340], np.uint32)).positions
    np.testing.assert_allclose(positions[0], adk_positions[0, [0, 3340]], rtol=0, atol=WRITTEN)
    assert source.is_located == located


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    frames=st.lists(st.integers(0, N_FRAMES - 1), min_size=1, max_size=12),
    atoms=st.sets(st.integers(0, N_ATOMS - 1), min_size=1, max_size=40),
)
def test_source_gives_any_frames_and_atoms_with_the_bits_of_all(
    make_source: Callable[[], Source], frames: list[int], atoms: set[int]
) -> None:
    source = make_source()
    everything = source.read(FrameSet.range(0, 1, N_FRAMES), np.arange(N_ATOMS, dtype=np.uint32))
    chosen = read_frames(source, frames, sorted(atoms))
    np.testing.assert_array_equal(chosen.positions, everything.positions[np.ix_(frames, sorted(atoms))])
    for name in ("vectors", "dimensions", "has_cell", "times", "steps"):
        np.testing.assert_array_equal(getattr(chosen, name), getattr(everything, name)[frames])


def test_source_refuses_a_frame_that_does_not_exist(make_source: Callable[[], Source]) -> None:
    with pytest.raises(FrameIndexError, match=r"frame 98 does not exist|frame 58 does not exist"):
        read_frames(make_source(), [0, N_FRAMES], [0])


@pytest.mark.parametrize("atoms", [[0, N_ATOMS], [3, 2], [2, 2]])
def test_source_refuses_atoms_that_do_not_exist_or_ascend(make_source: Callable[[], Source], atoms: list[int]) -> None:
    with pytest.raises(MismatchError, match="atom ind"):
        read_frames(make_source(), [0], atoms)


def test_source_is_opened_again_where_it_is_unpickled(make_source: Callable[[], Source]) -> None:
    source = make_source()
    if source.format == "channel":
        with pytest.raises(NotImplementedError, match="to one process"):
            pickle.dumps(source)
        return
    again = pickle.loads(pickle.dumps(source))
    one, other = read_frames(again, [5], [7]), read_frames(source, [5], [7])
    for name in ("positions", "dimensions", "has_cell", "times"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
