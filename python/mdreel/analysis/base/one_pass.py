"""Several analyses in a single pass over the trajectory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from os import PathLike
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from mdreel._core import Pass, Source, Transformation
from mdreel.analysis.base.mdanalysis_interface import MDAnalysisInterface
from mdreel.analysis.base.observer import views_of
from mdreel.analysis.base.python_call import python_call
from mdreel.analysis.base.result_sizes import check_result_sizes
from mdreel.analysis.periodic.boundary_check import BoundaryCheck
from mdreel.analysis.periodic.missing_cell import naming_cell_remedy
from mdreel.analysis.transformations import executor_in_order, transformed
from mdreel.errors import ArgumentError, MismatchError
from mdreel.execution.blocks import Frames, first_frame, select_frames
from mdreel.execution.choices import Access
from mdreel.execution.damage import warn_of_damage
from mdreel.execution.executors.executor import Executor
from mdreel.execution.executors.resolve_executor import find_executor
from mdreel.execution.file_check import with_later_check
from mdreel.execution.job import Job
from mdreel.execution.memory import parse_memory
from mdreel.execution.missed_frames import missed_frames, warn_of_missed_frames
from mdreel.execution.pipeline import run as run_job
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments, shown
from mdreel.trajectory.atom_union import union_of
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from mdreel.analysis.base.analysis import Analysis
    from mdreel.analysis.base.observer import Observer
    from mdreel.execution.job import Outcome
    from mdreel.trajectory.parallel_hdf5 import SharedPositions


@checked_arguments
def run(
    analyses: Sequence[Analysis],
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    frames: Frames | None = None,
    verbose: bool | None = None,
    n_workers: int | None = None,
    n_parts: int | None = None,
    backend: str | Executor | None = None,
    *,
    progressbar_kwargs: Mapping[str, Any] | None = None,
    source: Trajectory | None = None,
    access: Access | None = None,
    memory: str | int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    on_error: str = "raise",
    transformations: Sequence[Transformation] = (),
) -> tuple[Analysis, ...]:
    """Run several analyses in a single pass, in which frames are read and decompressed only once.

    Parameters
    ----------
    analyses : sequence of Analysis
        Analyses of the same trajectory. You will get the same results as if you ran them one by one. However, all of
        them report the timing of the whole pass.
    start, stop, step, frames, verbose, n_workers, n_parts, backend, progressbar_kwargs, source, access, memory,
    checkpoint, on_error, transformations
        See `Analysis.run`. By default, you will see a progress bar if one of the analyses would show it.

    Returns
    -------
    tuple of Analysis
        The analyses.

    Raises
    ------
    MismatchError
        If you passed no analyses, or analyses of different trajectories. See also `Analysis.run`.
    MdreelError, OSError
        See `Analysis.run`.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> u = mda.Universe(PSF, DCD)
    >>> alpha, backbone = mdreel.run([mdreel.RMSD(u.select_atoms(name)) for name in ("name CA", "backbone")])
    >>> backbone.results.rmsd.shape
    (98, 3)
    """
    started_ns = perf_counter_ns()
    _check_kinds(analyses)
    call = python_call(
        analyses,
        start=start,
        stop=stop,
        step=step,
        frames=frames,
        n_workers=n_workers,
        n_parts=n_parts,
        backend=backend,
        source=source,
        access=access,
        memory=memory,
        checkpoint=checkpoint,
        on_error=None if on_error == "raise" else on_error,
        transformations=transformations,
    )
    title, is_shown = _progress_bar(analyses, verbose, progressbar_kwargs or {})
    if source is not None:
        for analysis in analyses:
            analysis.set_trajectory(source)
    leader = leader_of(analyses)
    executor = find_executor(backend, n_workers)
    budget = None if memory is None else parse_memory(memory)

    writing = [analysis for analysis in analyses if analysis.writes_file]
    # Filled only in the computing process, which is the one that notifies observers and warns.
    observers: list[Observer] = []
    checks: list[BoundaryCheck] = []
    sources: list[Source] = []

    def compute() -> tuple[Outcome, Pass]:
        for analysis in writing:
            analysis.check_output_file()
        since_ns = perf_counter_ns()
        opened = transformed(leader.open().with_on_error(on_error), transformations)
        reading = executor_in_order(opened, executor, n_parts, checkpoint is not None, order_reasons(analyses))
        selected = select_frames(opened, start, stop, step, frames)
        job = job_of(analyses, opened, first_frame(opened, selected, start, stop, step, frames))
        check_result_sizes(analyses, job.kernel.computations, opened, selected)
        check = BoundaryCheck(analyses, opened)
        check.before(start)
        waited_ns = perf_counter_ns() - since_ns if opened.is_growing else 0
        observer = leader.observer(opened, views_of(analyses))
        with nullcontext() if observer is None else observer:
            outcome = run_job(
                job,
                selected,
                reading,
                access=access,
                n_parts=n_parts if reading is executor else 1,
                checkpoint=checkpoint,
                memory=budget,
                title=title,
                progress=is_shown,
                started_ns=started_ns,
                waited_ns=waited_ns,
                on_progress=None if observer is None else observer.report_progress,
                needs_frame_numbers=any(analysis.needs_frame_numbers for analysis in analyses),
            )
        observers.extend([] if observer is None else [observer])
        check.after(outcome, job.kernel)
        checks.append(check)
        sources.append(opened)
        return replace(outcome, n_missed=missed_frames(opened)), job.kernel

    with naming_cell_remedy(analyses):
        outcome, kernel = executor.share(lambda: with_later_check(compute))
        outcome = replace(
            outcome, on_error=on_error, call=call, n_requested=getattr(executor, "n_requested", None) or 0
        )
        for analysis, tally in zip(analyses, Tally.of_each(outcome, kernel), strict=True):
            analysis.accept(outcome, tally)
    for observer in observers:
        observer.finish(len(outcome.rows), leader.timing)
    warn_of_damage(outcome.damage, on_error)
    for opened in sources:
        warn_of_missed_frames(opened)
    for check in checks:
        check.warn()
    if writing:
        executor.share(lambda: _write_files(writing))
    return tuple(analyses)


def leader_of(analyses: Sequence[Analysis]) -> Analysis:
    """Return the first analysis, which opens the trajectory for all of them.

    Raises
    ------
    MismatchError
        If you passed no analyses, or analyses of different trajectories.
    """
    if not analyses:
        raise MismatchError("there is no analysis to run: give at least one")
    leader = analyses[0]
    for other in analyses[1:]:
        theirs, ours = other.trajectory_read, leader.trajectory_read
        if theirs is not ours and theirs != ours:
            raise MismatchError(f"{other!r} and {leader!r} have different trajectories: run them separately")
    return leader


def order_reasons(analyses: Sequence[Analysis]) -> list[str]:
    """Return the reasons why analyses need all frames in order in one block."""
    return [reason for reason in (analysis.order_reason for analysis in analyses) if reason is not None]


def job_of(analyses: Sequence[Analysis], source: Source, first: int = 0) -> Job:
    """Return the job that computes several analyses of one trajectory.

    Parameters
    ----------
    analyses : sequence of Analysis
        The analyses.
    source : Source
        The open trajectory, from which references are read.
    first : int
        Number of the first analysed frame.
    """
    for analysis in analyses:
        analysis.start_at(first)
    each = [analysis.atoms_read for analysis in analyses]
    atoms = union_of(each)
    places = [None if len(own) == len(atoms) else np.searchsorted(atoms, own).astype(np.uint32) for own in each]
    computations = [analysis.computation(source) for analysis in analyses]
    return Job(source, atoms, Pass(len(atoms), list(zip(computations, places, strict=True))), _positions_together)


def _check_kinds(analyses: Sequence[object]) -> None:
    for analysis in analyses:
        if not isinstance(analysis, MDAnalysisInterface):
            expected = "analyses must be a sequence of analyses of mdreel, such as mdreel.RMSD(atoms)"
            raise ArgumentError(f"{expected}, not {shown(analysis)}")


def _progress_bar(analyses: Sequence[Analysis], verbose: bool | None, options: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the title of the progress bar, and whether to show it."""
    names = ", ".join(dict.fromkeys(type(analysis).__name__ for analysis in analyses))
    is_shown = any(analysis.is_verbose for analysis in analyses) if verbose is None else verbose
    return str(options.get("desc") or names), bool(is_shown) and not options.get("disable")


def _write_files(analyses: Sequence[Analysis]) -> None:
    for analysis in analyses:
        analysis.write_output()


def _positions_together(source: Source, is_collective: bool) -> SharedPositions:
    from mdreel.trajectory.parallel_hdf5 import SharedPositions

    return SharedPositions.of(source, is_collective)
