"""Guidelines: the verdicts of the papers for the papers' cases, and those for cases that they do not have."""

import math

import pytest

from mdreel.cluster.advice import guidelines


@pytest.mark.parametrize(
    ("ratio", "n_nodes", "n_workers", "choice", "source"),
    [
        (0.29, 6, 144, "segments", "heuristic 3.2"),  # 2019: RMSD of AdK on Comet
        (0.29, 3, 72, "segments", "heuristic 3.2"),
        (0.29, 1, 24, "shared", "beyond the papers"),  # 2019: S = 17 on 24 cores of one node
        (0.29, 1, 2, "shared", "beyond the papers"),
        (11, 6, 144, "shared", "heuristic 2"),  # the same with W = 40, 70, 100
        (19, 6, 144, "shared", "heuristic 2"),
        (27, 6, 144, "shared", "heuristic 2"),
        (100, 3, 72, "shared", "heuristic 2"),  # 2018: dihedrals
        (1.0, 6, 144, "shared", "heuristic 2"),
        (0.999, 6, 144, "segments", "heuristic 3.2"),
        (math.inf, 6, 144, "shared", "heuristic 2"),  # nothing is read
        (0.0, 2, 4, "segments", "heuristic 3.2"),
    ],
)
def test_file_access_is_that_of_the_papers(ratio, n_nodes, n_workers, choice, source):
    verdict = guidelines.file_access(ratio, n_nodes, n_workers)
    assert verdict.choice == choice
    assert source in verdict.source
    assert verdict.numbers["ratio_comp_io"] == ratio
    assert verdict.numbers["n_nodes"] == n_nodes


def test_file_access_says_by_which_number_and_what_is_to_be_avoided():
    verdict = guidelines.file_access(0.29, 6, 144)
    assert "R_comp/io = 0.29 < 1 on 6 nodes" in verdict.reason
    assert "avoid a single shared file" in verdict.reason
    assert "split it into 144 segments" in verdict.reason
    assert "27 >= 1" in guidelines.file_access(27, 6, 144).reason


def test_hdf5_is_opened_together_where_that_can_be_done():
    assert guidelines.file_access(0.29, 6, 144, is_hdf5=True, has_parallel_hdf5=True).choice == "hdf5-independent"
    assert guidelines.file_access(0.29, 6, 144, is_hdf5=True).choice == "segments"
    assert guidelines.file_access(0.29, 6, 144, has_parallel_hdf5=True).choice == "segments"
    assert guidelines.file_access(27, 6, 144, is_hdf5=True, has_parallel_hdf5=True).choice == "shared"


def test_segments_that_are_there_need_not_be_split():
    assert "split" not in guidelines.file_access(0.29, 2, 4, 4).reason
    assert "split it into 4" in guidelines.file_access(0.29, 2, 4, 3).reason
    assert guidelines.file_access(0.29, 1, 4, 3).choice == "chain"
    assert guidelines.file_access(27, 6, 144, 3).choice == "chain"


@pytest.mark.parametrize(
    ("ratio", "n_nodes", "executor", "choice"),
    [
        (1000, 6, "mpi", "gather"),
        (1.01, 6, "mpi", "gather"),
        (1.0, 6, "mpi", "window"),
        (0.1, 6, "mpi", "window"),
        (0.1, 1, "mpi", "window"),
        (1000, 1, "mpi", "window"),
        (math.inf, 1, "threads", "memory"),
        (math.inf, 1, "serial", "memory"),
        (5, 1, "processes", "pipe"),
    ],
)
def test_results_are_gathered_where_that_costs_little(ratio, n_nodes, executor, choice):
    verdict = guidelines.transfer(ratio, n_nodes, executor)
    assert verdict.choice == choice
    assert verdict.numbers["ratio_comp_comm"] == ratio
    if n_nodes > 1:
        assert "heuristic" in verdict.source
        assert ("global-arrays" in verdict.reason) == (choice == "window")


@pytest.mark.parametrize(("ratio", "choice"), [(0.29, "reading"), (1, "compute"), (100, "compute"), (0, "reading")])
def test_workload_is_bound_by_what_takes_longer(ratio, choice):
    assert guidelines.workload(ratio).choice == choice


def test_executor_suits_machine_and_code():
    def choice(*numbers, **facts):
        return guidelines.executor(*numbers, **facts).choice

    assert choice(1, 1) == "serial"
    assert choice(1, 2) == "threads"
    assert choice(1, 2, runs_python=True) == "processes"
    assert choice(2, 48) == "mpi"
    assert choice(2, 48, runs_python=True) == "mpi"
    assert choice(2, 48, needs_order=True) == "serial"


def test_schedule_is_static_for_segments_alone():
    assert guidelines.schedule("segments", 144, 144).choice == "static"
    for access in ("shared", "chain", "hdf5-independent"):
        assert guidelines.schedule(access, 144, 24).choice == "demand"


def test_format_is_changed_where_decompression_is_what_takes_time():
    # All atoms of AdK, as XTC: 16 µs, of which plain numbers would take 6.7.
    assert guidelines.trajectory_format("XTC", 16e-6, 14e-6, 0.5e-6, 12 * 3341).choice == "dcd"
    # Few atoms of it: 5 µs, which is less than reading all of a plain frame.
    assert guidelines.trajectory_format("XTC", 5e-6, 4e-6, 0.5e-6, 12 * 3341).choice == "keep"
    # Much is computed.
    assert guidelines.trajectory_format("XTC", 116e-6, 14e-6, 100e-6, 12 * 3341).choice == "keep"
    # Plain numbers come no faster than the file system gives them.
    assert guidelines.trajectory_format("XTC", 16e-6, 14e-6, 0.5e-6, 12 * 3341, 1e9).choice == "keep"
    assert guidelines.trajectory_format("DCD", 7e-6, 0.0, 1e-6, 12 * 3341).choice == "keep"
    assert guidelines.trajectory_format("memory", 0.0, 0.0, 0.0, 0.0).choice == "keep"
