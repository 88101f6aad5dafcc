"""The command ``mdreel steer``, which checks rules against live results and acts on the simulation."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import click

from mdreel.cli.analyses.request import AnalysisRequest, Request
from mdreel.cli.analyses.runner import PreparedAnalyses, prepare, write_outputs
from mdreel.cli.errors import CommandError, ExitCode, failing_with
from mdreel.cli.live.engine_start import start_engine
from mdreel.cli.live.rehearsal import rehearse
from mdreel.cli.live.rules_file import RulesFile, read_steering, steering_schema
from mdreel.cli.live.running_input import EVERY_SECONDS, live_results, open_input
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, Option, command
from mdreel.cli.output import echo, echo_json
from mdreel.errors import MismatchError, SelectionError
from mdreel.foundation.formatting import counted

if TYPE_CHECKING:
    import subprocess

    from mdreel.live.steering.engine_control import EngineConnection
    from mdreel.live.steering.steer import ObservedAnalysis, SteeringStatistics

EXAMPLES = """\
Examples:
  mdreel steer rules.toml -s md.psf --channel run1 --wait 60
  mdreel steer rules.toml -s md.psf --channel run1 --dry-run --log dry-run.jsonl
  mdreel steer rules.toml -s md.gro -f md.xtc --follow -- gmx mdrun -deffnm md
  mdreel steer --schema > steering.schema.json

A rules file:
  [[analysis]]
  type = "rmsd"
  select = "protein and name CA"
  [[rule]]
  name = "unfolded"
  analysis = "rmsd"
  above = 6.0
  share = 0.8
  frames = 200
  actions = ["stop"]
"""

STEERING = "Steering"

_OF_INPUT = (MismatchError, SelectionError, FileNotFoundError)
"""Errors that no later frame would remove."""


@command(examples=EXAMPLES, usage="[OPTIONS] RULES [-- ENGINE...]")
def steer(
    path: Annotated[Path | None, Argument(metavar="RULES", help="Rules file (TOML).")] = None,
    engine: Annotated[list[str] | None, Argument(is_hidden=True)] = None,
    schema: Annotated[bool, Option(group=shared.INPUT, help="Print the JSON schema of rules files.")] = False,
    topology: shared.OptionalTopology = None,
    trajectories: shared.RepeatedTrajectories = None,
    log: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            group=STEERING,
            help="Audit log (JSON lines).  [default: steering.jsonl in the channel or beside the trajectory]",
        ),
    ] = None,
    dry_run: Annotated[bool, Option(group=STEERING, help="Log actions without carrying them out.")] = False,
    follow: shared.Follow = False,
    end_frames: shared.EndFrames = None,
    end_idle: shared.EndIdle = None,
    end_file: shared.EndFile = None,
    end_process: shared.EndProcess = None,
    channel: shared.Channel = None,
    channel_begin: shared.ChannelBegin = None,
    channel_wait: shared.ChannelWait = None,
    channel_timeout: shared.ChannelTimeout = None,
    channel_new_run: shared.ChannelNewRun = False,
    channel_restart: shared.ChannelRestart = None,
    channel_on_late: shared.ChannelOnLate = None,
    every: shared.Every = None,
    n_workers: shared.OptionalWorkers = None,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
) -> None:
    """Check the live results of a simulation against rules, and stop, fork or change the simulation when a rule fires.

    The command after -- starts the engine. The simulation ends when the engine process exits.
    """
    if schema:
        echo_json(steering_schema(), indent=2)
        return
    if follow and engine and (end_frames, end_idle, end_file, end_process) == (None, None, None, None):
        end_process = os.getpid()  # valid placeholder until the engine has a process ID
    of_command = {
        "topology": topology,
        "trajectories": trajectories,
        "follow": follow or None,
        "end_frames": end_frames,
        "end_idle": end_idle,
        "end_file": end_file,
        "end_process": end_process,
        "channel": channel,
        "channel_begin": channel_begin,
        "channel_wait": channel_wait,
        "channel_timeout": channel_timeout,
        "channel_new_run": channel_new_run,
        "channel_restart": channel_restart,
        "channel_on_late": channel_on_late,
        "every": every,
        "n_workers": n_workers,
        "force": force,
        "quiet": quiet,
    }
    task = read_steering(path, bool(engine), **of_command)
    _steer(task, engine or [], log, dry_run)


def _steer(task: RulesFile, command: list[str], log: Path | None, dry_run: bool) -> None:
    import MDAnalysis  # noqa: F401 (takes seconds, so import it before the simulation starts)

    from mdreel.live.channels.directory import channel_path
    from mdreel.live.steering.log import FILE
    from mdreel.live.steering.steer import SteeringStatistics

    request = task.request
    with failing_with(ExitCode.INPUT):
        place = request.trajectories[0].absolute() if request.channel is None else channel_path(request.channel)
    file = log or (place.parent if request.channel is None else place) / FILE
    process: subprocess.Popen[bytes] | None = None
    with ExitStack() as resources:
        if command:
            rehearse(task)
            with failing_with(ExitCode.INPUT):
                process = resources.enter_context(start_engine(command, request, place))
        found, n_checked = SteeringStatistics(), 0
        try:
            for found in _run_steering(task, place, process, file, dry_run):
                n_checked = found.n_frames
        except CommandError as error:
            if process is not None and process.poll() is None:
                if n_checked == 0 and isinstance(error.__cause__, _OF_INPUT):
                    process.terminate()
                    echo("mdreel: stopped the simulation, because its frames cannot be checked", err=True)
                else:
                    echo(f"mdreel: the simulation continues without steering: {error}", err=True)
            raise
    if not request.quiet:
        done = f"{counted(found.n_acted, 'action')} done, {found.n_failed} failed"
        if dry_run:
            done = "dry run, no action carried out"
        frames, firings = counted(found.n_frames, "frame"), counted(found.n_fired, "firing")
        echo(f"{frames}, {firings}, {done}: {file}", err=True)
    if found.n_failed:
        failed = "1 action has" if found.n_failed == 1 else f"{found.n_failed:,} actions have"
        raise CommandError(f"{file}: {failed} failed", ExitCode.OUTPUT)
    if process is not None and process.returncode and not found.is_stopped:  # a stopped GROMACS exits with 1
        echo(f"mdreel: the engine has ended with status {process.returncode}", err=True)
        raise click.exceptions.Exit(process.returncode if process.returncode > 0 else 128 - process.returncode)


def _run_steering(
    task: RulesFile, place: Path, process: "subprocess.Popen[bytes] | None", log: Path, dry_run: bool
) -> "Iterator[SteeringStatistics]":
    """Steer until the simulation ends, and yield the statistics so far."""
    from mdreel.live.steering.log import AuditLog
    from mdreel.live.steering.steer import steer as steer_by_rules

    request, analyses = task.request, list(task.analyses.values())
    if process is not None and request.end_process == os.getpid():
        request = replace(request, end_process=process.pid)
    prepared = prepare(request, analyses, open_input)
    with ExitStack() as resources:
        with failing_with(ExitCode.OUTPUT):
            audit = resources.enter_context(AuditLog(log))
        with failing_with(ExitCode.INPUT):
            looks = steer_by_rules(
                _run_analyses(request, prepared),
                _observed_analyses(task, prepared),
                task.plan,
                _connect_engine(task, place, process),
                audit,
                dry_run=dry_run,
                folder=task.path.absolute().parent,
                input=str(place),
                step_of=_step_lookup(request, prepared),
            )
            yield from resources.enter_context(closing(looks))


def _run_analyses(request: Request, prepared: PreparedAnalyses) -> Iterator[None]:
    """Run the analyses on new frames, and write their outputs regularly and at the end."""
    every = EVERY_SECONDS if request.every is None else request.every
    written, n_written = monotonic(), -1
    for _ in live_results(request, prepared, 0.0):
        yield
        if monotonic() - written >= every:
            write_outputs(request, prepared)
            request = replace(request, force=True)  # the files now belong to this run
            written, n_written = monotonic(), prepared.analyses[0].n_frames
    if n_written != prepared.analyses[0].n_frames:
        write_outputs(request, prepared)


def _observed_analyses(task: RulesFile, prepared: PreparedAnalyses) -> "list[ObservedAnalysis]":
    from mdreel.live.steering.steer import ObservedAnalysis

    def observed(name: str, one: AnalysisRequest, analysis: Any) -> ObservedAnalysis:
        def columns(analysis: Any) -> dict[str, Any]:
            there = one.spec.tabulate(analysis).columns
            return {column.name: column.values for column in there if column.name not in ("frame", "time")}

        return ObservedAnalysis(name, analysis, columns)

    return [
        observed(name, one, analysis)
        for (name, one), analysis in zip(task.analyses.items(), prepared.analyses, strict=True)
    ]


def _connect_engine(task: RulesFile, place: Path, process: "subprocess.Popen[bytes] | None") -> "EngineConnection":
    from mdreel.live.steering.engine_control import RequestControl, SignalControl
    from mdreel.live.steering.rules_file import REQUESTS

    table, folder = task.plan.engine, task.path.absolute().parent
    if task.reach == REQUESTS:
        return RequestControl(place, table.timeout)
    named = None if table.pid_file is None else folder / table.pid_file
    checkpoint = None if table.checkpoint is None else folder / table.checkpoint
    return SignalControl(process or table.pid or named, checkpoint, table.signal_number, table.timeout)


def _step_lookup(request: Request, prepared: PreparedAnalyses) -> Any:
    """Return a function that computes the step of a frame from its time, or reads it from its file."""
    import numpy as np

    from mdreel._core import FrameSet
    from mdreel.live.channels.directory import channel_path
    from mdreel.live.channels.status import Status

    if request.channel is not None:
        time_step = Status.read(channel_path(request.channel)).manifest.time_step
        return (lambda frame, time: round(time / time_step)) if time_step > 0 else None

    def in_file(frame: int, time: float) -> int:
        atom = np.zeros(1, np.uint32)
        return int(prepared.source.read(FrameSet.range(frame, 1, 1), atom).steps[0])

    return in_file
