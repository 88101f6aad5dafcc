"""Executors: whoever runs the blocks, the bits are the same."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mdreel._core import FrameSet, Pass, Source, plan, rmsd
from mdreel.errors import MismatchError, UnsupportedError
from mdreel.execution.executors.executor import Executor
from mdreel.execution.executors.local.serial import Serial
from mdreel.execution.executors.local.threads import Threads
from mdreel.execution.executors.resolve_executor import EXECUTORS, find_executor
from mdreel.execution.job import Job, Outcome
from mdreel.execution.pipeline import run
from mdreel.execution.work import Work
from mdreel.trajectory.open import open as open_trajectory
from mixed_job import bits_of, mixed_job

ATOMS = np.arange(0, 3341, 7, dtype=np.uint32)


def job_of(source: Source) -> Job:
    return mixed_job(source, ATOMS)


@pytest.fixture(params=["memory", "dcd", "xtc", "chain"])
def paths(request: pytest.FixtureRequest, adk_dcd: Path, adk_xtc: Path) -> list[Path]:
    return {"memory": [], "dcd": [adk_dcd], "xtc": [adk_xtc], "chain": [adk_xtc, adk_xtc]}[request.param]


def open_or_copy(paths: list[Path], positions: np.ndarray) -> Source:
    if paths:
        return open_trajectory(paths, index="none")
    return Source.memory(positions, np.arange(len(positions), dtype=np.float64))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(n_workers=st.sampled_from([1, 2, 3, 7]), n_parts=st.integers(1, 1000), locate=st.booleans())
def test_executors_give_the_same_bits_with_any_workers_and_blocks(
    paths: list[Path], adk_positions: np.ndarray, n_workers: int, n_parts: int, locate: bool
) -> None:
    expected = run(job_of(open_or_copy(paths, adk_positions)), None, Serial(), n_parts=1)
    source = open_or_copy(paths, adk_positions)
    frames = FrameSet.range(0, 1, source.n_frames) if locate else None
    for executor in (Serial(), Threads(n_workers)):
        outcome = run(job_of(source), frames, executor, n_parts=n_parts)
        np.testing.assert_array_equal(outcome.frames, expected.frames)
        np.testing.assert_array_equal(outcome.times, expected.times)
        assert bits_of(outcome).tobytes() == bits_of(expected).tobytes()


def test_run_of_bytes_locates_the_frames(adk_xtc: Path) -> None:
    source = open_trajectory(adk_xtc, index="none")
    job = job_of(source)
    assert not source.is_located
    assert len(run(job, None, Threads(2), n_parts=9).frames) == 98
    assert source.is_located


def test_run_plans_by_frames_when_bytes_did_not_join(adk_xtc: Path) -> None:
    class Misled(Serial):
        """Says of the first plan that its blocks did not join."""

        def __init__(self) -> None:
            super().__init__()
            self.plans: list[str] = []

        def run(self, work: Work) -> Outcome | None:
            self.plans.append(work.blocks[0][0])
            return None if len(self.plans) == 1 else super().run(work)

    executor = Misled()
    outcome = run(job_of(open_trajectory(adk_xtc, index="none")), None, executor)
    assert executor.plans == ["bytes", "frames"]
    np.testing.assert_array_equal(outcome.frames, np.arange(98))


@pytest.mark.parametrize("executor", [Serial(), Threads(2)])
def test_executor_passes_on_what_the_monitor_raises(executor: Executor) -> None:
    positions = np.random.default_rng(1).normal(size=(100, 3_000, 3)).astype(np.float32)
    source = Source.memory(positions, np.zeros(100))
    atoms = np.arange(3_000, dtype=np.uint32)
    kernel = Pass.of(rmsd(positions[0].astype(np.float64), None, True))
    frames = FrameSet.list(np.arange(100, dtype=np.uint64).repeat(20_000))

    class EnoughError(Exception):
        pass

    seen = []

    def monitor(frames_done: int) -> None:
        seen.append(frames_done)
        if len(seen) == 2:
            raise EnoughError

    with pytest.raises(EnoughError):
        blocks = plan(source, frames, None, executor.n_workers)
        executor.run(Work(Job(source, atoms, kernel), blocks, monitor=monitor))
    assert len(seen) == 2
    assert 0 <= seen[0] <= seen[1] < len(frames)


def test_executors_are_found_by_name() -> None:
    assert set(EXECUTORS) == {"serial", "threads", "processes", "dask", "mpi"}
    for name in set(EXECUTORS) - {"mpi"}:  # which needs a launcher
        executor = find_executor(name)
        assert isinstance(executor, Executor)
        assert executor.name == name
        assert executor.n_workers >= 1
    assert find_executor("threads", 3).n_workers == 3
    own = Threads(2)
    assert find_executor(own) is own


def test_executors_that_cannot_be_had_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="known: serial, threads, processes, dask, mpi"):
        find_executor("gpu")
    with pytest.raises(UnsupportedError, match="not int"):
        find_executor(3)  # type: ignore[arg-type]
    with pytest.raises(MismatchError, match="1 worker"):
        find_executor("serial", 2)
    with pytest.raises(MismatchError, match="at least 1"):
        find_executor("threads", 0)
    with pytest.raises(MismatchError, match="has 2"):
        find_executor(Threads(2), 3)
