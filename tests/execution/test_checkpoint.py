"""Checkpoints: what is finished is not done again, and nothing else is believed."""

import os
import re
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from mdreel import Processes, Threads
from mdreel._core import FrameSet, Pass, Source, rmsd
from mdreel.errors import FormatError, MismatchError, UnsupportedError
from mdreel.execution.checkpoint.differences import describe_differences
from mdreel.execution.executors.executor import Executor
from mdreel.execution.executors.local.serial import Serial
from mdreel.execution.job import Job, Outcome
from mdreel.execution.pipeline import run
from mdreel.timing.timing import Timing
from mdreel.trajectory.open import open as open_trajectory

ATOMS = np.arange(0, 3341, 11, dtype=np.uint32)


def job_of(source: Source, weights: np.ndarray | None = None) -> Job:
    reference = source.read(FrameSet.range(0, 1, 1), ATOMS).positions[0].astype(np.float64)
    return Job(source, ATOMS, Pass.of(rmsd(reference, weights, True)))


def same(one: Outcome, other: Outcome) -> bool:
    return one.rows.tobytes() == other.rows.tobytes()


def n_done(outcome: Outcome) -> int:
    """Frames that this run has computed itself."""
    return Timing(outcome.spans).n_frames


@pytest.mark.parametrize("executor", [Serial(), Threads(2), Processes(2)])
@pytest.mark.parametrize("index", ["none", "cache"])
def test_torn_checkpoint_is_gone_on_from_with_any_executor(
    adk_xtc: Path, tmp_path: Path, executor: Executor, index: str
) -> None:
    path = tmp_path / "run.checkpoint"
    expected = run(job_of(open_trajectory(adk_xtc, index=index)), None, Serial())
    first = run(job_of(open_trajectory(adk_xtc, index=index)), None, executor, n_parts=20, checkpoint=path)
    assert same(first, expected)
    assert n_done(first) == 98
    whole = path.read_bytes()
    left = []
    for n_kept in np.linspace(len(whole), len(whole) // 3, 8).astype(int):
        path.write_bytes(whole[:n_kept])
        again = run(job_of(open_trajectory(adk_xtc, index=index)), None, Threads(2), checkpoint=path)
        assert same(again, expected)
        left.append(n_done(again))
    assert left[0] == 0
    assert left == sorted(left)
    assert 0 < left[-1] < 98


def test_checkpoint_torn_at_any_byte_of_its_end_is_cut_there(adk_xtc: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    expected = run(job_of(open_trajectory(adk_xtc)), None, Serial(), n_parts=3, checkpoint=path)
    whole = path.read_bytes()
    for n_lost in range(1, 200):
        path.write_bytes(whole[:-n_lost])
        assert same(run(job_of(open_trajectory(adk_xtc)), None, Serial(), checkpoint=path), expected)
        assert same(run(job_of(open_trajectory(adk_xtc)), None, Serial(), checkpoint=path), expected)


def test_damaged_checkpoint_is_used_up_to_the_damage(adk_xtc: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    expected = run(job_of(open_trajectory(adk_xtc)), None, Processes(2), n_parts=10, checkpoint=path)
    content = bytearray(path.read_bytes())
    content[len(content) * 2 // 3] ^= 1
    path.write_bytes(content)
    again = run(job_of(open_trajectory(adk_xtc)), None, Serial(), checkpoint=path)
    assert same(again, expected)
    assert 0 < n_done(again) < 98


def changed_file(job: Job, path: Path) -> tuple[Job, FrameSet | None]:
    path.write_bytes(path.read_bytes() * 2)
    return job_of(open_trajectory(path)), None


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (changed_file, "trajectory"),
        (lambda job, path: (job_of(job.source, np.arange(1.0, len(ATOMS) + 1)), None), "analysis"),
        (lambda job, path: (Job(job.source, ATOMS + np.uint32(1), job.kernel), None), "set of atoms"),
        (lambda job, path: (job, FrameSet.range(0, 2, 49)), "set of frames"),
        (lambda job, path: (job_of(job.source.with_on_error("skip")), None), "treatment of damage"),
    ],
)
def test_checkpoint_of_another_run_is_refused(
    adk_xtc: Path, tmp_path: Path, change: Callable[[Job, Path], tuple[Job, FrameSet | None]], what: str
) -> None:
    trajectory, path = tmp_path / "a.xtc", tmp_path / "run.checkpoint"
    trajectory.write_bytes(adk_xtc.read_bytes())
    job = job_of(open_trajectory(trajectory))
    run(job, None, Serial(), checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(MismatchError, match=f"of another run: its {what} is") as caught:
        run(*change(job, trajectory), Serial(), checkpoint=path)
    assert "remove the file or name another file" in str(caught.value)
    assert not re.search(r"\b[0-9a-f]{16}\b|\b\d{12,}\b", str(caught.value)), "neither digests nor raw times"
    assert path.read_bytes() == before


def test_checkpoint_goes_on_with_a_copy_of_the_trajectory_but_with_no_other_file(adk_xtc: Path, tmp_path: Path) -> None:
    first, path = tmp_path / "first" / "a.xtc", tmp_path / "run.checkpoint"
    places = [tmp_path / name / "a.xtc" for name in ("copied", "changed")]
    for place in (first, *places):
        place.parent.mkdir()
    first.write_bytes(adk_xtc.read_bytes())
    expected = run(job_of(open_trajectory(first)), None, Serial(), n_parts=7, checkpoint=path)
    for place in places:
        shutil.copy2(first, place)
    found = run(job_of(open_trajectory(places[0])), None, Serial(), n_parts=7, checkpoint=path)
    assert same(found, expected)
    assert n_done(found) == 0
    changed = first.stat().st_mtime_ns
    os.utime(places[1], ns=(0, changed + 1))
    with pytest.raises(MismatchError, match="of another run: its trajectory is") as caught:
        run(job_of(open_trajectory(places[1])), None, Serial(), n_parts=7, checkpoint=path)
    date = f"{datetime.fromtimestamp(changed // 10**9):%Y-%m-%d %H:%M:%S}"
    for nanoseconds in (changed % 10**9, changed % 10**9 + 1):
        assert f"a.xtc, {first.stat().st_size} bytes, changed {date}.{nanoseconds:09}" in str(caught.value)
    os.utime(places[1], ns=(0, changed - 86_400 * 10**9))
    with pytest.raises(MismatchError, match=f"changed {date}, that of this run is a.xtc, .* changed"):
        run(job_of(open_trajectory(places[1])), None, Serial(), n_parts=7, checkpoint=path)


def test_differences_of_many_files_and_much_code_are_short() -> None:
    files = [f"{i}.xtc, 9 bytes, changed {i}000000000" for i in range(9)]
    other = [one.replace("9 bytes", "8 bytes") if i > 6 else one for i, one in enumerate(files)]
    found, given = ({"trajectory": "; ".join(one)} for one in (files, other))
    said = describe_differences(found, given)
    assert said.startswith("its trajectory is 7.xtc, 9 bytes, changed 19")
    assert "that of this run is 7.xtc, 8 bytes" in said
    assert said.endswith("(1 more file changed)")
    fewer = describe_differences(found, {"trajectory": "; ".join(files[1:])})
    assert fewer == "its trajectory is 9 files, that of this run is 8 files"
    code = {f"code of the function f{i} (own)": f"{i:016x}" for i in range(9)}
    assert describe_differences(code, code) == ""
    said = describe_differences({}, code)
    assert said.startswith("it has no code of the function f0 (own), which this run has; ")
    assert said.endswith("; 3 more differences")


def test_file_that_is_no_checkpoint_is_refused_and_left_alone(adk_xtc: Path, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    for content in (b"", b"some notes that nobody wants to lose", b"mdreelC1", b"mdreelC1\xff\xff"):
        path.write_bytes(content)
        with pytest.raises(FormatError, match=r"notes\.txt"):
            run(job_of(open_trajectory(adk_xtc)), None, Serial(), checkpoint=path)
        assert path.read_bytes() == content


def test_checkpoint_of_what_is_gone_with_its_process_is_refused(tmp_path: Path) -> None:
    source = Source.memory(np.random.default_rng(1).normal(size=(10, 3341, 3)).astype(np.float32), np.zeros(10))
    with pytest.raises(UnsupportedError, match="cannot have a checkpoint"):
        run(job_of(source), None, Serial(), checkpoint=tmp_path / "a")


def test_checkpoint_that_cannot_be_written_is_an_error(adk_xtc: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        run(job_of(open_trajectory(adk_xtc)), None, Serial(), checkpoint=tmp_path / "nowhere" / "a")
    with pytest.raises(IsADirectoryError):
        run(job_of(open_trajectory(adk_xtc)), None, Serial(), checkpoint=tmp_path)


def test_rest_of_another_run_beside_a_checkpoint_is_noticed(adk_xtc: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    run(job_of(open_trajectory(adk_xtc)), None, Serial(), n_parts=7, checkpoint=path)
    path.rename(tmp_path / "run.checkpoint.rank3")  # as an MPI run would leave, of which rank 0's was removed
    with pytest.raises(MismatchError, match=r"rank3: .*those of another run: remove it"):
        run(job_of(open_trajectory(adk_xtc)), None, Serial(), n_parts=9, checkpoint=path)


def test_checkpoint_that_cannot_be_created_is_named_as_given(adk_xtc, tmp_path):
    path = tmp_path / "gone" / "adk.checkpoint"
    with pytest.raises(FileNotFoundError) as raised:
        run(job_of(open_trajectory(adk_xtc)), None, Serial(), checkpoint=path)
    assert raised.value.filename == str(path)
