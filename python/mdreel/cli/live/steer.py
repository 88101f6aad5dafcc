"""``mdreel steer``: rules on live results of a simulation, and what is done with it when they hold."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Annotated, Any

import click

from mdreel.cli.analyses.request import AnalysisRequest, Request
from mdreel.cli.analyses.runner import PreparedAnalyses, prepare, write_outputs
from mdreel.cli.errors import CommandError, ExitCode, failing_with
from mdreel.cli.live.rules_file import RulesFile, read_steering, schema_of_steering
from mdreel.cli.live.running_input import EVERY_SECONDS, live_results, open_input
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, Option, command
from mdreel.cli.output import echo, echo_json

if TYPE_CHECKING:
    import subprocess

    from mdreel.live.steering.engine_control import Reach
    from mdreel.live.steering.steer import Observed, Steered

EXAMPLES = """\
Examples:
  mdreel steer rules.toml -s md.psf --channel run1 --wait 60
  mdreel steer rules.toml -s md.psf --channel run1 --dry-run --log dry-run.jsonl
  mdreel steer rules.toml -s md.gro -f md.xtc --follow -- gmx mdrun -deffnm md
  mdreel steer --schema > steering.schema.json

Rules:
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

_LOOK_SECONDS = 0.02


@command(examples=EXAMPLES, usage="[OPTIONS] RULES [-- ENGINE...]")
def steer(
    path: Annotated[Path | None, Argument(metavar="RULES", help="The rules, a TOML file.")] = None,
    engine: Annotated[list[str] | None, Argument(is_hidden=True)] = None,
    schema: Annotated[
        bool, Option("--schema", group=shared.INPUT, help="Print the schema of rules (JSON Schema).")
    ] = False,
    topology: shared.OptionalTopology = None,
    trajectories: shared.OptionalTrajectories = None,
    log: Annotated[
        Path | None,
        Option(
            "--log",
            metavar="FILE",
            group=STEERING,
            help="The audit log, JSON lines.  [default: steering.jsonl, in the channel or beside the trajectory]",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        Option("--dry-run", group=STEERING, help="Only write to the log what would be done."),
    ] = False,
    follow: shared.Follow = False,
    end_frames: shared.EndFrames = None,
    end_idle: shared.EndIdle = None,
    end_file: shared.EndFile = None,
    end_process: shared.EndProcess = None,
    channel: shared.Channel = None,
    channel_begin: shared.ChannelBegin = None,
    channel_wait: shared.ChannelWait = None,
    channel_timeout: shared.ChannelTimeout = None,
    channel_restart: shared.ChannelRestart = None,
    every: shared.Every = None,
    n_workers: shared.OptionalWorkers = None,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
) -> None:
    """Hold what analyses find in a running simulation against rules, frame by frame; stop it, fork it, ... by them.

    What follows -- is an engine that is started: its process ends with the simulation.
    """
    if schema:
        echo_json(schema_of_steering(), indent=2)
        return
    if follow and engine and (end_frames, end_idle, end_file, end_process) == (None, None, None, None):
        end_process = os.getpid()  # as long as the engine has no number, one that passes all checks
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
        "channel_restart": channel_restart,
        "every": every,
        "n_workers": n_workers,
        "force": force,
        "quiet": quiet,
    }
    task = read_steering(path, bool(engine), **of_command)
    _steer(task, engine or [], log, dry_run)


def _steer(task: RulesFile, command: list[str], log: Path | None, dry_run: bool) -> None:
    import MDAnalysis  # noqa: F401 (this takes seconds, in which a simulation would run away)

    from mdreel.live.channels.directory import place_of
    from mdreel.live.steering.log import FILE

    request = task.request
    with failing_with(ExitCode.INPUT):
        place = request.trajectories[0].absolute() if request.channel is None else place_of(request.channel)
    file = log or (place.parent if request.channel is None else place) / FILE
    process: subprocess.Popen[bytes] | None = None
    with ExitStack() as resources:
        if command:
            with failing_with(ExitCode.INPUT):
                process = resources.enter_context(_begun(command, request, place))
        try:
            found = _steered(task, place, process, file, dry_run)
        except CommandError as error:
            if process is not None and process.poll() is None:
                echo(f"mdreel: the simulation goes on without steering: {error}", err=True)
            raise
    if not request.quiet:
        done = f"{found.n_acted} actions done, {found.n_failed} failed"
        if dry_run:
            done = "nothing done, as this was a dry run"
        echo(f"{found.n_frames:,} frames, {found.n_fired} firings, {done}: {file}", err=True)
    if found.n_failed:
        raise CommandError(f"{file}: {found.n_failed} actions have failed", ExitCode.OUTPUT)
    if process is not None and process.returncode and not found.is_stopped:  # GROMACS ends with 1 when it is stopped
        echo(f"mdreel: the engine has ended with status {process.returncode}", err=True)
        raise click.exceptions.Exit(process.returncode if process.returncode > 0 else 128 - process.returncode)


def _steered(
    task: RulesFile, place: Path, process: "subprocess.Popen[bytes] | None", log: Path, dry_run: bool
) -> "Steered":
    """Steer to the end."""
    from mdreel.live.steering.log import AuditLog
    from mdreel.live.steering.steer import Steered
    from mdreel.live.steering.steer import steer as steer_by_rules

    request, analyses = task.request, list(task.analyses.values())
    if process is not None and request.end_process == os.getpid():
        request = replace(request, end_process=process.pid)
    prepared = prepare(request, analyses, open_input)
    found = Steered()
    with ExitStack() as resources:
        with failing_with(ExitCode.OUTPUT):
            audit = resources.enter_context(AuditLog(log))
        with failing_with(ExitCode.INPUT):
            looks = steer_by_rules(
                _turns(request, prepared),
                _observed(task, prepared),
                task.plan,
                _reach(task, place, process),
                audit,
                dry_run=dry_run,
                folder=task.path.absolute().parent,
                input=str(place),
                step_of=_step_of(request, prepared),
            )
            for so_far in resources.enter_context(closing(looks)):
                found = so_far
    return found


@contextmanager
def _begun(command: list[str], request: Request, place: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """Start the engine, and wait until what is there is its own, and not of a run before."""
    from mdreel.live.steering.engine_process import engine

    before = _state_of(place)
    with engine(command) as process:
        if request.channel is not None:
            _await_channel(place, request, process)
        else:
            _await_change(place, before, process)
        yield process


def _await_channel(place: Path, request: Request, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the engine has opened its channel: one of the name that is there may be that of a run before."""
    from mdreel.live.channels.status import Status

    until = None if request.channel_wait is None else monotonic() + request.channel_wait
    while process.poll() is None and (until is None or monotonic() < until):
        try:
            if Status.of(place).state == "running":
                return
        except FileNotFoundError:
            pass
        sleep(_LOOK_SECONDS)


def _state_of(path: Path) -> tuple[int, int, int] | None:
    try:
        facts = path.stat()
    except FileNotFoundError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def _await_change(path: Path, before: tuple[int, int, int] | None, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the engine has touched a trajectory that was there: it may be that of a run before, and go away."""
    while before is not None and _state_of(path) == before and process.poll() is None:
        sleep(_LOOK_SECONDS)


def _turns(request: Request, prepared: PreparedAnalyses) -> Iterator[None]:
    """Run the analyses over frames as they come; write their outputs now and then, and at the end."""
    every = EVERY_SECONDS if request.every is None else request.every
    written, n_written = monotonic(), -1
    for _ in live_results(request, prepared, 0.0):
        yield
        if monotonic() - written >= every:
            write_outputs(request, prepared)
            request = replace(request, force=True)  # from now on, the files are those of this run
            written, n_written = monotonic(), prepared.analyses[0].n_frames
    if n_written != prepared.analyses[0].n_frames:
        write_outputs(request, prepared)


def _observed(task: RulesFile, prepared: PreparedAnalyses) -> "list[Observed]":
    from mdreel.live.steering.steer import Observed

    def observed(name: str, one: AnalysisRequest, analysis: Any) -> Observed:
        def columns(analysis: Any) -> dict[str, Any]:
            there = one.spec.tabulate(analysis).columns
            return {column.name: column.values for column in there if column.name not in ("frame", "time")}

        return Observed(name, analysis, columns)

    return [
        observed(name, one, analysis)
        for (name, one), analysis in zip(task.analyses.items(), prepared.analyses, strict=True)
    ]


def _reach(task: RulesFile, place: Path, process: "subprocess.Popen[bytes] | None") -> "Reach":
    from mdreel.live.steering.engine_control import ByRequests, BySignal
    from mdreel.live.steering.rules_file import REQUESTS

    table, folder = task.plan.engine, task.path.absolute().parent
    if task.reach == REQUESTS:
        return ByRequests(place, table.timeout)
    named = None if table.pid_file is None else folder / table.pid_file
    checkpoint = None if table.checkpoint is None else folder / table.checkpoint
    return BySignal(process or table.pid or named, checkpoint, table.signal_number, table.timeout)


def _step_of(request: Request, prepared: PreparedAnalyses) -> Any:
    """Return what tells the step of a frame: from its time, where the channel says how long a step is; or its file."""
    import numpy as np

    from mdreel._core import FrameSet
    from mdreel.live.channels.directory import place_of
    from mdreel.live.channels.status import Status

    if request.channel is not None:
        time_step = Status.of(place_of(request.channel)).manifest.time_step
        return (lambda frame, time: round(time / time_step)) if time_step > 0 else None

    def in_file(frame: int, time: float) -> int:
        atom = np.zeros(1, np.uint32)
        return int(prepared.source.read(FrameSet.range(frame, 1, 1), atom).steps[0])

    return in_file
