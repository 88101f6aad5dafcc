"""The pipeline of a run: plan blocks, execute them, merge their results."""

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
from mdreel.execution.checkpoint.identity import identity_of
from mdreel.execution.choices import Access
from mdreel.execution.executors.executor import Executor
from mdreel.execution.job import Job, Outcome
from mdreel.execution.progress import Progress
from mdreel.execution.source_name import name_of
from mdreel.execution.work import Work
from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK, SPAN
from mdreel.timing.workers import Member, Watch


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
    heard: Callable[[int], object] | None = None,
) -> Outcome:
    """Run a job over frames.

    Parameters
    ----------
    job : Job
        The source, the atoms and the kernel.
    frames : FrameSet or None
        Which frames; None for the whole trajectory.
    executor : Executor
        Who runs the blocks.
    access : {"shared", "chain", "segments", "hdf5-independent", "hdf5-collective"}, optional
        How workers come to the bytes; by default they read one file, or several as one.
    n_parts : int, optional
        Number of blocks; by default as many as suit the file and the number of workers.
    checkpoint : path, optional
        A file in which finished blocks are kept, so that a run that was killed goes on where it was.
    memory : int, optional
        Bytes that all processes together may take.
    title : str
        What the progress bar is called.
    progress : bool
        Whether progress is shown, on a terminal or in a notebook.
    started_ns : int, optional
        `time.perf_counter_ns` of when the user's call began; what has passed since is recorded as opening.
    heard : callable, optional
        Called now and then with the number of frames done.

    Returns
    -------
    Outcome
        Values of each frame in the order asked for, and what everything cost.

    Notes
    -----
    The whole of a file whose frames nobody has located is cut by bytes, so that locating and reading are one pass.
    Where that fails because bytes within a frame look like a frame, the frames are located first and read again.

    Frames of a trajectory that grows are waited for; the run ends with them.
    """
    started_ns = perf_counter_ns() if started_ns is None else started_ns
    check_access(access, job.source, executor.name, executor.schedule)
    keep_to_segments = access == "segments"
    watch = Watch()
    # What a run is about does not change when it is planned anew.
    identity = {} if checkpoint is None else identity_of(job, frames, keep_to_segments)
    while True:
        blocks = _plan(job, frames, n_parts, executor, keep_to_segments)
        kept = None if checkpoint is None else Checkpoint(checkpoint, identity, blocks)
        begun_ns = perf_counter_ns()
        n_frames = None if frames is None or frames.is_endless else len(frames)
        with Progress(title, n_frames, enabled=progress) as bar, nullcontext() if kept is None else closing(kept):
            blocks = blocks if kept is None else kept.blocks

            def monitor(n_frames: int) -> None:
                watch.look()
                if heard is not None:
                    heard(n_frames)
                if progress:
                    bar.update(n_frames)

            work = Work(job, blocks, n_parts is not None, monitor, kept, memory, access)
            outcome = _executed(executor, work, is_whole=frames is None)
            if progress and outcome is not None:
                bar.update(len(outcome.rows))
        if outcome is not None:
            break
        if kept is not None:
            remove_checkpoint(kept.path)
        job.source.check_end()  # nothing is gained by reading a torn file again
        frames = FrameSet.range(0, 1, job.source.n_frames)
    if frames is None:
        job.source.check_end()
    if not len(outcome.rows):
        raise _nothing_left(job.source, outcome)
    return with_opening(outcome, begun_ns - started_ns, watch.look().member)


def _executed(executor: Executor, work: Work, is_whole: bool) -> Outcome | None:
    """Have work done; None where a run by frames must say what came of it."""
    try:
        return executor.run(work)
    except FormatError:
        if is_whole:
            _say_which_frame(work.job.source)
        raise
    except (MismatchError, FunctionError) as error:
        if is_whole:
            return None  # a block of bytes does not know which frame this is: the run by frames says so
        raise type(error)(f"{name_of(work.job.source)}: {error}") from None


def _plan(job: Job, frames: FrameSet | None, n_parts: int | None, executor: Executor, keep_to_segments: bool) -> Blocks:
    source = job.source
    if n_parts is None and executor.schedule == "static" and not source.is_growing:
        # A share is one block, or one of each segment in it.
        n_parts = 1 if keep_to_segments else executor.n_workers
    return plan(source, frames, n_parts, executor.n_workers, keep_to_segments, 8 * job.kernel.row_width)


def _nothing_left(source: Source, outcome: Outcome) -> FormatError | FrameIndexError:
    """Say why there is no result."""
    if outcome.damage:
        return FormatError(outcome.damage[0].message)
    n_came = source.n_frames
    return FrameIndexError(f"{name_of(source)}: no frame is left: the trajectory has ended with {n_came} frames")


def _say_which_frame(source: Source) -> None:
    """Raise what is wrong with a file once more, with the frame's number, which a block of bytes does not know."""
    try:
        source.check_end()
    except FormatError as error:
        raise error from None


def with_opening(outcome: Outcome, opening_ns: int, caller: Member) -> Outcome:
    """Put what came before the core's clock began in front of what an executor recorded, and say who called.

    Parameters
    ----------
    outcome : Outcome
        What was recorded; its tables are changed.
    opening_ns : int
        How long opening took, ns.
    caller : Member
        Who called.
    """
    opening = np.array([(KINDS.index("open"), NO_BLOCK, COORDINATOR, 0, opening_ns, 0, 0)], SPAN)
    for table in (outcome.spans, outcome.tasks):
        for edge in ("start_ns", "stop_ns"):
            table[edge] += np.uint64(opening_ns)
    # Workers of which nothing is said are threads of the caller.
    workers = np.unique(outcome.spans["worker"]).tolist()
    crew = {**dict.fromkeys(workers, caller), **outcome.crew, COORDINATOR: caller}
    return replace(outcome, spans=np.concatenate([opening, outcome.spans]), crew=crew)
