"""Pipeline of a run, which plans the blocks, executes them and merges their results."""

from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import replace
from os import PathLike
from time import perf_counter_ns

import numpy as np

from mdreel._core import Blocks, FrameSet, Source, plan
from mdreel.errors import FormatError, FrameIndexError, FunctionError, MismatchError
from mdreel.execution.access import check_access
from mdreel.execution.checkpoint.file import Checkpoint, remove_checkpoint
from mdreel.execution.checkpoint.identity import run_identity
from mdreel.execution.choices import Access
from mdreel.execution.executors.executor import Executor
from mdreel.execution.file_check import begin_check, confirm_files
from mdreel.execution.job import Job, Outcome
from mdreel.execution.progress import Progress
from mdreel.execution.shared_files import check_end, keep_index, locate
from mdreel.execution.source_name import source_name
from mdreel.execution.work import Work
from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK, SPAN
from mdreel.timing.workers import Member, Watch

_MANY_SUMS = 1 << 20
"""Number of sums, 16 bytes each, above which adding up the sums of a block takes longer than better balance gains."""
_PARTS_OF_MANY_SUMS = 2
"""Blocks for each worker if there are many sums."""


def run(
    job: Job,
    frames: FrameSet | None,
    executor: Executor,
    *,
    access: Access | None = None,
    n_parts: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    memory: int | None = None,
    title: str = "",
    progress: bool = False,
    started_ns: int | None = None,
    waited_ns: int = 0,
    on_progress: Callable[[int], object] | None = None,
    needs_frame_numbers: bool = False,
) -> Outcome:
    """Run a job for the selected frames.

    Parameters
    ----------
    job : Job
        The source, the atoms and the kernel.
    frames : FrameSet or None
        The frames, or None for the whole trajectory.
    executor : Executor
        Executor that runs the blocks.
    access : str, optional
        How workers access the files: a value of `Access`. By default, they read one file, or several files as one.
    n_parts : int, optional
        Number of blocks. By default, this is chosen according to the file and the number of workers.
    checkpoint : path, optional
        File that stores the results of complete blocks, so that an interrupted run can be continued.
    memory : int, optional
        Total memory limit of all processes, in bytes.
    title : str
        Title of the progress bar.
    progress : bool
        Whether to show progress on a terminal or in a notebook.
    started_ns : int, optional
        Start of the user's call, as returned by `time.perf_counter_ns`. The time since then is recorded as opening.
    waited_ns : int
        Part of this time that was spent waiting for a growing trajectory, in ns. It is recorded as waiting.
    on_progress : callable, optional
        Function that is called regularly with the number of analysed frames.
    needs_frame_numbers : bool
        Whether user code receives the numbers of frames. If so, the frames will always be located before they are read.

    Returns
    -------
    Outcome
        Values for each frame in the requested order, and the spans of the run.

    Notes
    -----
    If you read all frames of a file without a frame index, this file is divided into ranges of bytes. This allows the
    frames to be located and read in a single pass. However, this method fails if bytes within a frame look like the
    start of a frame. In this case, all frames are located first, and then read again.

    If the trajectory is growing, the run will wait for new frames, and end when the trajectory ends.
    """
    started_ns = perf_counter_ns() if started_ns is None else started_ns
    check_access(access, job.source, executor.name, executor.schedule)
    keep_to_segments = access == "segments"
    watch = Watch()
    # The identity of a run stays the same if the run is planned again.
    identity = {} if checkpoint is None else run_identity(job, frames, keep_to_segments)
    while True:
        blocks = _plan(job, frames, n_parts, executor, keep_to_segments)
        if needs_frame_numbers and blocks.are_of_bytes:  # such a block numbers its frames from 0
            frames = _located(job.source)
            blocks = _plan(job, frames, n_parts, executor, keep_to_segments)
        if checkpoint is not None:
            confirm_files()
        kept = None if checkpoint is None else Checkpoint(checkpoint, identity, blocks)
        begun_ns = perf_counter_ns()
        n_frames = None if frames is None or frames.is_endless else len(frames)
        with Progress(title, n_frames, enabled=progress) as bar, nullcontext() if kept is None else closing(kept):
            blocks = blocks if kept is None else kept.blocks

            def monitor(n_frames: int) -> None:
                watch.look()
                begin_check()
                if on_progress is not None:
                    on_progress(n_frames)
                if progress:
                    bar.update(n_frames)

            work = Work(job, blocks, n_parts is not None, monitor, kept, memory, access)
            outcome = _execute(executor, work, is_whole=frames is None)
            if progress and outcome is not None:
                bar.update(len(outcome.rows))
        if outcome is not None:
            break
        if kept is not None:
            remove_checkpoint(kept.path)
        frames = _located(job.source)
    confirm_files()
    _conclude(job.source, blocks, outcome, is_whole=frames is None)
    return with_opening(outcome, begun_ns - started_ns, watch.look().member, waited_ns)


def _located(source: Source) -> FrameSet:
    """Locate all frames of a file that has no frame index, and return them."""
    check_end(source)  # a torn file would fail in every block
    locate(source)
    return FrameSet.range(0, 1, source.n_frames)


def _execute(executor: Executor, work: Work, is_whole: bool) -> Outcome | None:
    """Run the work. Return None if it has to be run again with blocks of frames, so that errors state the frame."""
    try:
        return executor.run(work)
    except FormatError:
        if is_whole:
            _raise_with_frame_number(work.job.source)
        raise
    except (MismatchError, FunctionError) as error:
        if is_whole:
            return None  # a block of bytes does not know its frame numbers
        if error.path is not None:
            raise
        named = type(error)(str(error), path=source_name(work.job.source))
        named.frame = error.frame
        raise named from None


def _conclude(source: Source, blocks: Blocks, outcome: Outcome, is_whole: bool) -> None:
    """Save a frame index that was created by the run, and check that the run has read the entire trajectory."""
    if blocks.are_of_bytes:
        keep_index(source)
    if is_whole:
        check_end(source)
    if not len(outcome.rows):
        raise _nothing_left(source, outcome)


def _plan(job: Job, frames: FrameSet | None, n_parts: int | None, executor: Executor, keep_to_segments: bool) -> Blocks:
    source = job.source
    if n_parts is not None and n_parts < 1:
        raise MismatchError(f"n_parts must be 1 or more, not {n_parts}")
    if n_parts is None and executor.schedule == "static" and not source.is_growing:
        # The share of a worker is one block, or one block per segment.
        n_parts = 1 if keep_to_segments else executor.n_workers
    if n_parts is None and not source.is_growing and not keep_to_segments and _n_sums(job) > _MANY_SUMS:
        n_parts = _PARTS_OF_MANY_SUMS * executor.n_workers
    return plan(source, frames, n_parts, executor.n_workers, keep_to_segments, 8 * job.kernel.row_width)


def _n_sums(job: Job) -> int:
    """Return the number of sums of all computations."""
    return max((of_sums[1] for _, of_sums, *_ in job.kernel.places), default=0)


def _nothing_left(source: Source, outcome: Outcome) -> FormatError | FrameIndexError:
    """Return the error for a run without results."""
    if outcome.damage:
        return FormatError(outcome.damage[0].message)
    n_came = source.n_frames
    return FrameIndexError(f"no frame is left: the trajectory has ended with {n_came} frames", path=source_name(source))


def _raise_with_frame_number(source: Source) -> None:
    """Raise the error for a damaged file with the frame number, which is unknown in a block of bytes."""
    try:
        source.check_end()
    except FormatError as error:
        raise error from None


def with_opening(outcome: Outcome, opening_ns: int, caller: Member, waited_ns: int = 0) -> Outcome:
    """Add the opening time to the spans of an outcome, and record the calling process.

    Parameters
    ----------
    outcome : Outcome
        The outcome. Its spans and tasks are modified.
    opening_ns : int
        Opening time, in ns.
    caller : Member
        The calling process.
    waited_ns : int
        Part of the opening time that was spent waiting for a growing trajectory, in ns. No span is added for this time,
        so that it is counted as waiting.
    """
    opening = np.array([(KINDS.index("open"), NO_BLOCK, COORDINATOR, 0, opening_ns - waited_ns, 0, 0)], SPAN)
    for table in (outcome.spans, outcome.tasks):
        for edge in ("start_ns", "stop_ns"):
            table[edge] += np.uint64(opening_ns)
    # Workers without a process of their own are threads of the caller.
    workers = np.unique(outcome.spans["worker"]).tolist()
    crew = {**dict.fromkeys(workers, caller), **outcome.crew, COORDINATOR: caller}
    return replace(outcome, spans=np.concatenate([opening, outcome.spans]), crew=crew)
