"""Access: however workers come to the bytes, the result has the same bits."""

from dataclasses import replace
from itertools import accumulate, pairwise, product
from pathlib import Path

import numpy as np
import pytest

from mdreel import Dask, Processes, Threads
from mdreel._core import FrameSet, Source, plan
from mdreel.errors import MdreelError, MismatchError, UnsupportedError
from mdreel.execution.executors.executor import Executor
from mdreel.execution.executors.local.serial import Serial
from mdreel.execution.job import Job
from mdreel.execution.pipeline import run
from mdreel.timing.spans import KINDS
from mdreel.trajectory.open import open as open_trajectory
from mixed_job import bits_of, mixed_job
from mpi_launcher import EVERY_MPI, Launcher
from rmsd_on_ranks import Wanted, expected_of, results_of, spans_of

LENGTHS = [40, 8, 30, 20]
"""Frames of each segment of the AdK trajectory."""

ATOMS = np.arange(0, 3341, 5, dtype=np.uint32)


@pytest.fixture(scope="module")
def segments(adk_xtc: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The AdK trajectory in four files of different lengths."""
    from mdreel.trajectory.convert import convert

    folder = tmp_path_factory.mktemp("segments")
    paths = [str(folder / f"part{i}.xtc") for i in range(len(LENGTHS))]
    for path, (start, stop) in zip(paths, pairwise(accumulate(LENGTHS, initial=0)), strict=True):
        convert(adk_xtc, path, start=start, stop=stop)
    return paths


def job_of(source: Source) -> Job:
    return mixed_job(source, ATOMS)


def segment_of(frame: int) -> int:
    return int(np.searchsorted(np.cumsum(LENGTHS), frame, side="right"))


def segments_read(spans: np.ndarray, source: Source, n_workers: int) -> dict[int, set[int]]:
    """Which segments each worker has read, in a run with one block for each."""
    blocks = plan(source, FrameSet.range(0, 1, 98), 1, n_workers, keep_to_segments=True)
    assert len(blocks) == len(LENGTHS)
    reading = spans[spans["kind"] == KINDS.index("read")]
    return {int(worker): set(reading["block"][reading["worker"] == worker].tolist()) for worker in reading["worker"]}


def whole_segments(n_workers: int) -> dict[int, set[int]]:
    """The segments of each worker: consecutive, each edge where equal shares would have it, as nearly as can be."""
    return {
        1: {0: {0, 1, 2, 3}},
        2: {0: {0, 1}, 1: {2, 3}},
        3: {0: {0}, 1: {1, 2}, 2: {3}},
        4: {i: {i} for i in range(4)},
    }[min(n_workers, 4)]


@pytest.mark.parametrize("n_parts", [None, 1, 9])
def test_blocks_keep_to_segments(segments: list[str], n_parts: int | None) -> None:
    source = open_trajectory(segments)
    for frames in (FrameSet.range(0, 1, 98), FrameSet.range(3, 7, 13), FrameSet.list(np.arange(97, 0, -3, np.uint64))):
        blocks = plan(source, frames, n_parts, 3, keep_to_segments=True)
        numbers = []
        for i in range(len(blocks)):
            kind, covered = blocks[i]
            assert kind == "frames"
            own = covered.numbers().tolist()
            assert len({segment_of(frame) for frame in own}) == 1
            numbers += own
        assert numbers == frames.numbers().tolist()
    assert any(
        len({segment_of(frame) for frame in blocks[i][1].numbers().tolist()}) > 1
        for blocks in [plan(source, FrameSet.range(0, 1, 98), 2, 3)]
        for i in range(2)
    )


@pytest.mark.parametrize("is_located", [False, True])
@pytest.mark.parametrize("access", ["chain", "segments"])
def test_every_access_gives_the_bits_of_one_thread(
    segments: list[str], cluster: Dask, access: str, is_located: bool
) -> None:
    expected = expected_of(Wanted(segments))
    on_cluster = Dask(client=cluster._client, schedule="static")
    executors: list[Executor] = [Serial(), Threads(3), Threads(3, "static"), Threads(7, "static"), cluster, on_cluster]
    executors += [Processes(2), Processes(3, "static"), Processes(5, "static")]
    for executor, n_parts in product(executors, (None, 9)):
        source = open_trajectory(segments, index="none")
        frames = FrameSet.range(0, 1, source.n_frames) if is_located else None
        outcome = run(job_of(source), frames, executor, access=access, n_parts=n_parts)
        assert bits_of(outcome).tobytes() == expected, (executor, n_parts)


@pytest.mark.parametrize("n_workers", [1, 2, 3, 4, 6])
def test_static_schedule_gives_each_worker_whole_segments(segments: list[str], n_workers: int) -> None:
    for executor in (Threads(n_workers, "static"), Processes(n_workers, "static")):
        source = open_trajectory(segments)
        outcome = run(job_of(source), FrameSet.range(0, 1, 98), executor, access="segments")
        assert segments_read(outcome.spans, source, n_workers) == whole_segments(n_workers), executor


@EVERY_MPI
@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4])
def test_every_rank_has_the_bits_of_one_thread(
    segments: list[str], tmp_path: Path, mpi: Launcher, n_ranks: int
) -> None:
    static = Wanted(segments, "static", access="segments")
    runs = [static] + [
        Wanted(segments, schedule, communication, access=access, n_parts=n_parts, is_located=is_located)
        for schedule, communication, access, n_parts in product(
            ["demand", "static"], ["gather", "window"], ["chain", "segments"], [None, 9]
        )
        for is_located in [True, False][: 2 if communication == "gather" else 1]
    ]
    assert results_of(mpi, n_ranks, tmp_path, runs) == [[expected_of(Wanted(segments))] * n_ranks] * len(runs)
    assert segments_read(spans_of(tmp_path), open_trajectory(segments), n_ranks) == whole_segments(n_ranks)


def test_access_that_does_not_suit_is_refused(segments: list[str], adk_xtc: Path) -> None:
    def refused(access: str, paths: list[str]) -> str:
        with pytest.raises(MdreelError) as caught:
            run(job_of(open_trajectory(paths)), None, Serial(), access=access)  # type: ignore[arg-type]
        assert type(caught.value) is (UnsupportedError if "unknown" in str(caught.value) else MismatchError)
        return str(caught.value)

    assert refused("lustre", segments).startswith("unknown access 'lustre'; known: shared, chain, segments")
    assert refused("shared", segments) == "access='shared' is for one file, not 4: use 'chain' or 'segments'"
    assert refused("chain", [str(adk_xtc)]) == "access='chain' is for several files, not 1: use 'shared'"
    one = run(job_of(open_trajectory(adk_xtc)), None, Serial(), access="shared")
    assert bits_of(one).tobytes() == expected_of(Wanted([str(adk_xtc)]))


@pytest.mark.parametrize("executor", [Threads(2), Processes(2)])
def test_checkpoint_of_blocks_that_keep_to_segments_is_for_such(
    segments: list[str], tmp_path: Path, executor: Executor
) -> None:
    job, path = job_of(open_trajectory(segments)), tmp_path / "run.checkpoint"
    first = run(job, None, executor, access="segments", checkpoint=path)
    again = run(job, None, executor, access="segments", checkpoint=path)
    assert bits_of(first).tobytes() == bits_of(again).tobytes() == expected_of(Wanted(segments))
    with pytest.raises(
        MismatchError, match="its cut into blocks is at the ends of files, that of this run is anywhere"
    ):
        run(job, None, executor, checkpoint=path)


def test_missing_segment_is_named(segments: list[str], tmp_path: Path) -> None:
    paths = [tmp_path / Path(path).name for path in segments]
    for path, copy in zip(segments, paths, strict=True):
        copy.write_bytes(Path(path).read_bytes())
    job = job_of(open_trajectory(paths))
    paths[2].unlink()
    with pytest.raises(FileNotFoundError, match=r"part2\.xtc"):
        run(job, FrameSet.range(0, 1, 98), Processes(2, "static"), access="segments")


def test_segments_of_damaged_files_give_what_is_whole(segments: list[str], tmp_path: Path) -> None:
    torn = tmp_path / "torn.xtc"
    torn.write_bytes(Path(segments[1]).read_bytes()[:-100])
    paths = [segments[0], str(torn), *segments[2:]]
    expected = run(
        replace(job_of(open_trajectory(paths)), source=open_trajectory(paths).with_on_error("skip")), None, Serial()
    )
    source = open_trajectory(paths).with_on_error("skip")
    for executor in (Threads(3, "static"), Processes(3, "static")):
        outcome = run(replace(job_of(source), source=source), None, executor, access="segments")
        assert bits_of(outcome).tobytes() == bits_of(expected).tobytes()
        assert [damage.frame for damage in outcome.damage] == [damage.frame for damage in expected.damage] != []
