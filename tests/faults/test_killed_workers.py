"""Workers that are killed: the run goes on, nothing is lost, and nothing is there twice."""

import os
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from mdreel import Dask, Processes, Threads
from mdreel._core import FrameSet, Pass, plan, rmsd
from mdreel.execution.executors.executor import Executor
from mdreel.execution.job import Job
from mdreel.execution.pipeline import run
from mdreel.execution.work import Work
from mdreel.timing.timing import Timing
from mdreel.trajectory.open import open as open_trajectory
from repetitions import N_TIMES

ATOMS = np.arange(0, 3341, 5, dtype=np.uint32)
MANY = FrameSet.list(np.tile(np.arange(98, dtype=np.uint64), 300))

Workers = Callable[[], list[int]]


@contextmanager
def processes() -> Iterator[tuple[Executor, Workers]]:
    def workers() -> list[int]:
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
                if parent == os.getpid() and b"process_worker" in (path / "cmdline").read_bytes():
                    found.append(int(path.name))
        return found

    yield Processes(4), workers


@contextmanager
def dask(n_workers: int = 4) -> Iterator[tuple[Executor, Workers]]:
    import dask
    from distributed import Client, LocalCluster

    with (
        # Else a cluster gives up, for good, a worker that is not there 15 s after it was lost: as when its successor
        # has just been killed as well.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):

        def workers() -> list[int]:
            return list(client.run(os.getpid).values())

        yield Dask(client=client), workers


@pytest.mark.parametrize("backend", [processes, dask])
def test_worker_that_is_killed_costs_nothing_but_time(backend: Callable[..., object], adk_xtc: Path) -> None:
    """One of four, at three moments, and at random ones."""
    source = open_trajectory(adk_xtc)
    reference = source.read(FrameSet.range(0, 1, 1), ATOMS).positions[0].astype(np.float64)
    job = Job(source, ATOMS, Pass.of(rmsd(reference, None, True)))
    expected = run(job, MANY, Threads(2)).rows.tobytes()
    chance = random.Random()
    moments = [0.0, 0.3, 0.9, *(chance.uniform(0, 0.95) for _ in range(N_TIMES))]
    with backend() as (executor, workers):  # type: ignore[attr-defined]
        for moment in moments:
            there: list[int] = []
            killed: list[int] = []

            def kill(
                frames_done: int, moment: float = moment, there: list[int] = there, killed: list[int] = killed
            ) -> None:
                if not there:
                    there.extend(workers())
                if there and not killed and frames_done >= moment * len(MANY):
                    for worker in chance.sample(there, len(there)):
                        with suppress(ProcessLookupError):  # one that has nothing to do any more can have ended
                            os.kill(worker, signal.SIGKILL)
                            killed.append(worker)
                            break

            outcome = executor.run(Work(job, plan(source, MANY, 400, 4), monitor=kill))
            assert killed, moment
            assert outcome is not None
            assert outcome.rows.tobytes() == expected, (moment, killed)
            # What was lost was done again, and counts once.
            assert Timing(outcome.spans).n_frames == len(MANY), (moment, killed)


def test_run_goes_on_when_the_only_worker_was_killed_and_another_came(adk_xtc: Path) -> None:
    source = open_trajectory(adk_xtc)
    reference = source.read(FrameSet.range(0, 1, 1), ATOMS).positions[0].astype(np.float64)
    job = Job(source, ATOMS, Pass.of(rmsd(reference, None, True)))
    killed: list[int] = []
    with dask(1) as (executor, workers):

        def kill(frames_done: int) -> None:
            if not killed and frames_done > 0:
                killed.extend(workers())
                os.kill(killed[0], signal.SIGKILL)

        outcome = executor.run(Work(job, plan(source, MANY, 400, 4), monitor=kill))
    assert killed
    assert outcome is not None
    assert outcome.rows.tobytes() == run(job, MANY, Threads(2)).rows.tobytes()
    assert Timing(outcome.spans).n_frames == len(MANY)
