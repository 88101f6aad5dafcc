"""Executors whose workers are other processes: the same bits, whoever is lost."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from mdreel import Dask, Processes, Threads
from mdreel._core import FrameSet, Pass, Source, plan, rmsd
from mdreel.errors import FormatError, UnsupportedError, WorkerError
from mdreel.execution.executors.executor import Executor
from mdreel.execution.executors.local.serial import Serial
from mdreel.execution.job import Job, Outcome
from mdreel.execution.pipeline import run
from mdreel.execution.work import Work
from mdreel.trajectory.convert import convert
from mdreel.trajectory.open import open as open_trajectory
from mixed_job import bits_of, mixed_job

ATOMS = np.arange(0, 3341, 5, dtype=np.uint32)
MANY = FrameSet.list(np.tile(np.arange(98, dtype=np.uint64), 300))


def job_of(source: Source) -> Job:
    return mixed_job(source, ATOMS)


def same(one: Outcome, other: Outcome) -> bool:
    return bits_of(one).tobytes() == bits_of(other).tobytes()


@pytest.fixture(scope="module", params=["xtc", "trr", "dcd", "nc", "h5md", "chain"])
def paths(request: pytest.FixtureRequest, adk_xtc: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The AdK trajectory in every format."""
    if request.param in ("xtc", "chain"):
        return [adk_xtc] * (1 if request.param == "xtc" else 3)
    path = tmp_path_factory.mktemp("formats") / f"adk.{request.param}"
    convert(adk_xtc, path)
    return [path]


@pytest.mark.parametrize("index", ["none", "cache"])
@pytest.mark.parametrize("locate", [False, True])
def test_bits_are_those_of_one_thread(paths: list[Path], cluster: Dask, index: str, locate: bool) -> None:
    def opened() -> tuple[Job, FrameSet | None]:
        source = open_trajectory(paths, index=index)
        return job_of(source), FrameSet.range(0, 1, source.n_frames) if locate else None

    expected = run(*opened(), Serial())
    for executor in (Threads(3, "static"), Processes(3), Processes(2, "static"), cluster):
        for n_parts in (None, 7):
            assert same(run(*opened(), executor, n_parts=n_parts), expected), (executor, n_parts)


def test_workers_are_told_where_the_frames_are(adk_xtc: Path) -> None:
    import pickle

    source = open_trajectory(adk_xtc, index="none")
    job = job_of(source)
    assert source.n_frames == 98
    there: Job = pickle.loads(pickle.dumps(job))
    assert there.source.is_located
    not_located: Job = pickle.loads(pickle.dumps(job_of(open_trajectory(adk_xtc, index="none"))))
    assert not not_located.source.is_located


def test_worker_that_sees_another_file_says_so(adk_xtc: Path, tmp_path: Path) -> None:
    import pickle

    path = tmp_path / "a.xtc"
    path.write_bytes(adk_xtc.read_bytes())
    content = pickle.dumps(job_of(open_trajectory(path)))
    path.write_bytes(adk_xtc.read_bytes() * 2)
    with pytest.raises(FormatError, match="it is not the same file"):
        pickle.loads(content)


def children() -> set[int]:
    """Worker processes of this one."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (path / "stat").read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == os.getpid() and b"process_worker" in (path / "cmdline").read_bytes():
                found.add(int(path.name))
    return found


@pytest.mark.parametrize("executor", [Processes(2), Processes(2, "static")])
def test_block_that_kills_every_worker_is_named(adk_xtc: Path, executor: Executor) -> None:
    job = job_of(open_trajectory(adk_xtc))

    def kill(frames_done: int) -> None:
        for process in children():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    with pytest.raises(WorkerError, match=r"signal 9|do not start"):
        executor.run(Work(job, plan(job.source, MANY, 10, 2), monitor=kill))
    assert not children()


def test_processes_end_when_the_run_is_stopped(adk_xtc: Path) -> None:
    job = job_of(open_trajectory(adk_xtc))

    class EnoughError(Exception):
        pass

    def stop(frames_done: int) -> None:
        if frames_done:
            raise EnoughError

    with pytest.raises(EnoughError):
        Processes(2).run(Work(job, plan(job.source, MANY, 100, 2), monitor=stop))
    assert not children()


def test_processes_end_with_the_one_that_started_them(adk_xtc: Path) -> None:
    code = f"""
import numpy as np
from mdreel._core import FrameSet, Pass, plan, rmsd
from mdreel import Processes
from mdreel.execution.job import Job
from mdreel.execution.work import Work
from mdreel.trajectory.open import open as open_trajectory
source = open_trajectory({str(adk_xtc)!r})
atoms = np.arange(3341, dtype=np.uint32)
reference = source.read(FrameSet.range(0, 1, 1), atoms).positions[0].astype(float)
job = Job(source, atoms, Pass.of(rmsd(reference, None, True)))
frames = FrameSet.list(np.tile(np.arange(98, dtype=np.uint64), 100_000))
Processes(2).run(Work(job, plan(source, frames, 20, 2), monitor=lambda done: print(done, flush=True) if done else None))
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert int(process.stdout.readline()) > 0
        workers = [path.name for path in Path("/proc").glob("[0-9]*") if parent_of(path) == process.pid]
        assert len(workers) == 2
        process.kill()
    ended = time.monotonic() + 10
    while any(Path("/proc", name).exists() for name in workers):
        assert time.monotonic() < ended, "workers outlive the run"
        time.sleep(0.01)


def parent_of(path: Path) -> int | None:
    with suppress(OSError):
        return int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
    return None


@pytest.mark.parametrize("make", [lambda: Processes(3), lambda: Dask(2)])
def test_first_damaged_frame_is_the_one_that_is_named(
    adk_dcd: Path, tmp_path: Path, make: Callable[[], Executor]
) -> None:
    content = bytearray(adk_dcd.read_bytes())
    frame = 3 * (4 + 4 * 3341 + 4)
    start = len(content) - 98 * frame
    for damaged in (80, 41, 95):
        content[start + damaged * frame : start + damaged * frame + 4] = b"\xff\xff\xff\x7f"
    path = tmp_path / "damaged.dcd"
    path.write_bytes(content)
    job = job_of(open_trajectory(path))
    with pytest.raises(FormatError, match="frame 41"):
        run(job, FrameSet.range(0, 1, 98), make(), n_parts=30)
    for on_error, n_left in (("stop", 41), ("skip", 95)):
        source = open_trajectory(path).with_on_error(on_error)
        expected = run(job_of(source), FrameSet.range(0, 1, 98), Serial())
        outcome = run(job_of(source), FrameSet.range(0, 1, 98), make(), n_parts=30)
        assert same(outcome, expected)
        assert len(outcome.rows) == n_left
        assert outcome.damage == expected.damage


@pytest.mark.parametrize("executor", [Processes(2), Dask(2)])
def test_trajectory_in_memory_is_sent_to_the_workers(executor: Executor) -> None:
    frames = np.random.default_rng(2).normal(size=(10, 3341, 3)).astype(np.float32)
    source = Source.memory(frames, np.arange(10.0)).with_on_error("skip")
    reference = np.random.default_rng(1).normal(size=(len(ATOMS), 3))
    job = Job(source, ATOMS, Pass.of(rmsd(reference, None, True)))
    found, expected = run(job, None, executor, n_parts=4), run(job, None, Serial())
    np.testing.assert_array_equal(found.rows, expected.rows)


def test_spans_tell_who_did_what(adk_xtc: Path) -> None:
    outcome = run(job_of(open_trajectory(adk_xtc)), MANY, Processes(2))
    from mdreel.timing.spans import COORDINATOR, KINDS
    from mdreel.timing.timing import Timing

    timing = Timing(outcome.spans)
    assert timing.n_frames == len(MANY)
    assert set(timing.workers) == {0, 1}
    own = outcome.spans[outcome.spans["worker"] != COORDINATOR]
    for worker in (0, 1):
        mine = np.sort(own[own["worker"] == worker], order="start_ns")
        assert (mine["kind"] == KINDS.index("open")).any()
        # One thing after another.
        assert (mine["start_ns"][1:] + 1 >= mine["stop_ns"][:-1]).all()


def test_budget_that_is_too_small_is_refused(adk_xtc: Path) -> None:
    job = job_of(open_trajectory(adk_xtc))
    with pytest.raises(UnsupportedError, match="2 processes"):
        run(job, MANY, Processes(2), memory=100 << 20)
    assert len(run(job, MANY, Processes(2), memory=2 << 30).rows) == len(MANY)


def test_dask_scheduler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    # A quarter of this time is for the connection.
    monkeypatch.setattr("mdreel.execution.executors.dask.cluster.START_SECONDS", 4.0)
    with pytest.raises(UnsupportedError, match=r"connect to a Dask scheduler at tcp://127\.0\.0\.1:1"):
        _ = Dask(client="tcp://127.0.0.1:1").n_workers
