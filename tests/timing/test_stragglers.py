"""Stragglers: a delay that is planted in a run is found, on the rank that had it, with its cause."""

import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np
import pytest

from mdreel import Dask, Processes, Threads
from mdreel.execution.executors.coordinator import Coordinator
from mdreel.execution.executors.executor import Executor
from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK, SPAN
from mdreel.timing.stragglers import CAUSES, Straggler
from mdreel.timing.timing import Timing
from mpi_launcher import EVERY_MPI, Launcher
from planted_delays import CAUSES as CAUSES_OF
from planted_delays import N_FRAMES, OBSERVABLES, Delay, arguments_of, delayed
from spans_of_ranks import assert_of_a_run
from synthetic_runs import stretched

N_WORKERS = 3
OF_THREADS = ("open", "read", "compute")
OF_PROCESSES = ("unpickle", *OF_THREADS, "communicate")


@pytest.fixture(scope="module")
def dask() -> Iterator[Dask]:
    from distributed import LocalCluster

    with LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as made:
        yield Dask(client=made.scheduler_address, schedule="static")


def seconds_of(executor: Executor) -> float:
    """A delay that no noise takes as long as: what ranks take without one, some times over."""
    undelayed = Timing(delayed(Delay(n_shares=N_WORKERS), executor).spans).observables
    return max(2.0, 4 * float(np.median(undelayed.t_own)))


def planted(kind: str, executor: Executor, seconds: float, folder: Path) -> Timing:
    delay = Delay(kind, seconds, share=1, n_shares=N_WORKERS, claim=str(folder / "claim"))
    return Timing(delayed(delay, executor).spans)


def assert_found(timing: Timing, observable: str, seconds: float, rank: int | None = None) -> Straggler:
    """Check that one rank, or this one, took so much longer; that one time alone shows it; that its cause is named."""
    seen = assert_of_a_run(timing.spans, N_FRAMES)
    place = int(getattr(seen, observable).argmax()) if rank is None else rank
    for name in ("t_open", "t_io", "t_comp", "t_transfer", "t_wait"):
        times = getattr(seen, name)
        excess = times[place] - np.median(np.delete(times, place))
        assert excess >= 0.75 * seconds if name == observable else excess < 0.5 * seconds, f"{name}: {times}"
    found = {straggler.rank: straggler for straggler in timing.straggling}
    assert place in found, f"{seen.t_own}"
    assert found[place].cause == CAUSES_OF[observable]
    assert found[place].excess_seconds >= 0.75 * seconds
    assert f"{place} ({found[place].times_median:.3g}x, {CAUSES[found[place].cause]} +" in (
        Timing(stretched(timing.spans, 10)).summary()
    )
    return found[place]


@pytest.mark.parametrize("kind", OF_THREADS)
def test_delay_of_a_thread_is_found(kind: str, tmp_path: Path) -> None:
    executor = Threads(N_WORKERS, "static")
    seconds = seconds_of(executor)
    timing = planted(kind, executor, seconds, tmp_path)
    assert_found(timing, OBSERVABLES[kind], seconds, None if kind == "open" else 1)


@cache
def seconds_of_processes() -> float:
    return seconds_of(Processes(N_WORKERS, "static"))


@pytest.mark.parametrize("kind", OF_PROCESSES)
def test_delay_of_a_process_is_found(kind: str, tmp_path: Path) -> None:
    seconds = seconds_of_processes()
    timing = planted(kind, Processes(N_WORKERS, "static"), seconds, tmp_path)
    assert_found(timing, OBSERVABLES[kind], seconds, None if "open" in OBSERVABLES[kind] else 1)


@pytest.mark.parametrize("kind", OF_PROCESSES)
def test_delay_of_a_worker_of_dask_is_found(kind: str, dask: Dask, tmp_path: Path) -> None:
    seconds = seconds_of(dask)
    assert_found(planted(kind, dask, seconds, tmp_path), OBSERVABLES[kind], seconds)


def test_worker_that_waits_for_the_scheduler_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = Processes(N_WORKERS, "static")
    seconds = seconds_of_processes()
    since_ns: dict[int, int] = {}
    take = Coordinator.take

    def late(self: Coordinator, worker: int) -> Any:
        since_ns.setdefault(worker, perf_counter_ns())
        if worker == 1 and perf_counter_ns() - since_ns[worker] < 1e9 * seconds:
            return None
        return take(self, worker)

    monkeypatch.setattr(Coordinator, "take", late)
    timing = Timing(delayed(Delay(n_shares=N_WORKERS), executor).spans)
    straggler = assert_found(timing, "t_wait", seconds, 1)
    assert straggler.reason == "waited for the scheduler"


@EVERY_MPI
def test_delay_of_a_rank_is_found(mpi: Launcher, tmp_path: Path) -> None:
    n_ranks, late, seconds = 5, 2, 1.5  # more than half of them are no straggler, also where rank 0 waits for one
    ways = [(kind, "gather") for kind in (*OF_PROCESSES, "gather")] + [("put", "window"), ("compute", "window")]
    delays = [Delay(kind, seconds, late, n_ranks, str(tmp_path / f"claim{i}")) for i, (kind, _) in enumerate(ways)]
    runs = [(way, delay) for (_, way), delay in zip(ways, delays, strict=True)]
    command = mpi.command(n_ranks, *arguments_of(tmp_path, runs))
    done = subprocess.run(command, capture_output=True, text=True, env=mpi.environment, timeout=300)
    assert done.returncode == 0, done.stderr
    for i, (kind, _) in enumerate(ways):
        timing = Timing(np.load(tmp_path / f"run{i}.spans.npy"))
        rank = None if OBSERVABLES[kind] == "t_open" else late
        straggler = assert_found(timing, OBSERVABLES[kind], seconds, rank)
        # A busy machine makes stragglers of others, too, but not by so much.
        much_later = [one for one in timing.straggling if one.excess_seconds >= 0.5 * seconds]
        assert {one.rank for one in much_later} == {straggler.rank}, kind
        assert {one.cause for one in much_later} == {straggler.cause}, kind


def spans_of(*times_ms: dict[str, int]) -> np.ndarray:
    """Spans of ranks that did one thing after another."""
    rows = []
    for rank, times in enumerate(times_ms):
        at = 0
        for kind, taken in times.items():
            rows.append((KINDS.index(kind), 0, rank, 1_000_000 * at, 1_000_000 * (at + taken), 1, 0))
            at += taken
    return np.array([(KINDS.index("topology"), NO_BLOCK, COORDINATOR, 0, 1, 0, 0), *rows], SPAN)


USUAL = {"open": 10, "wait": 1, "read": 30, "decompress": 30, "compute": 20, "communicate": 9}


@pytest.mark.parametrize("cause", CAUSES)
def test_cause_is_what_it_spent_most_more_on(cause: str) -> None:
    slow = {**USUAL, cause: USUAL[cause] + 60}
    also = {**USUAL, **{kind: USUAL[kind] + 15 for kind in CAUSES}, cause: USUAL[cause] + 25}
    fast = {**USUAL, "read": 10}
    timing = Timing(spans_of(USUAL, slow, USUAL, also, USUAL, USUAL, fast))
    first, second = timing.straggling
    assert (first.rank, first.cause, second.rank, second.cause) == (3, cause, 1, cause)
    assert second.seconds == pytest.approx(0.160)
    assert second.times_median == pytest.approx(1.6)
    assert second.times_fastest == pytest.approx(2.0)
    assert second.excess_seconds == pytest.approx(0.060)
    assert first.excess_seconds == pytest.approx(0.025)
    assert timing.stragglers().tolist() == [1, 3]
    named = f"2 stragglers: worker 3 (2x, {CAUSES[cause]} +2.5 s), worker 1 (1.6x, {CAUSES[cause]} +6 s)"
    assert Timing(stretched(timing.spans, 100)).summary().endswith(named)
    assert "straggler" not in timing.summary(), "a run of less than 2 s has no verdict"


def test_exactly_one_and_a_half_times_the_median_is_no_straggler() -> None:
    for taken, n_found in ((150, 0), (151, 1)):
        ranks = [{"compute": 100}, {"compute": 100}, {"compute": taken}]
        assert len(Timing(spans_of(*ranks)).straggling) == n_found


def test_ranks_without_a_block_make_no_stragglers_of_the_others() -> None:
    timing = Timing(spans_of({"open": 1}, {"open": 1}, {"open": 1}, USUAL, USUAL))
    assert timing.straggling == ()
    long = Timing(stretched(timing.spans, 100))
    assert "slowest worker 1.00x the median; no stragglers" in long.summary()


def test_waiting_for_the_others_makes_no_straggler() -> None:
    spans = spans_of(USUAL, USUAL, USUAL)
    idle = (KINDS.index("wait"), NO_BLOCK, 0, 100_000_000, 900_000_000, 0, 0)
    assert Timing(np.append(spans, np.array([idle], SPAN))).straggling == ()


def test_many_stragglers_are_counted() -> None:
    timing = Timing(spans_of(*[{"compute": 10}] * 20, *[{"compute": 20 + i} for i in range(9)]))
    assert [straggler.rank for straggler in timing.straggling] == [*range(28, 19, -1)]
    long = Timing(stretched(timing.spans, 100))
    assert long.summary().endswith(", 4 more")
    assert len(long.summary().splitlines()) == 3
