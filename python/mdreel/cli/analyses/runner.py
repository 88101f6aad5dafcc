"""Execution of requested analyses on files, including inputs and outputs."""

import logging
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from mdreel.cli.analyses.request import AnalysisRequest, Request
from mdreel.cli.errors import CommandError, ExitCode, checking_output, failing_with
from mdreel.cli.output import echo, reporter
from mdreel.execution.executors.mpi.launcher import launched
from mdreel.foundation.urls import without_secrets

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.base.analysis import Analysis
    from mdreel.analysis.base.observer import ResultsView
    from mdreel.execution.executors.executor import Executor
    from mdreel.results.column import Column
    from mdreel.timing.timing import Timing


@dataclass(frozen=True)
class PreparedAnalyses:
    """Analyses whose inputs have been opened.

    Attributes
    ----------
    requests : sequence of AnalysisRequest
        The requests.
    source : Source
        The trajectory.
    groups : list of AtomGroup
        The atoms of each analysis.
    analyses : list of Analysis
        The analyses.
    topology_seconds : float
        Time spent on the topology, the selections and the references, in s.
    """

    requests: Sequence[AnalysisRequest]
    source: "Source"
    groups: "list[AtomGroup]"
    analyses: "list[Analysis]"
    topology_seconds: float

    def views(self) -> "list[ResultsView]":
        """Return the result tables that are shown by `mdreel watch`."""
        from mdreel.analysis.base.observer import ResultsView

        def columns_of(one: AnalysisRequest, analysis: "Analysis") -> "Sequence[Column]":
            return one.spec.tabulate(analysis).columns if one.spec.watch is None else one.spec.watch(analysis)

        each = zip(self.requests, self.analyses, strict=True)
        return [ResultsView(one.spec.title, partial(columns_of, one, analysis)) for one, analysis in each]


def run_on_files(request: Request, analyses: Sequence[AnalysisRequest]) -> None:
    """Run analyses in a single pass over files, and write or print their results."""
    check(request, analyses)
    prepared = prepare(request, analyses, open_files)
    with failing_with(ExitCode.INPUT):
        environment = environment_of_run(request)
        _run(request, prepared)
    write_outputs(request, prepared)
    finish(request, prepared, environment)


def check(request: Request, analyses: Sequence[AnalysisRequest]) -> None:
    """Check the options, and that all outputs can be written."""
    from mdreel.results.figure import check_figure
    from mdreel.results.files import check_output

    request.check()
    for one in analyses:
        for path in one.tables:
            _check_file(path, request.force, check_output)
        for path in one.plots:
            _check_file(path, request.force, check_figure)
    if request.timing is not None:
        from mdreel.timing.files import check_record_file

        _check_file(request.timing, request.force, check_record_file)
    if request.report is not None:
        from mdreel.timing.report.page import check_report

        _check_file(request.report, request.force, check_report)
    records = [path for path in (request.timing, request.report) if path is not None]
    written: set[Path] = set()
    for path in (*(path for one in analyses for path in one.outputs), *records):
        if path.resolve() in written:
            raise CommandError(f"{path}: two outputs have the same name", ExitCode.USAGE)
        written.add(path.resolve())


def open_files(request: Request) -> "Source":
    """Open the trajectory files. With ``--follow``, wait for the first frame."""
    from mdreel.trajectory.follow import follow
    from mdreel.trajectory.open import open as open_trajectory

    return follow(request.trajectories[0], **request.ends) if request.follow else open_trajectory(request.trajectories)


def _opened(request: Request, open_input: "Callable[[Request], Source]") -> "Source":
    """Open the input. If this fails because -s and -f are swapped, the error explains it."""
    from mdreel.errors import FormatError, MdreelError
    from mdreel.trajectory.open import open as open_trajectory

    try:
        return open_input(request)
    except FormatError as error:
        try:
            open_trajectory(request.topology)
        except (MdreelError, OSError):
            raise error from None
        swapped = f"-s names the trajectory {request.topology}: give the topology with -s and the trajectory with -f"
        raise FormatError(f"{error}; {swapped}") from error


def prepare(
    request: Request, analyses: Sequence[AnalysisRequest], open_input: "Callable[[Request], Source]"
) -> PreparedAnalyses:
    """Open the trajectory and the topology, and create the analyses."""
    with failing_with(ExitCode.INPUT):
        # Open the trajectory first: this is fast, and importing MDAnalysis is slow.
        source = _opened(request, open_input)
    since = perf_counter()

    from mdreel.analysis.named_transformations import transformed_by_name
    from mdreel.analysis.topology.topology_file import open_topology, select_atoms, warn_of_positions

    with failing_with(ExitCode.INPUT):
        universe = open_topology(request.topology, request.index)
        groups = [select_atoms(universe, one.selection, request.topology) for one in analyses]
        for selection in dict.fromkeys(one.selection for one in analyses):
            warn_of_positions(selection, request.topology)
        source = transformed_by_name(source, universe, request.transforms or (), request.center_on, request.topology)
        topology_seconds = perf_counter() - since
        made = [one.spec.prepare(atoms, source) for one, atoms in zip(analyses, groups, strict=True)]
    if not source.is_growing:  # otherwise, the analyses have waited for the first frame
        topology_seconds = perf_counter() - since
    return PreparedAnalyses(analyses, source, groups, made, topology_seconds)


def environment_of_run(request: Request) -> dict[str, Any]:
    """Return the environment for the timing record. Call this before the run. Without a record, it is empty."""
    if request.timing is None and request.report is None:
        return {}
    from mdreel.timing.environment import environment_of

    return environment_of(request.trajectories)


def write_outputs(request: Request, prepared: PreparedAnalyses) -> None:
    """Write the results of the analyses that have output files."""
    for one, atoms, analysis in zip(prepared.requests, prepared.groups, prepared.analyses, strict=True):
        if one.spec.write is not None:
            one.spec.write(analysis)
        if one.tables or one.plots:
            _write(request, one, analysis, len(atoms))


def finish(request: Request, prepared: PreparedAnalyses, environment: dict[str, Any]) -> None:
    """Print the summaries of analyses without output files, write and print the timing, and remove the checkpoint."""
    from mdreel.execution.checkpoint.file import remove_checkpoint

    for one, analysis in zip(prepared.requests, prepared.analyses, strict=True):
        if not one.tables:
            echo(one.spec.tabulate(analysis).summary)
        elif one.spec.beside_files is not None:
            echo(one.spec.beside_files(analysis))
    timing = prepared.analyses[0].timing.preceded_by("topology", prepared.topology_seconds)
    _write_timing(request, timing, environment, prepared)
    if request.checkpoint is not None:
        # Only after all outputs are on disk: until then, another run can restore them from the checkpoint.
        remove_checkpoint(request.checkpoint)
    if not request.quiet:
        echo(timing.summary(), err=True)
        if request.verbose:
            echo(timing.table(), err=True)


def _check_file(path: Path | None, force: bool, check_path: Callable[[Path, bool], object]) -> None:
    if path is not None:
        with checking_output(path):
            check_path(path, force)


def run_settings(request: Request, source: "Source") -> dict[str, Any]:
    """Return the arguments of `mdreel.run` that correspond to the options, except for the checkpoint."""
    from mdreel.trajectory.window import TimeWindow, frames_in_window

    window = TimeWindow(request.begin, request.end, request.interval)
    return {
        "start": request.start,
        "stop": request.stop,
        "step": request.step,
        "frames": frames_in_window(source.with_on_error(request.on_error), window),
        "backend": _executor(request),
        "access": request.access,
        "n_parts": request.n_parts,
        "memory": request.memory,
        "verbose": not request.quiet,
        "on_error": request.on_error,
    }


def _run(request: Request, prepared: PreparedAnalyses) -> None:
    from mdreel.analysis.base.one_pass import run

    say = reporter(request.quiet)
    checkpoint = request.checkpoint
    if checkpoint is not None and checkpoint.exists():
        say(f"{checkpoint}: the file exists; if it belongs to this run, its finished blocks are not computed again")
    try:
        run(prepared.analyses, checkpoint=checkpoint, **run_settings(request, prepared.source))
    except KeyboardInterrupt:
        if checkpoint is None:
            say("no results were kept; with --checkpoint FILE, a run can continue after an interruption")
        elif checkpoint.exists():
            say(f"{checkpoint}: the finished blocks are in this file; run the same command again to continue")
        raise


def _executor(request: Request) -> "Executor":
    """Return the executor that corresponds to the options."""
    from mdreel.execution.executors.resolve_executor import executor_class

    ranks = launched()
    backend = request.backend or ("mpi" if ranks is not None and ranks.size > 1 else "threads")
    if request.scheduler is not None and backend != "dask":
        raise CommandError("--scheduler requires --backend dask", ExitCode.USAGE)
    if request.communication is not None and backend != "mpi":
        raise CommandError("--communication requires --backend mpi", ExitCode.USAGE)
    settings: dict[str, str] = {}
    if backend == "dask":
        logging.disable()  # Dask logs tracebacks of errors that mdreel prints as one line
        if request.scheduler is not None:
            settings["client"] = request.scheduler
    if request.communication is not None:
        settings["communication"] = request.communication
    n_workers = None if backend == "serial" else request.n_workers or None
    return executor_class(backend)(n_workers, request.schedule, **settings)


def _write(request: Request, one: AnalysisRequest, analysis: "Analysis", n_atoms: int) -> None:
    from mdreel.execution.damage import damage_metadata
    from mdreel.results.figure import save
    from mdreel.results.files import write

    table = one.spec.tabulate(analysis)
    metadata: dict[str, Any] = {
        "title": one.spec.title,
        "topology": str(request.topology),
        "trajectory": request.input,
        "selection": one.selection,
        "n_atoms": n_atoms,
        **one.spec.facts,
        **damage_metadata(analysis.damage, request.on_error),
    }
    with failing_with(ExitCode.OUTPUT):
        for path in one.tables:
            write(path, table.columns, metadata, request.force)
        if one.plots:
            atoms = f"{one.selection} ({n_atoms:,} atoms)"
            figure = table.figure(textwrap.shorten(atoms, 48, placeholder=" ..."))
            for path in one.plots:
                save(figure, path, request.force)


def _write_timing(request: Request, timing: "Timing", environment: dict[str, Any], prepared: PreparedAnalyses) -> None:
    if request.timing is None and request.report is None:
        return
    from mdreel.cli.analyses.description import describe_run
    from mdreel.timing.environment import versions
    from mdreel.timing.files import write_record
    from mdreel.timing.limits import measure_limits
    from mdreel.timing.record import Record

    # After the run, because it loads further packages, whose versions belong in the record.
    environment = {**environment, "versions": versions()}
    each = list(zip(prepared.requests, prepared.groups, prepared.analyses, strict=True))
    limits, title = measure_limits(request.trajectories[0]), _title(request, prepared.requests)
    record = Record(timing, environment, limits, title, describe_run(request, each))
    with failing_with(ExitCode.OUTPUT):
        if request.timing is not None:
            write_record(record, request.timing, request.force)
        if request.report is not None:
            from mdreel.timing.report.page import write_report

            write_report(record, request.report, request.force)


def _title(request: Request, analyses: Sequence[AnalysisRequest]) -> str:
    """Return a title for the run, which consists of its analyses and its files."""
    names = ", ".join(dict.fromkeys(one.spec.title for one in analyses))
    if request.channel is not None:
        return f"{names} of {request.input}"
    first, *others = (without_secrets(path.name) for path in request.trajectories)
    return f"{names} of {first}" + (f" and {len(others)} more" if others else "")
