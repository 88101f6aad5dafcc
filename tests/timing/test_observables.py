"""Observables: identities between them hold on every executor, and their values are those of the definitions."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdreel import Dask, Processes, Threads
from mdreel._core import FrameSet
from mdreel.execution.choices import Schedule
from mdreel.execution.executors.executor import Executor
from mdreel.execution.executors.local.serial import Serial
from mdreel.execution.job import Outcome
from mdreel.execution.pipeline import run
from mdreel.timing.observables import NAMES, observables_of
from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK, SPAN
from mdreel.timing.stragglers import CAUSES, stragglers_of
from mdreel.timing.timing import Timing
from mdreel.trajectory.open import open as open_trajectory
from mixed_job import mixed_job
from mpi_launcher import EVERY_MPI, GLOBAL_ARRAYS, Launcher, needs
from rmsd_on_ranks import Wanted, results_of, spans_of
from spans_of_ranks import assert_identities, assert_of_a_run

ATOMS = np.arange(0, 3341, 5, dtype=np.uint32)
N_FRAMES = 98 * 20
MANY = FrameSet.list(np.tile(np.arange(98, dtype=np.uint64), 20))
SCHEDULES: tuple[Schedule, ...] = ("demand", "static")


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a Dask cluster of three workers."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as made:
        yield made.scheduler_address


def outcome_of(path: Path | list[Path], executor: Executor, **options: object) -> Outcome:
    source = open_trajectory(path, index="none")
    frames = options.pop("frames", MANY)
    return run(mixed_job(source, ATOMS), frames, executor, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        Serial,
        lambda: Threads(3),
        lambda: Threads(3, "static"),
        lambda: Processes(2),
        lambda: Processes(2, "static"),
    ],
)
def test_identities_hold_for_workers_of_this_process_and_of_others(adk_xtc: Path, make: Callable[[], Executor]) -> None:
    executor = make()
    seen = assert_of_a_run(outcome_of(adk_xtc, executor).spans, N_FRAMES)
    assert 1 <= len(seen.ranks) <= executor.n_workers  # one that was late had nothing to do
    has_worked = seen.n_frames > 0
    assert (seen.t_comp[has_worked] > 0).all()
    assert (seen.t_io[has_worked] > 0).all()
    assert (seen.t_end_loop[has_worked] > 0).all()
    if executor.name == "serial":
        assert seen.t_wait == 0  # it merges itself
    assert ((seen.t_comm > 0) == (has_worked & (executor.name == "processes"))).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_identities_hold_for_workers_of_dask(adk_xtc: Path, cluster: str, schedule: Schedule) -> None:
    seen = assert_of_a_run(outcome_of(adk_xtc, Dask(client=cluster, schedule=schedule)).spans, N_FRAMES)
    assert (seen.t_open > 0).all()
    assert (seen.t_comm[seen.n_frames > 0] > 0).any()


@EVERY_MPI
def test_identities_hold_for_ranks(adk_xtc: Path, tmp_path: Path, mpi: Launcher) -> None:
    ways = [*product(SCHEDULES, ["gather", "window"])]
    runs = [Wanted([str(adk_xtc)], schedule, way, repeats=20) for schedule, way in ways]
    bytes_ = Wanted([str(adk_xtc)] * 3, is_located=False)
    few = Wanted([str(adk_xtc)], "static", n_parts=2)
    results_of(mpi, 3, tmp_path, [*runs, bytes_, few])
    for i in range(len(runs)):
        seen = assert_of_a_run(spans_of(tmp_path, i), N_FRAMES)
        assert seen.ranks.tolist() == [0, 1, 2]
        assert (seen.t_open > 0).all()
        assert (seen.t_comm > 0).all()
    assert_of_a_run(spans_of(tmp_path, len(runs)), 3 * 98)
    seen = assert_of_a_run(spans_of(tmp_path, len(runs) + 1), 98)
    assert sorted(seen.n_blocks.tolist()) == [0, 1, 1]
    idle = seen.n_blocks == 0
    for name in ("t_io", "t_comp", "t_end_loop", "t_all_frames", "overhead1"):
        assert getattr(seen, name)[idle] == 0, name


@needs(GLOBAL_ARRAYS)
def test_identities_hold_for_ranks_with_a_global_array(adk_xtc: Path, tmp_path: Path) -> None:
    results_of(GLOBAL_ARRAYS, 3, tmp_path, [Wanted([str(adk_xtc)], "static", "global-arrays", repeats=20)])
    seen = assert_of_a_run(spans_of(tmp_path), N_FRAMES)
    assert (seen.t_comm > 0).all()


@pytest.mark.parametrize("make", [Serial, lambda: Threads(2), lambda: Processes(2)])
def test_identities_hold_for_blocks_of_bytes_and_several_files(adk_xtc: Path, make: Callable[[], Executor]) -> None:
    assert_of_a_run(outcome_of(adk_xtc, make(), frames=None).spans, 98)
    seen = assert_of_a_run(outcome_of([adk_xtc] * 4, make(), frames=None, access="segments").spans, 4 * 98)
    assert (seen.t_open > 0).all()


def test_identities_hold_where_a_checkpoint_has_it_all(adk_xtc: Path, tmp_path: Path) -> None:
    for executor in (Threads(2), Processes(2)):
        checkpoint = tmp_path / executor.name
        assert_of_a_run(outcome_of(adk_xtc, executor, checkpoint=checkpoint, n_parts=7).spans, N_FRAMES)
        seen = assert_of_a_run(outcome_of(adk_xtc, executor, checkpoint=checkpoint, n_parts=7).spans, 0)
        assert (seen.t_comp == 0).all()
        assert seen.t_total < 1


def test_identities_hold_for_trajectories_that_are_written(adk_xtc: Path, tmp_path: Path) -> None:
    from mdreel.trajectory.convert import convert
    from mdreel.trajectory.split import split

    for i, n_workers in enumerate((1, 2)):
        assert_identities(convert(adk_xtc, tmp_path / f"{i}.dcd", n_workers=n_workers).timing.spans)
        assert_identities(split(adk_xtc, tmp_path / f"{i}.xtc", n_parts=2, n_workers=n_workers).timing.spans)


def spans_in_ms(*rows: tuple[str, int, int, int, int, int, int]) -> np.ndarray:
    """Spans of (kind, block, worker, start, stop, frames, bytes), times in ms."""
    spans = np.array([(KINDS.index(kind), *rest) for kind, *rest in rows], SPAN)
    for edge in ("start_ns", "stop_ns"):
        spans[edge] *= 1_000_000
    return spans


# Two ranks and who calls them. Rank 3 opens twice, waits for both of its blocks, and for rank 7 at the end.
BY_HAND = (
    ("topology", NO_BLOCK, COORDINATOR, 0, 20, 0, 0),
    ("open", NO_BLOCK, 3, 20, 25, 0, 0),
    ("wait", 0, 3, 25, 27, 0, 0),
    ("read", 0, 3, 28, 34, 10, 100),
    ("decompress", 0, 3, 34, 38, 10, 100),
    ("compute", 0, 3, 38, 45, 10, 0),
    ("read", 0, 3, 45, 46, 0, 0),
    ("communicate", NO_BLOCK, 3, 46, 48, 10, 80),
    ("wait", 2, 3, 48, 51, 0, 0),
    ("open", 2, 3, 51, 52, 0, 0),
    ("read", 2, 3, 52, 55, 5, 50),
    ("decompress", 2, 3, 55, 56, 5, 50),
    ("compute", 2, 3, 57, 60, 5, 0),
    ("read", 2, 3, 60, 62, 0, 0),
    ("reduce", NO_BLOCK, 3, 62, 63, 15, 0),
    ("wait", NO_BLOCK, 3, 64, 90, 0, 0),
    ("communicate", NO_BLOCK, 3, 90, 94, 5, 40),
    ("open", NO_BLOCK, 7, 20, 40, 0, 0),
    ("read", 1, 7, 40, 60, 10, 100),
    ("compute", 1, 7, 60, 90, 10, 0),
    ("communicate", NO_BLOCK, 7, 90, 95, 10, 80),
)
EXPECTED_MS = {
    "t_open": (5 + 1, 20),
    "t_io": (6 + 4 + 1 + 3 + 1, 20),
    "t_decompress": (4 + 1, 0),
    "t_comp": (7 + 3, 30),
    "t_end_loop": (2, 0),
    # From 28 to 62, without an opening and the way of the first result.
    "t_all_frames": (34 - 1 - 2, 50),
    "t_block": (6 + 31 + 5, 70),
    "t_comm": (2 + 4 + 26, 5),
    "t_transfer": (2 + 4, 5),
    "t_comm_wait": (26, 0),
    "t_wait": (2 + 3, 0),
    # Waiting for the second block, and the gap before its compute.
    "overhead1": (3 + 1, 0),
    # Waiting for the first block, gaps, and merging.
    "overhead2": (2 + 1 + 1 + 1, 0),
    "t_n": (42 + 6 + 26, 75),
}


def test_observables_are_those_that_were_added_up_by_hand() -> None:
    seen = assert_identities(spans_in_ms(*BY_HAND))
    assert seen.ranks.tolist() == [3, 7]
    assert tuple(EXPECTED_MS) == NAMES
    for name, expected in EXPECTED_MS.items():
        np.testing.assert_allclose(1e3 * getattr(seen, name), expected, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(1e3 * seen.t_idle, [26, 0], atol=1e-9)
    np.testing.assert_allclose(1e3 * seen.t_own, [48, 75], atol=1e-9)
    assert (seen.n_frames.tolist(), seen.n_blocks.tolist(), seen.n_bytes.tolist()) == ([15, 10], [2, 1], [150, 100])
    assert seen.t_total == pytest.approx(0.075)
    assert seen.ratio_comp_io == pytest.approx(40 / 35)
    assert seen.ratio_comp_comm == pytest.approx(20 / 18.5)
    assert seen.ratio_comp_transfer == pytest.approx(20 / 5.5)


def test_observables_of_nothing_are_none() -> None:
    for rows in ((), BY_HAND[:1]):
        seen = assert_identities(spans_in_ms(*rows))
        assert len(seen.ranks) == 0
        assert (seen.t_total, seen.ratio_comp_io, seen.ratio_comp_comm) == (0, math.inf, math.inf)
        assert stragglers_of(seen) == ()


def test_observables_of_a_thousand_ranks_are_those_of_each() -> None:
    one = spans_in_ms(*BY_HAND[1:17])
    many = np.tile(one, 1000)
    many["worker"] = np.repeat(np.arange(1000), len(one))
    seen = assert_identities(many)
    for name, (expected, _) in EXPECTED_MS.items():
        np.testing.assert_allclose(1e3 * getattr(seen, name), np.full(1000, expected), atol=1e-9, err_msg=name)


ROW = st.tuples(
    st.integers(0, len(KINDS) - 1),
    st.sampled_from([0, 1, 5, NO_BLOCK]),
    st.sampled_from([0, 1, 4, COORDINATOR]),
    st.integers(0, 40),
    st.integers(0, 12),
    st.integers(0, 2),
    st.integers(0, 1000),
)


def spans_of_rows(rows: list[tuple[int, ...]]) -> np.ndarray:
    return np.array([(*row[:3], row[3], row[3] + row[4], *row[5:]) for row in rows], SPAN)


@settings(deadline=None)
@given(rows=st.lists(ROW, max_size=30), seed=st.integers(0, 9))
def test_observables_of_any_spans_are_those_of_looking_at_each_moment(rows: list[tuple[int, ...]], seed: int) -> None:
    spans = spans_of_rows(rows)
    seen = assert_identities(spans)
    shuffled = observables_of(np.random.default_rng(seed).permutation(spans))
    for place, rank in enumerate(seen.ranks):
        expected = observed_moment_by_moment(spans[spans["worker"] == rank])
        for name, nanoseconds in expected.items():
            assert getattr(seen, name)[place] == pytest.approx(1e-9 * nanoseconds, abs=1e-15), name
            assert getattr(shuffled, name)[place] == getattr(seen, name)[place], name


@settings(deadline=None)
@given(rows=st.lists(ROW, max_size=30))
def test_whatever_was_recorded_can_be_summed_up(rows: list[tuple[int, ...]]) -> None:
    timing = Timing(spans_of_rows(rows))
    assert len(timing.summary().splitlines()) == (1 if timing.run_seconds < 2 else 3)
    assert timing.table()
    assert set(timing.shares) == set(KINDS)
    assert all(share >= 0 for share in timing.shares.values())
    assert sum(timing.shares.values()) == pytest.approx(1.0 if timing.run_seconds else 0.0)
    assert timing.bottleneck.kind in {*KINDS, ""}
    assert timing.bottleneck.share == max(timing.shares.values())
    typical = np.median(timing.observables.t_own[timing.observables.n_blocks > 0]) if timing.straggling else 0
    for straggler in timing.straggling:
        assert straggler.cause in CAUSES
        assert straggler.seconds > 1.5 * typical
        assert straggler.times_fastest >= straggler.times_median


ORDER = ("open", "topology", "read", "decompress", "compute", "communicate", "reduce", "write", "wait", "idle")
LOOP = ("read", "decompress", "compute", "write")


def observed_moment_by_moment(spans: np.ndarray) -> dict[str, int]:
    """The observables of one rank, ns, by looking at every nanosecond."""
    rows = []
    for kind, block, _, start, stop, n_frames, _ in spans.tolist():
        is_idle = KINDS[kind] == "wait" and block == NO_BLOCK
        rows.append(("idle" if is_idle else KINDS[kind], start, stop, n_frames))
    loop = [row for row in rows if row[0] in LOOP]
    begin, end = min((row[1] for row in loop), default=0), max((row[2] for row in loop), default=0)
    last = max((row[2] for row in loop if row[3]), default=end)
    if not loop:  # the loop of a rank without frames begins and ends with its communication
        begin = end = last = min((row[1] for row in rows if row[0] == "communicate"), default=10**9)
    moments: Counter[tuple[str, str]] = Counter()
    for moment in range(min(row[1] for row in rows), max(row[2] for row in rows)):
        there = [row[0] for row in rows if row[1] <= moment < row[2]]
        phase = ("frames" if moment < last else "rest") if begin <= moment < end else "outside"
        phase = "before" if moment < begin else phase
        moments[phase, min(there, key=ORDER.index, default="nothing")] += 1

    def spent(phases: str, kinds: str) -> int:
        return sum(n for (phase, kind), n in moments.items() if phase in phases.split() and kind in kinds.split())

    everywhere, outside = "before outside frames rest", "before outside"
    found = {
        "t_open": spent(everywhere, "open topology"),
        "t_io": spent("frames", "read decompress"),
        "t_decompress": spent("frames", "decompress"),
        "t_comp": spent(everywhere, "compute"),
        "t_end_loop": spent("rest", "read decompress reduce write nothing"),
        "t_all_frames": spent("frames rest", "read decompress compute reduce write wait nothing"),
        "t_comm": spent(everywhere, "communicate") + spent("outside frames rest", "idle"),
        "t_transfer": spent(everywhere, "communicate"),
        "t_comm_wait": spent("outside frames rest", "idle"),
        "t_wait": spent(everywhere, "wait"),
        "t_idle": spent(everywhere, "idle"),
        "overhead1": spent("frames", "reduce write wait nothing") + spent("rest", "wait"),
        "overhead2": spent(outside, "reduce wait nothing") + spent("before", "idle"),
    }
    found["t_n"] = sum(moments.values())
    return found
