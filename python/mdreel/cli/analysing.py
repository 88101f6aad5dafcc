"""What all commands that run an analysis have in common: their options, and how they go about it."""

import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from mdreel.cli import execution, following, from_channel, options
from mdreel.cli.exits import CommandError, ExitCode, checking_output, failing_with
from mdreel.cli.frames import check_window, frames_in_window
from mdreel.cli.prepared import Prepared, prepare
from mdreel.cli.recording import Recording, ReportFile, TimingFile
from mdreel.cli.say import say

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.base.analysis import Analysis
    from mdreel.analysis.base.observer import ResultsView
    from mdreel.results.column import Column


@dataclass(frozen=True)
class Table:
    """What an analysis has found, for people and files.

    Attributes
    ----------
    columns : sequence of Column
        The table.
    summary : str
        What is printed where no file is asked for.
    figure : callable
        Draws it under a title.
    """

    columns: "Sequence[Column]"
    summary: str
    figure: "Callable[[str], Figure]"


@dataclass(frozen=True)
class Question:
    """An analysis that a user asks for.

    Attributes
    ----------
    title : str
        What it is called.
    prepare : callable
        Makes the analysis of atoms and trajectory.
    tabulate : callable
        Makes a table of the analysis when it was run.
    facts : dict
        What files say of it besides what all say.
    """

    title: str
    prepare: "Callable[[AtomGroup, Source], Analysis]"
    tabulate: "Callable[[Any], Table]"
    facts: "dict[str, Any]"


@dataclass(frozen=True)
class Request:
    """What a user asks of any analysis; each field is an option."""

    topology: options.Topology
    trajectories: options.Trajectories
    selection: options.Selection
    begin: options.Begin = None
    end: options.End = None
    interval: options.Interval = None
    start: options.Start = None
    stop: options.Stop = None
    step: options.Step = None
    transforms: options.Transforms = None
    center_on: options.CenterOn = "protein"
    output: options.Output = None
    plot: options.Plot = None
    timing: TimingFile = None
    report: ReportFile = None
    force: options.Force = False
    quiet: options.Quiet = False
    verbose: options.Verbose = False
    backend: execution.BackendOption = None
    n_workers: execution.Workers = 0
    n_parts: options.Parts = None
    access: execution.AccessOption = None
    schedule: execution.ScheduleOption = execution.Schedule.DEMAND
    communication: execution.CommunicationOption = None
    scheduler: execution.Scheduler = None
    memory: execution.Memory = None
    checkpoint: execution.CheckpointOption = None
    on_error: options.OnErrorOption = options.OnError.RAISE
    follow: following.Follow = False
    end_frames: following.EndFrames = None
    end_idle: following.EndIdle = None
    end_file: following.EndFile = None
    end_process: following.EndProcess = None
    channel: from_channel.Channel = None
    channel_begin: from_channel.Begin = None
    channel_wait: from_channel.Wait = None
    channel_timeout: from_channel.Timeout = None
    channel_restart: from_channel.Restart = None
    every: from_channel.Every = None

    def check(self) -> None:
        """Refuse what does not go together."""
        check_window((self.begin, self.end, self.interval), (self.start, self.stop, self.step))
        refused = {
            "-b": self.begin,
            "-e": self.end,
            "-dt": self.interval,
            "--n-parts": self.n_parts,
            "--checkpoint": self.checkpoint,
        }
        of_files = {"--follow": self.follow, "--timing": self.timing, "--report": self.report}
        self._from_channel.check(self.trajectories, {**refused, **of_files})
        following.check_following(self.follow, self._ends, self.trajectories, refused)
        if self.every is not None and not self.is_live:
            raise CommandError("--every: with --channel or --follow only", ExitCode.USAGE)
        if self.is_live:
            self._check_live()

    def _check_live(self) -> None:
        """Refuse what results so far cannot have: threads make them, of frames that come once."""
        given = {
            "--backend": self.backend not in (None, execution.Backend.THREADS),
            "--schedule": self.schedule is not execution.Schedule.DEMAND,
            "--on-error": self.on_error is not options.OnError.RAISE,
            "--access": self.access is not None,
            "--communication": self.communication is not None,
            "--scheduler": self.scheduler is not None,
            "--memory": self.memory is not None,
        }
        if any(given.values()):
            names = ", ".join(name for name, is_given in given.items() if is_given)
            raise CommandError(f"{names}: not for results so far, which threads make as frames come", ExitCode.USAGE)

    @property
    def is_live(self) -> bool:
        """Whether outputs are written as frames come."""
        return self.channel is not None or (self.follow and self.every is not None)

    @property
    def input(self) -> str:
        """What is read, for people."""
        return " ".join(map(str, self.trajectories)) if self.channel is None else f"channel {self.channel}"

    @property
    def recording(self) -> Recording:
        """Where it is kept what the run cost."""
        return Recording(self.timing, self.report, self.force)

    def open(self) -> "Source":
        """Open the trajectory."""
        from mdreel.trajectory.read import read

        if self.channel is not None:
            return self._from_channel.open()
        if self.follow:
            return following.open_followed(self.trajectories[0], self._ends)
        return read(self.trajectories)

    def run(self, analyses: "Sequence[Analysis]", source: "Source") -> None:
        """Run analyses in one pass over the frames that are wanted."""
        from mdreel.analysis.base.one_pass import run

        frames = frames_in_window(source.with_on_error(self.on_error.value), self.begin, self.end, self.interval)
        run(
            analyses,
            self.start,
            self.stop,
            self.step,
            frames,
            backend=execution.executor_of(
                self.backend, self.n_workers, self.schedule, self.communication, self.scheduler
            ),
            access=None if self.access is None else self.access.value,
            n_parts=self.n_parts,
            memory=self.memory,
            checkpoint=self.checkpoint,
            progress=not self.quiet,
            on_error=self.on_error.value,
        )

    def live(self, analyses: "Sequence[Analysis]", shown: "Sequence[ResultsView] | None" = None) -> "Iterator[object]":
        """Run analyses over frames as they come; stops now and then with the results so far, which others see."""
        from mdreel.live.stream_results import stream_results

        every = from_channel.EVERY_SECONDS if self.every is None else self.every
        n_workers, progress = self.n_workers or None, not self.quiet
        window = (self.start, self.stop, self.step)
        return stream_results(analyses, *window, every=every, n_workers=n_workers, progress=progress, shown=shown)

    @property
    def _from_channel(self) -> from_channel.FromChannel:
        times = (self.channel_wait, self.channel_timeout, self.channel_restart)
        return from_channel.FromChannel(self.channel, self.channel_begin, *times)

    @property
    def _ends(self) -> dict[str, Any]:
        return {
            "n_frames": self.end_frames,
            "idle": self.end_idle,
            "stop_file": self.end_file,
            "process": self.end_process,
        }


@dataclass(frozen=True)
class Asked:
    """A question, of which atoms, and where the answer goes.

    Attributes
    ----------
    question : Question
        The question.
    selection : str
        The atoms.
    output, plot : Path or None
        Table and picture.
    read, written : tuple of Path
        Further files that it reads, and that it writes.
    """

    question: Question
    selection: str
    output: Path | None
    plot: Path | None
    read: tuple[Path, ...] = ()
    written: tuple[Path, ...] = ()

    @property
    def outputs(self) -> tuple[Path, ...]:
        """All files that it writes."""
        return tuple(path for path in (self.output, self.plot, *self.written) if path is not None)


def answer(request: Request, asked: "Sequence[Asked]") -> None:
    """Run analyses in one pass, and write or print what each has found."""
    check_request(request, asked)

    from mdreel.execution.checkpoint.file import remove_checkpoint

    prepared = prepare(request, asked)
    with failing_with(ExitCode.INPUT):
        environment = request.recording.environment(request.trajectories)
        if request.is_live:
            force = request.force
            for _ in request.live(prepared.analyses, prepared.shown(asked)):
                tell(replace(request, force=force), asked, prepared)
                force = True  # what is there from now on is our own
        else:
            request.run(prepared.analyses, prepared.source)
    if not request.is_live:
        tell(request, asked, prepared)
    for one, analysis in zip(asked, prepared.analyses, strict=True):
        if one.output is None:
            say(one.question.tabulate(analysis).summary)
    timing = prepared.analyses[0].timing.preceded_by("topology", prepared.topology_seconds)
    request.recording.keep(timing, environment, request.trajectories, _title(request, asked))
    if request.checkpoint is not None:
        # Behind all outputs: until each of them is on the disk, the checkpoint is what they can be made from again.
        remove_checkpoint(request.checkpoint)
    if not request.quiet:
        say(timing.summary(), err=True)
        if request.verbose:
            say(timing.table(), err=True)


def tell(request: Request, asked: "Sequence[Asked]", prepared: "Prepared") -> None:
    """Write what each analysis has found, where that is wanted in files."""
    for one, atoms, analysis in zip(asked, prepared.groups, prepared.analyses, strict=True):
        if one.output is not None or one.plot is not None:
            _write(request, one, one.question.tabulate(analysis), analysis, len(atoms))


def _write(request: Request, one: Asked, table: Table, analysis: "Analysis", n_atoms: int) -> None:
    from mdreel.execution.damage import facts_of_damage
    from mdreel.results.figure import save
    from mdreel.results.files import write

    metadata: dict[str, Any] = {
        "title": one.question.title,
        "topology": str(request.topology),
        "trajectory": request.input,
        "selection": one.selection,
        "n_atoms": n_atoms,
        **one.question.facts,
        **facts_of_damage(analysis.damage, request.on_error.value),
    }
    with failing_with(ExitCode.OUTPUT):
        if one.output is not None:
            write(one.output, table.columns, metadata, request.force)
        if one.plot is not None:
            atoms = f"{one.selection} ({n_atoms:,} atoms)"
            save(table.figure(textwrap.shorten(atoms, 48, placeholder=" ...")), one.plot, request.force)


def _title(request: Request, asked: "Sequence[Asked]") -> str:
    """Say what was run, in a few words."""
    names = ", ".join(dict.fromkeys(one.question.title for one in asked))
    if request.channel is not None:
        return f"{names} of {request.input}"
    first, *others = (path.name for path in request.trajectories)
    return f"{names} of {first}" + (f" and {len(others)} more" if others else "")


def check_request(request: Request, asked: "Sequence[Asked]") -> None:
    """Refuse what does not go together, and now what could not be written at the end."""
    request.check()
    for one in asked:
        _check_outputs(one.output, one.plot, request.force)
    request.recording.check([path for one in asked for path in one.outputs])


def _check_outputs(output: Path | None, plot: Path | None, force: bool) -> None:
    from mdreel.results.figure import check_figure
    from mdreel.results.files import check_output

    for path, check in ((output, check_output), (plot, check_figure)):
        if path is not None:
            with checking_output(path):
                check(path, force)


class AnalysisCommand:
    """A command made of a function that says what is asked.

    Parameters
    ----------
    ask : callable
        Is given a `Request` and options of its own, and returns a `Question`.
    selection : str
        The atoms where nobody says.
    short_help : str
        What it does, in the list of commands.
    examples : str
        What its help ends with.
    """

    def __init__(self, ask: Callable[..., Question], selection: str, short_help: str, examples: str) -> None:
        self.ask = ask
        self.selection = selection
        self.short_help = short_help
        self.examples = examples
        self.__name__, self.__doc__ = ask.__name__, ask.__doc__
        shared = list(inspect.signature(Request).parameters.values())
        at = [parameter.name for parameter in shared].index("selection") + 1
        parameters = [*shared[:at], *self.own, *shared[at:]]
        parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
        parameters[at - 1] = parameters[at - 1].replace(default=selection)
        # A channel may stand for them; `Request.check` wants the one or the other.
        files = [parameter.name for parameter in parameters].index("trajectories")
        parameters[files] = parameters[files].replace(default=())
        # What typer reads the options from.
        self.__signature__ = inspect.Signature(parameters)
        self.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}

    @property
    def own(self) -> list[inspect.Parameter]:
        """Its own options, without those of a `Request`."""
        return [parameter for name, parameter in inspect.signature(self.ask).parameters.items() if name != "request"]

    def __call__(self, **values: Any) -> None:
        """Ask, and answer."""
        answer(*self.meant(**values))

    def meant(self, **values: Any) -> tuple[Request, list[Asked]]:
        """What the values of all options together ask for."""
        request = Request(**{field.name: values.pop(field.name) for field in fields(Request)})
        return request, [self.asked(request, **values)]

    def asked(self, request: Request, **own: Any) -> Asked:
        """What the values of its own options ask for, besides a request."""
        read: list[Path] = []
        written: list[Path] = []
        for parameter in self.own:
            path = own.get(parameter.name)
            if isinstance(path, Path):
                is_output = get_args(parameter.annotation)[1].rich_help_panel == options.OUTPUT
                (written if is_output else read).append(path)
        question = self.ask(request, **own)
        return Asked(question, request.selection, request.output, request.plot, tuple(read), tuple(written))


def analysis_command(
    selection: str, short_help: str, examples: str
) -> Callable[[Callable[..., Question]], AnalysisCommand]:
    """Make a command of a function; see `AnalysisCommand`."""
    return lambda ask: AnalysisCommand(ask, selection, short_help, examples)
