"""The papers' own program: its results are those of mdreel in every mode, and its times obey table 3 of 2019."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest

import mdreel
from mdreel.execution.span_log import SpanLog
from mdreel.timing.spans import KINDS, NO_BLOCK
from mdreel.timing.timing import Timing
from mdreel.timing.workers import Member
from mdreel.trajectory.split import split
from mdreel_lab.bench.data import SELECTION, System, make
from mdreel_lab.bench.grid import Point
from mdreel_lab.bench.published.frames import N_COORDINATE_BYTES
from mdreel_lab.bench.published.on_dask import Task, timing_of
from mdreel_lab.bench.published.on_ranks import block_edges
from mdreel_lab.bench.workload import Order
from mpi_launcher import EVERY_MPI, GLOBAL_ARRAYS, PARALLEL_HDF5, Launcher, needs

N_FRAMES, N_ATOMS = 85, 3341
FLOAT32 = 1e-5
"""Difference of RMSDs that float32 positions allow, Å: MDAnalysis finds 4e-7 for equal structures."""


@pytest.fixture(scope="module")
def system(data: Path) -> System:
    return make("adk", N_FRAMES, data, ("xtc", "dcd", "h5md"))


@pytest.fixture(scope="module")
def expected(system: System) -> np.ndarray:
    """Times and RMSDs that mdreel finds, shape (n_frames, 2)."""
    return rows_of_mdreel(system.topology, system.trajectory("xtc"))


def rows_of_mdreel(topology: Path, trajectory: Path) -> np.ndarray:
    atoms = mda.Universe(str(topology), str(trajectory)).select_atoms(SELECTION)
    return mdreel.RMSD(atoms, trajectory=str(trajectory)).run(backend="serial").results.rmsd[:, 1:]


def order_of(system: System, paths: Sequence[Path], n_workers: int, load: int = 1, **settings: Any) -> Order:
    values: dict[str, Any] = {
        "scenario": "mine", "workload": "rmsd", "system": "adk", "selection": SELECTION, "cache": "warm",
        "series": "theirs", "program": "published", "executor": "mpi", "format": "xtc", "access": "default",
        "communication": "gather", "schedule": "static", "frames": "file", "parts_per_worker": 0, "load": load,
        "stripes": 0, "n_frames": N_FRAMES, "n_tasks": 0, "n_workers": n_workers, "repeat": 1,
    }  # fmt: skip
    point = Point(**(values | settings))
    return Order(point, "", str(system.topology), str(system.reference), list(map(str, paths)), {}, load)


def parts_of(system: System, folder: Path, n_parts: int) -> list[Path]:
    (folder / "parts").mkdir(exist_ok=True)
    written = split(str(system.trajectory("xtc")), folder / "parts" / f"{n_parts}.xtc", n_parts=n_parts)
    return [Path(path) for path in written.paths]


def run_on(mpi: Launcher, n_ranks: int, folder: Path, orders: Sequence[Order]) -> list[tuple[np.ndarray, Timing]]:
    return run(mpi.command(n_ranks), mpi.environment, folder, orders)


def run(
    python: list[str], environment: dict[str, str], folder: Path, orders: Sequence[Order]
) -> list[tuple[np.ndarray, Timing]]:
    """Run the program of the papers; return the rows and the timing of each order."""
    program = Path(__file__).parents[2] / "published_runs.py"
    command = [*python, str(program), str(folder), json.dumps([order.to_json() for order in orders])]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=200)
    assert done.returncode == 0, done.stderr
    found = [(np.load(folder / f"run{i}.npy"), np.load(folder / f"run{i}.spans.npy")) for i in range(len(orders))]
    return [(rows, Timing(spans)) for rows, spans in found]


def check_times(timing: Timing, n_ranks: int, n_bytes: int) -> None:
    """The observables are the sums that the papers define, computed once more from the spans of each rank."""
    found = timing.observables
    assert found.ranks.tolist() == list(range(n_ranks))
    assert found.n_frames.sum() == N_FRAMES
    assert found.n_bytes.sum() == n_bytes
    np.testing.assert_allclose(found.t_n, found.t_block + found.t_comm)
    np.testing.assert_allclose(found.t_block, found.t_open + found.t_all_frames + found.overhead2)
    np.testing.assert_allclose(found.t_all_frames, found.t_io + found.t_comp + found.t_end_loop + found.overhead1)
    assert found.t_total >= found.t_n.max() - 1e-9
    for rank in range(n_ranks):
        own = np.sort(timing.spans[timing.spans["worker"] == rank], order="start_ns")
        assert (own["start_ns"][1:] >= own["stop_ns"][:-1]).all(), "spans of a rank do not overlap"
        seconds = (own["stop_ns"] - own["start_ns"]) * 1e-9
        of_kind = {kind: own["kind"] == KINDS.index(kind) for kind in KINDS}
        with_frames = (own["n_frames"] > 0) & ~of_kind["communicate"]  # Global Arrays count the frames that they send
        assert found.t_comp[rank] == pytest.approx(seconds[of_kind["compute"]].sum())
        # Of several blocks, the end of each loop but the last one counts as reading.
        is_in_loop = own["stop_ns"] <= own["stop_ns"][with_frames].max(initial=0)
        assert found.t_io[rank] == pytest.approx(seconds[of_kind["read"] & is_in_loop].sum())
        assert found.t_open[rank] == pytest.approx(seconds[of_kind["open"]].sum())
        sent = of_kind["communicate"] | (of_kind["wait"] & (own["block"] == NO_BLOCK))
        assert found.t_comm[rank] == pytest.approx(seconds[sent].sum())
        assert found.t_end_loop[rank] >= seconds[of_kind["read"] & ~is_in_loop].sum() - 1e-9
        assert min(found.overhead1[rank], found.overhead2[rank]) > -1e-9


@EVERY_MPI
@pytest.mark.parametrize("n_ranks", [1, 3])
def test_every_mode_finds_what_mdreel_finds(
    mpi: Launcher, n_ranks: int, system: System, expected: np.ndarray, tmp_path: Path
) -> None:
    whole, parts = [system.trajectory("xtc")], parts_of(system, tmp_path, n_ranks)
    orders = [
        order_of(system, whole, n_ranks, access="shared"),
        order_of(system, parts, n_ranks, access="segments"),
        order_of(system, parts, n_ranks, access="chain"),
        order_of(system, whole, n_ranks, frames="memory"),
        order_of(system, [system.trajectory("dcd")], n_ranks, format="dcd", load=3),
    ]
    runs = run_on(mpi, n_ranks, tmp_path, orders)
    n_bytes = sum(path.stat().st_size for path in parts)
    sizes = [whole[0].stat().st_size, n_bytes, n_bytes, N_FRAMES * N_ATOMS * N_COORDINATE_BYTES]
    for (rows, timing), size in zip(runs, sizes, strict=False):
        np.testing.assert_allclose(rows[:, 1], expected[:, 1], atol=FLOAT32)
        check_times(timing, n_ranks, size)
    for rows, _ in runs[:3]:
        np.testing.assert_allclose(rows[:, 0], expected[:, 0], rtol=1e-6)
    of_dcd = rows_of_mdreel(system.topology, system.trajectory("dcd"))
    np.testing.assert_allclose(runs[4][0][:, 1], of_dcd[:, 1], atol=FLOAT32)


@EVERY_MPI
def test_ranks_without_frames_take_part(mpi: Launcher, system: System, data: Path, tmp_path: Path) -> None:
    short = make("adk", 5, data, ("xtc",))
    assert block_edges(5, 4) == [0, 2, 4, 5, 5]
    orders = [order_of(short, [short.trajectory("xtc")], 4, **mode) for mode in ({}, {"frames": "memory"})]
    for rows, timing in run_on(mpi, 4, tmp_path, orders):
        alone = rows_of_mdreel(short.topology, short.trajectory("xtc"))
        np.testing.assert_allclose(rows[:, 1], alone[:, 1], atol=FLOAT32)
        assert timing.observables.n_frames.tolist() == [2, 2, 1, 0]


@needs(GLOBAL_ARRAYS)
@pytest.mark.parametrize("n_ranks", [1, 3])
def test_global_arrays_transfer_the_same(n_ranks: int, system: System, expected: np.ndarray, tmp_path: Path) -> None:
    whole, parts = [system.trajectory("xtc")], parts_of(system, tmp_path, n_ranks)
    of_access = {"shared": whole, "segments": parts, "chain": parts}
    orders = [
        order_of(system, paths, n_ranks, access=access, communication="global-arrays")
        for access, paths in of_access.items()
    ]
    for (rows, timing), paths in zip(run_on(GLOBAL_ARRAYS, n_ranks, tmp_path, orders), of_access.values(), strict=True):
        np.testing.assert_allclose(rows, expected, atol=FLOAT32, rtol=1e-6)
        check_times(timing, n_ranks, sum(path.stat().st_size for path in paths))


@needs(PARALLEL_HDF5)
@pytest.mark.parametrize("n_ranks", [1, 3])
def test_frames_of_parallel_hdf5_are_the_same(
    n_ranks: int, system: System, expected: np.ndarray, tmp_path: Path
) -> None:
    path = system.trajectory("h5md")
    order = order_of(system, [path], n_ranks, format="h5md", access="hdf5-independent", load=2)
    ((rows, timing),) = run_on(PARALLEL_HDF5, n_ranks, tmp_path, [order])
    # XTC rounds the positions, and H5MD does not.
    np.testing.assert_allclose(rows[:, 1], rows_of_mdreel(system.topology, path)[:, 1], atol=FLOAT32)
    np.testing.assert_allclose(rows[:, 1], expected[:, 1], atol=2e-2)
    check_times(timing, n_ranks, path.stat().st_size)


def test_tasks_of_dask_find_the_same(system: System, expected: np.ndarray, tmp_path: Path) -> None:
    path = system.trajectory("xtc")
    modes = [(executor, parts) for executor in ("processes", "distributed") for parts in (0, 3)]
    orders = [order_of(system, [path], 2, executor=executor, parts_per_worker=parts) for executor, parts in modes]
    runs = run([sys.executable], {**os.environ, "PYTHONWARNINGS": "ignore"}, tmp_path, orders)
    for i, ((_, parts), (rows, timing)) in enumerate(zip(modes, runs, strict=True)):
        np.testing.assert_allclose(rows, expected, atol=FLOAT32, rtol=1e-6)
        found = timing.observables
        assert 1 <= len(found.ranks) <= 2, "a process may do two tasks before another has begun"
        check_times(timing, len(found.ranks), path.stat().st_size)
        assert found.n_blocks.sum() == (2 * parts or 2)
        assert (found.t_wait > 0).all()
        assert found.t_total == pytest.approx(float((tmp_path / f"run{i}.seconds").read_text()), abs=1e-3)


@pytest.mark.parametrize("error_ns", [0, 30, -30, 10**9])
def test_clocks_of_workers_on_other_hosts_are_compared(error_ns: int) -> None:
    """Two blocks on a host whose clock is ahead, and one on another; an error of an offset keeps blocks in the run."""
    ahead_ns = 10**12
    times = [("near", 0, 110, 150), ("far", 1, 105, 125), ("far", 1, 130, 190)]
    tasks = []
    for host, thread, begun, ended in times:
        log, shift = SpanLog(), ahead_ns if host == "far" else 0
        log.record("compute", 0, begun + shift, ended + shift, block=len(tasks), n_frames=1)
        tasks.append(Task(log, Member(host, 7, 1000), thread))
    timing = timing_of(tasks, 100, 200, {("far", 7): error_ns - ahead_ns})
    bounded = max(-5, min(error_ns, 10))
    computed = timing.spans[timing.spans["kind"] == KINDS.index("compute")]
    found = {int(row["block"]): (int(row["start_ns"]), int(row["stop_ns"])) for row in computed}
    assert found == {0: (10, 50), 1: (5 + bounded, 25 + bounded), 2: (30 + bounded, 90 + bounded)}
    of_block = {int(row["block"]): int(row["worker"]) for row in computed}
    assert of_block[1] == of_block[2] != of_block[0]
    assert {timing.crew[of_block[0]].host, timing.crew[of_block[1]].host} == {"near", "far"}
    assert timing.spans["stop_ns"].max() == 100
