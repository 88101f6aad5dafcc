"""The model: what must be true of it whatever the numbers, and sums that can be done by hand."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.advice.samples import HERE, PAPER
from mdreel._core import FrameSet, Source
from mdreel._core import plan as plan_of_the_core
from mdreel.cluster.advice.model import NETWORK_BYTES_PER_S, START_SECONDS, cost_on, predict
from mdreel.cluster.advice.plan import Plan, blocks_of
from mdreel.cluster.advice.sample import FrameCost, Sample
from mdreel.cluster.advice.target import Target, target_of

SERIAL = Plan("serial", 1, 1, "shared", "demand", 1, False, 8)
FRAME = FrameCost(read=1e-5, decompress=2e-5, compute=7e-5, n_bytes=1000)
SIMPLE = Sample(n_frames=8000, alone=FRAME, opening=0.5, concluding=1e-6)
MERGED = replace(SIMPLE, alone=replace(FRAME, reduce=1e-6))


@pytest.fixture
def here() -> Target:
    """This machine, whatever it is."""
    return target_of(1, found="ext4")


def two_cores() -> Target:
    return replace(target_of(1, found="ext4"), n_cores=2)


def plan(executor="threads", n_workers=2, n_nodes=1, access="shared", n_files=1, n_blocks=16) -> Plan:
    return Plan(executor, n_workers, n_nodes, access, "demand", n_files, False, n_blocks)


def test_serial_time_is_the_sum_of_its_frames(here):
    found = predict(MERGED, here, SERIAL)
    assert found.loop == pytest.approx(0.8 + 0.008)
    assert found.end == pytest.approx(0.008)
    assert found.seconds == pytest.approx(0.5 + 0.8 + 8000 * 2e-6)
    assert found.communication == 0
    assert found.ratio_comp_comm == inf
    assert found.bound == "compute"
    assert found.computing == pytest.approx(0.56)


def test_two_workers_take_half_of_what_is_done_by_workers():
    found = predict(MERGED, two_cores(), plan())
    assert found.loop == pytest.approx(0.4 + 0.004)
    assert found.end == pytest.approx(0.008)
    serial = predict(MERGED, two_cores(), SERIAL)
    assert found.speedup(serial) == pytest.approx(serial.seconds / found.seconds)
    assert found.efficiency(serial) == pytest.approx(found.speedup(serial) / 2)
    assert 0.5 < found.efficiency(serial) < 1


def test_caller_that_merges_is_a_bound():
    slow = replace(SIMPLE, alone=replace(FRAME, reduce=8e-5))
    assert predict(slow, two_cores(), plan()).loop == pytest.approx(0.4 + 0.32)
    many = replace(two_cores(), n_cores=64)
    assert predict(slow, many, plan(n_workers=64, n_blocks=512)).loop == pytest.approx(0.64)


def test_contention_is_that_of_the_sample():
    together = FrameCost(read=1e-5, decompress=2e-5, compute=9e-5)
    sample = replace(SIMPLE, together=together, n_together=2)
    assert sample.slowdown == pytest.approx(1.2)
    assert sample.contention == pytest.approx(0.2)
    assert predict(sample, two_cores(), plan()).loop == pytest.approx(0.4 * 1.2)
    assert predict(sample, two_cores(), SERIAL).loop == pytest.approx(0.8)
    # Threads that take turns in the interpreter say nothing of processes.
    python = replace(sample, runs_python=True)
    assert predict(python, two_cores(), plan("processes")).loop == pytest.approx(0.4)
    # Cores of other machines are taken to get in nobody's way.
    elsewhere = target_of(2, 1, "nfs", found="ext4")
    assert predict(sample, elsewhere, plan()).loop == pytest.approx(0.4)


def test_company_never_makes_a_frame_faster():
    assert replace(SIMPLE, together=replace(FRAME, compute=1e-5), n_together=2).slowdown == 1
    assert SIMPLE.slowdown == 1
    assert SIMPLE.contention == 0


def test_last_round_is_waited_for():
    assert predict(SIMPLE, two_cores(), plan(n_blocks=3)).loop == pytest.approx(2 * 8000 / 3 * 1e-4, rel=1e-3)
    assert predict(SIMPLE, two_cores(), plan(n_blocks=1)).loop == pytest.approx(0.8)


def test_blocks_that_differ_end_at_different_times():
    spread = replace(SIMPLE, spread=0.5)
    assert predict(spread, two_cores(), plan()).loop == pytest.approx(0.4 + 0.5 * 0.05 * 0.5)
    assert predict(spread, two_cores(), SERIAL).loop == pytest.approx(0.8)


def test_shared_storage_is_a_bound_and_is_said_to_be_one():
    target = target_of(24, 6, "nfs", found="ext4")
    shared = predict(PAPER, target, plan("mpi", 144, 6, n_blocks=1200))
    total = PAPER.n_frames * 12_000
    assert shared.loop == pytest.approx(max(total / 1e9, shared.loop))
    assert shared.bound == "storage"
    assert shared.loop == pytest.approx(total / 1e9)


def test_segments_get_what_all_servers_give_and_open_side_by_side():
    target = target_of(24, 6, "lustre", found="ext4")
    shared = predict(PAPER, target, plan("mpi", 144, 6, n_blocks=1200))
    segments = predict(PAPER, target, plan("mpi", 144, 6, "segments", 144, n_blocks=144))
    assert shared.bound == "storage"
    assert segments.bound == "decompress"
    assert segments.seconds < shared.seconds
    assert shared.opening - segments.opening == pytest.approx(143 * target.file_system.open_seconds)


def test_bytes_come_from_another_file_system_at_its_rate():
    target = target_of(24, 6, "nfs", found="ext4")
    assert cost_on(HERE, target).read == pytest.approx(12_500 / 0.5e9)
    assert cost_on(HERE, target).decompress == HERE.alone.decompress
    assert cost_on(HERE, target_of(1, found="ext4")) == HERE.alone
    slow = replace(HERE, alone=replace(HERE.alone, read=1.0))
    assert cost_on(slow, target).read == 1.0


def test_results_take_the_time_of_a_link_that_all_share():
    target = target_of(24, 6, "lustre", found="ext4")
    found = predict(PAPER, target, plan("mpi", 144, 6))
    assert found.communication == pytest.approx(PAPER.n_frames * 24 / NETWORK_BYTES_PER_S, rel=0.1)
    assert found.ratio_comp_comm == pytest.approx(found.computing / found.communication)
    assert predict(PAPER, target, plan("threads", 24, 1)).communication == 0


def test_starting_takes_longer_where_programs_are_started():
    target = two_cores()
    threads, processes = (predict(SIMPLE, target, plan(executor)).start for executor in ("threads", "processes"))
    assert threads < 0.01 < START_SECONDS["processes"] <= processes


@given(
    n_frames=st.integers(1, 10**7),
    n_workers=st.integers(1, 2000),
    file_bytes=st.floats(1, 1e7),
    row_bytes=st.integers(16, 10**6),
)
def test_no_block_is_empty_and_each_worker_has_several(n_frames, n_workers, file_bytes, row_bytes):
    n_blocks = blocks_of(n_frames, n_workers, file_bytes, row_bytes)
    assert 1 <= n_blocks <= n_frames
    assert n_blocks >= min(8 * n_workers, n_frames, 100_000)


@pytest.mark.parametrize(
    ("n_frames", "n_atoms", "n_workers"), [(1000, 1, 3), (5, 1, 3), (48, 1 << 17, 1), (4096, 300, 2)]
)
def test_blocks_are_those_of_the_core(n_frames, n_atoms, n_workers):
    source = Source.memory(np.zeros((n_frames, n_atoms, 3), np.float32), np.arange(n_frames, dtype=float))
    blocks = plan_of_the_core(source, FrameSet.range(0, 1, n_frames), None, n_workers, False, 24)
    assert len(blocks) == blocks_of(n_frames, n_workers, source.n_bytes / n_frames, 24)


@given(
    read=st.floats(0, 1e-2),
    decompress=st.floats(0, 1e-2),
    compute=st.floats(0, 1e-2),
    spread=st.floats(0, 1),
    n_frames=st.integers(1, 10**6),
    numbers=st.lists(st.integers(1, 64), min_size=2, max_size=2).map(sorted),
)
def test_more_threads_never_take_longer_in_the_loop_where_they_do_not_contend(
    read, decompress, compute, spread, n_frames, numbers
):
    sample = Sample(n_frames=n_frames, alone=FrameCost(read, decompress, compute), spread=spread)
    few, many = numbers
    target = replace(two_cores(), n_cores=64)

    def loop(n_workers):
        n_blocks = blocks_of(n_frames, n_workers, 1000, 24)
        return predict(
            sample, target, plan("threads" if n_workers > 1 else "serial", n_workers, n_blocks=n_blocks)
        ).loop

    # A block is at least a frame, and the last of them may be waited for.
    last = (read + decompress + compute) * 2 * (1 + n_frames / blocks_of(n_frames, few, 1000, 24))
    assert loop(many) <= loop(few) + last
