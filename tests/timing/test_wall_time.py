"""Observables as published: delays that are planted in one run come out as a stopwatch on the wall says.

A rank opens late, another reads late, a third hands its result in late. The stopwatch also sees the planning before the
first span of a rank, and the caller after the last one. The tolerance for that is less than one delay.
"""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mdreel import Dask, Processes, Threads
from mdreel.execution.executors.executor import Executor
from mdreel.execution.executors.local.serial import Serial
from mdreel.timing.observables import Observables, observables_of
from mpi_launcher import EVERY_MPI, Launcher
from planted_delays import Delay, arguments_of, delayed
from spans_of_ranks import assert_identities

LATE, TOLERANCE, N_RANKS = 0.4, 0.35, 4
NEARLY = 0.95 * LATE


def delays(kind: str, folder: Path, n_shares: int = N_RANKS) -> Delay:
    """Opening, reading and handing in are late, each on one rank."""
    claims = [str(folder / name) for name in ("opened", "merged")]
    share = n_shares - 1
    # Ranks meet when all have opened the trajectory that they were sent, and open their readers behind that.
    opening = "unpickle" if kind == "gather" else "open"
    others = (Delay(opening, LATE, claim=claims[0]), Delay("read", LATE, min(1, share), n_shares))
    if kind == "gather":
        # The rank that reads late also begins late, when the others have nothing left to do.
        others = (*others, Delay("begin", LATE / 4, 1, n_shares, str(folder / "begun")))
    return Delay(kind, LATE, share, n_shares, claims[1], others)


def assert_wall(seen: Observables, stopwatch: float) -> None:
    assert seen.t_total <= stopwatch
    assert stopwatch - seen.t_total < TOLERANCE, (seen.t_total, stopwatch)
    assert seen.t_n.max() <= seen.t_total + 1e-9


def timed(delay: Delay, executor: Executor) -> tuple[Observables, float]:
    since = time.perf_counter()
    outcome = delayed(delay, executor)
    taken = time.perf_counter() - since
    return assert_identities(outcome.spans), taken


@pytest.fixture(scope="module")
def dask() -> Iterator[Dask]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=N_RANKS, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as made,
        Client(made, set_as_default=False) as client,
    ):
        yield Dask(client=client, schedule="static")


def test_delays_of_a_single_process_add_up(tmp_path: Path) -> None:
    seen, stopwatch = timed(delays("compute", tmp_path, 1), Serial())
    assert_wall(seen, stopwatch)
    assert seen.t_total >= 3 * NEARLY
    assert seen.t_n == pytest.approx(seen.t_total)


def test_delays_of_threads_are_those_of_the_wall(tmp_path: Path) -> None:
    seen, stopwatch = timed(delays("merge", tmp_path), Threads(N_RANKS, "static"))
    assert_wall(seen, stopwatch)
    # The caller merges behind the late reader.
    assert seen.t_total >= 2 * NEARLY
    assert (seen.t_open.max(), seen.t_io.max()) >= (NEARLY, NEARLY)


@pytest.mark.parametrize("name", ["processes", "dask"])
def test_delays_of_workers_are_those_of_the_wall(name: str, dask: Dask, tmp_path: Path) -> None:
    executor = dask if name == "dask" else Processes(N_RANKS, "static")
    seen, stopwatch = timed(delays("communicate", tmp_path), executor)
    assert_wall(seen, stopwatch)
    for times in (seen.t_open, seen.t_io, seen.t_comm, seen.t_transfer):
        assert times.max() >= NEARLY


@EVERY_MPI
def test_delays_of_ranks_are_those_of_the_wall(mpi: Launcher, tmp_path: Path) -> None:
    runs: list[tuple[str | None, Delay]] = [("gather", Delay(n_shares=N_RANKS)), ("gather", delays("gather", tmp_path))]
    command = mpi.command(N_RANKS, *arguments_of(tmp_path, runs))
    done = subprocess.run(command, capture_output=True, text=True, env=mpi.environment, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    spans = [np.load(tmp_path / f"run{i}.spans.npy") for i in range(2)]
    stopwatch = [float((tmp_path / f"run{i}.seconds").read_text()) for i in range(2)]
    quick, seen = map(observables_of, spans)
    for one, taken in zip((quick, seen), stopwatch, strict=True):
        assert_wall(one, taken)
    # All ranks wait for the one that opens, all for the one that reads, and rank 0 for the one that hands in late.
    assert seen.t_total >= 3 * NEARLY
    reader, late = 1, N_RANKS - 1
    opener = int(seen.t_open.argmax())
    on_time = [rank for rank in range(N_RANKS) if rank not in (reader, late, opener, 0)]
    assert seen.t_open[opener] >= NEARLY
    assert seen.t_io[reader] >= NEARLY
    assert seen.t_transfer[late] >= NEARLY
    assert (np.delete(seen.overhead2, opener) >= NEARLY).all(), seen.overhead2
    assert (np.delete(seen.t_comm_wait, reader) >= NEARLY).all(), seen.t_comm_wait
    assert seen.t_comm[0] >= 2 * NEARLY
    assert seen.t_comm[late] >= 2 * NEARLY
    assert (seen.t_transfer[[0, reader, *on_time]] < NEARLY).all(), seen.t_transfer
    assert seen.t_n[0] == pytest.approx(seen.t_total, abs=TOLERANCE)
