"""What runs tell of themselves: who worked where, with how much memory, and what a scheduler saw of it."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

from mdreel import Dask, Processes, Threads
from mdreel._core import FrameSet, Pass, rmsd
from mdreel.execution.executors.executor import Executor
from mdreel.execution.executors.local.serial import Serial
from mdreel.execution.job import Job, Outcome
from mdreel.execution.pipeline import run
from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK
from mdreel.timing.timing import Timing
from mdreel.timing.workers import anonymous_bytes
from mdreel.trajectory.open import open as open_trajectory

ATOMS = np.arange(0, 3341, 7, dtype=np.uint32)
MANY = FrameSet.list(np.tile(np.arange(98, dtype=np.uint64), 300))
MS = 1_000_000


def timing_of(path: Path, executor: Executor) -> Timing:
    source = open_trajectory(path)
    reference = source.read(FrameSet.range(0, 1, 1), ATOMS).positions[0].astype(np.float64)
    outcome = run(Job(source, ATOMS, Pass.of(rmsd(reference, None, True))), MANY, executor)
    assert isinstance(outcome, Outcome)
    return Timing(outcome.spans, outcome.crew, outcome.tasks)


@pytest.mark.parametrize("make", [Serial, lambda: Threads(2)])
def test_threads_are_of_one_process(adk_xtc: Path, make: Callable[[], Executor]) -> None:
    timing = timing_of(adk_xtc, make())
    assert {(own.host, own.process) for own in timing.crew.values()} == {(socket.gethostname(), os.getpid())}
    assert timing.peak_bytes >= anonymous_bytes() // 2
    assert "thread" in timing.summary()


@pytest.mark.parametrize("make", [lambda: Processes(2), lambda: Dask(2)])
def test_processes_are_known_by_host_number_and_memory(adk_xtc: Path, make: Callable[[], Executor]) -> None:
    timing = timing_of(adk_xtc, make())
    assert set(timing.crew) == {0, 1, COORDINATOR}
    assert len({own.process for own in timing.crew.values()}) == 3
    assert timing.crew[COORDINATOR].process == os.getpid()
    for own in timing.crew.values():
        assert own.host == socket.gethostname()
        assert 1 << 20 < own.peak_bytes < 4 << 30
    assert timing.peak_bytes == sum(own.peak_bytes for own in timing.crew.values())
    assert "on 2 processes" in timing.summary()
    assert f"memory {timing.peak_bytes / 2**20:,.0f} MiB" in timing.summary()


def test_record_of_the_scheduler_of_dask_agrees_with_the_spans(adk_xtc: Path) -> None:
    timing = timing_of(adk_xtc, Dask(2))
    computing = timing.spans[timing.spans["kind"] == KINDS.index("compute")]
    assert len(timing.tasks) >= 2
    seen = np.zeros(len(computing), bool)
    for task in timing.tasks:
        own = (computing["block"] >= task["first"]) & (computing["block"] < task["end"])
        assert (computing["worker"][own] == task["worker"]).all()
        starts, stops = (computing[name][own].astype(np.int64) for name in ("start_ns", "stop_ns"))
        assert int(task["stop_ns"]) - int(task["start_ns"]) > stops.max() - starts.min() - MS
        # Dask places a worker's times on the scheduler's clock by the delay of messages: seconds on a busy machine.
        assert (starts > int(task["start_ns"]) - 5000 * MS).all()
        assert (stops < int(task["stop_ns"]) + 5000 * MS).all()
        seen |= own
    assert seen.all()


@pytest.mark.parametrize("backend", ["threads", "processes", "dask"])
def test_topology_is_parsed_once_and_by_the_caller(backend: str) -> None:
    """Spans say so, and no other process imports what would parse it."""
    command = [sys.executable, "-m", "mdreel.cli", "rmsd", "-s", PSF, "-f", DCD, "-v", "--backend", backend, "-nt", "2"]
    environment = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert sum(line.endswith(" MDAnalysis") for line in lines) == 1
    head = next(i for i, line in enumerate(lines) if line.startswith("worker (ms)"))
    column = lines[head].replace("worker (ms)", "worker").split().index("topology")
    rows = {line.split()[0]: float(line.split()[column]) for line in lines[head + 1 :] if line.split()}
    assert rows.pop("caller") > 0
    assert rows
    assert set(rows.values()) == {0.0}


def test_what_came_before_a_run_is_put_before_it(adk_xtc: Path) -> None:
    timing = timing_of(adk_xtc, Serial())
    later = timing.preceded_by("topology", 0.25)
    assert later.seconds("topology") == pytest.approx(0.25)
    assert later.wall_seconds == pytest.approx(timing.wall_seconds + 0.25)
    first = later.spans[0]
    assert (first["worker"], first["block"]) == (COORDINATOR, NO_BLOCK)
    np.testing.assert_array_equal(later.spans["start_ns"][1:], timing.spans["start_ns"] + 250 * MS)
