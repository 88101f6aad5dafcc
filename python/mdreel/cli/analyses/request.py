"""Requests for analyses, with options that all analyses share, and options that each analysis adds."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.options import shared
from mdreel.cli.options.declare import SectionedCommand, click_parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.base.analysis import Analysis
    from mdreel.results.column import Column


@dataclass(frozen=True)
class Table:
    """The results of an analysis as a table, as text and as a figure.

    Attributes
    ----------
    columns : sequence of Column
        The table.
    summary : str
        The text that is printed if no output file is specified.
    figure : callable
        Function that takes a title and draws the results.
    """

    columns: "Sequence[Column]"
    summary: str
    figure: "Callable[[str], Figure]"

    @classmethod
    def of(cls, analysis: "Analysis", *summary: str, columns: "Sequence[Column] | None" = None) -> "Table":
        """Return the columns of an analysis, or others, with the lines of a summary and the plot of the analysis."""
        found = analysis.columns() if columns is None else columns
        return cls(found, "\n".join(summary), lambda title: analysis.plot(title=title))


@dataclass(frozen=True)
class AnalysisSpec:
    """Analysis that belongs to a command or a recipe.

    Attributes
    ----------
    title : str
        Title of the analysis.
    prepare : callable
        Function that creates the analysis from atoms and a trajectory.
    tabulate : callable
        Function that returns a table for the finished analysis.
    facts : dict
        Metadata that is specific to this analysis, for the output file.
    reads_twice : bool
        Whether `prepare` reads all frames, which requires a complete trajectory.
    write : callable, optional
        Function that writes all output files that are not tables or plots. It is called once, after the run.
    beside_files : callable, optional
        Function that returns results that are not in the table. They are printed as text if there is an output file.
    watch : callable, optional
        Function that returns the columns that `mdreel watch` shows. By default, these are the columns of the table.
    """

    title: str
    prepare: "Callable[[AtomGroup, Source], Analysis]"
    tabulate: "Callable[[Any], Table]"
    facts: "dict[str, Any]"
    reads_twice: bool = False
    write: "Callable[[Any], None] | None" = None
    beside_files: "Callable[[Any], str] | None" = None
    watch: "Callable[[Any], Sequence[Column]] | None" = None


@dataclass(frozen=True)
class Request:
    """The values of the options that all analyses share."""

    topology: shared.Topology
    trajectories: shared.Trajectories
    selection: shared.Selection
    index: shared.Index = None
    begin: shared.Begin = None
    end: shared.End = None
    interval: shared.Interval = None
    start: shared.Start = None
    stop: shared.Stop = None
    step: shared.Step = None
    transforms: shared.Transforms = None
    center_on: shared.CenterOn = "protein"
    output: shared.Output = None
    plot: shared.Plot = None
    units: shared.Units = "A"
    time_unit: shared.TimeUnit = None
    timing: shared.TimingFile = None
    report: shared.ReportFile = None
    force: shared.Force = False
    quiet: shared.Quiet = False
    verbose: shared.Verbose = False
    n_workers: shared.Workers = 0
    backend: shared.Backend = None
    n_parts: shared.Parts = None
    access: shared.Access = None
    schedule: shared.Schedule = "demand"
    communication: shared.Communication = None
    scheduler: shared.Scheduler = None
    memory: shared.Memory = None
    checkpoint: shared.Checkpoint = None
    on_error: shared.OnError = "raise"
    follow: shared.Follow = False
    end_frames: shared.EndFrames = None
    end_idle: shared.EndIdle = None
    end_file: shared.EndFile = None
    end_process: shared.EndProcess = None
    channel: shared.Channel = None
    channel_begin: shared.ChannelBegin = None
    channel_wait: shared.ChannelWait = None
    channel_timeout: shared.ChannelTimeout = None
    channel_new_run: shared.ChannelNewRun = False
    channel_restart: shared.ChannelRestart = None
    channel_on_late: shared.ChannelOnLate = None
    every: shared.Every = None

    def check(self) -> None:
        """Reject options that contradict each other."""
        check_window((self.begin, self.end, self.interval), (self.start, self.stop, self.step))
        whole = {
            "-b": self.begin,
            "-e": self.end,
            "-dt": self.interval,
            "--n-parts": self.n_parts,
            "--checkpoint": self.checkpoint,
        }
        self._check_channel({**whole, "--follow": self.follow, "--timing": self.timing, "--report": self.report})
        self._check_following(whole)
        if self.every is not None and not self.is_live:
            raise CommandError("--every requires --channel or --follow", ExitCode.USAGE)
        if self.is_live:
            self._check_live()

    def _check_channel(self, refused: Mapping[str, object]) -> None:
        """Reject channel options if there is no channel, and file options if there is a channel."""
        if self.channel is None:
            settings = {
                "--start-at": self.channel_begin,
                "--wait": self.channel_wait,
                "--timeout": self.channel_timeout,
                "--restart": self.channel_restart,
                "--new-run": self.channel_new_run or None,
                "--on-late": self.channel_on_late,
            }
            for name, setting in settings.items():
                if setting is not None:
                    raise CommandError(f"{name} requires --channel", ExitCode.USAGE)
            if not self.trajectories:
                message = "Missing option '-f' / '--trajectory', or '--channel' (see --help)"
                raise CommandError(message, ExitCode.USAGE)
            return
        if self.trajectories:
            raise CommandError("give either --trajectory or --channel, not both", ExitCode.USAGE)
        for name, value in refused.items():
            if value is not None and value is not False:
                raise CommandError(f"{name} requires trajectory files; leave it out with --channel", ExitCode.USAGE)
        self.first_frame()

    def _check_following(self, refused: Mapping[str, object]) -> None:
        """Reject ``--end-...`` without ``--follow``, and ``--follow`` without it or with options for complete files."""
        ends = list(self.ends.values())
        if not self.follow:
            if any(end is not None for end in ends):
                names = "--end-frames, --end-idle, --end-file, --end-process"
                raise CommandError(f"{names} require --follow", ExitCode.USAGE)
            return
        if all(end is None for end in ends):
            message = "--follow needs an end: --end-frames, --end-idle, --end-file or --end-process"
            raise CommandError(message, ExitCode.USAGE)
        if len(self.trajectories) > 1:
            raise CommandError(f"--follow accepts one trajectory, not {len(self.trajectories)}", ExitCode.USAGE)
        for name, value in refused.items():
            if value is not None:
                message = f"{name} requires a complete trajectory; leave it out with --follow"
                raise CommandError(message, ExitCode.USAGE)

    def _check_live(self) -> None:
        """Reject options that are not supported by live analyses, which run in threads and read each frame once."""
        given = {
            "--backend": self.backend not in (None, "threads"),
            "--schedule": self.schedule != "demand",
            "--on-error": self.on_error != "raise",
            "--access": self.access is not None,
            "--communication": self.communication is not None,
            "--scheduler": self.scheduler is not None,
            "--memory": self.memory is not None,
        }
        if any(given.values()):
            names = ", ".join(name for name, is_given in given.items() if is_given)
            raise CommandError(
                f"{names}: not available for live results; threads compute them as frames arrive", ExitCode.USAGE
            )

    @property
    def is_live(self) -> bool:
        """Whether outputs are written while frames arrive."""
        return self.channel is not None or (self.follow and self.every is not None)

    @property
    def ends(self) -> dict[str, Any]:
        """Arguments of `mdreel.trajectory.follow` that define the end of a file."""
        return {
            "n_frames": self.end_frames,
            "idle": self.end_idle,
            "stop_file": self.end_file,
            "process": self.end_process,
        }

    @property
    def input(self) -> str:
        """Description of the input."""
        return " ".join(map(str, self.trajectories)) if self.channel is None else f"channel {self.channel}"

    def first_frame(self) -> "str | tuple[str, int | float]":
        """Return the first frame of the channel, in the form that `mdreel.live.channel` expects."""
        text = self.channel_begin or "earliest"
        if text in ("earliest", "latest"):
            return text
        word, _, number = text.partition(":")
        try:
            return word, float(number) if word == "time" else int(number)
        except ValueError:
            message = f"--start-at must be earliest, latest, sequence:N, step:N or time:PS, not {text!r}"
            raise CommandError(message, ExitCode.USAGE) from None


@dataclass(frozen=True)
class AnalysisRequest:
    """An analysis with its atoms and its output files.

    Attributes
    ----------
    spec : AnalysisSpec
        The analysis.
    selection : str
        Selection that defines its atoms.
    tables, plots : tuple of Path
        Output files for its results.
    read, written : tuple of Path
        Other files that it reads and writes.
    """

    spec: AnalysisSpec
    selection: str
    tables: tuple[Path, ...] = ()
    plots: tuple[Path, ...] = ()
    read: tuple[Path, ...] = ()
    written: tuple[Path, ...] = ()

    @property
    def outputs(self) -> tuple[Path, ...]:
        """All files that the analysis writes."""
        return (*self.tables, *self.plots, *self.written)


Runner = Callable[[Request, Sequence[AnalysisRequest]], None]
"""A function that runs analyses in a single pass. The main command stores it as the object of Click's context."""


class AnalysisCommand(SectionedCommand):
    """A command that is created from a function that returns an `AnalysisSpec`.

    Parameters
    ----------
    specify : callable
        Function that takes a `Request` and the analysis's own options, and returns an `AnalysisSpec`.
    selection : str
        The default selection.
    examples : str
        Examples that are shown at the end of the help.
    """

    def __init__(self, specify: Callable[..., AnalysisSpec], selection: str, examples: str) -> None:
        self.specify = specify
        self.selection = selection
        super().__init__(
            specify.__name__.replace("_", "-"),
            callback=click.pass_context(self._run),
            params=[click_parameter(one) for one in self.parameters],
            help=inspect.getdoc(specify),
            epilog=examples,
            hides_advanced=True,
        )

    @property
    def own(self) -> list[inspect.Parameter]:
        """Options that only this analysis has, without the options of a `Request`."""
        return [one for name, one in inspect.signature(self.specify).parameters.items() if name != "request"]

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """All options of the command. The analysis's own options follow the selection."""
        found = []
        for one in inspect.signature(Request).parameters.values():
            if one.name == "selection":
                found += [one.replace(default=self.selection), *self.own]
            else:
                # A channel can replace the trajectory; `Request.check` requires one of them.
                found.append(one.replace(default=()) if one.name == "trajectories" else one)
        return found

    def parse(self, **values: Any) -> tuple[Request, list[AnalysisRequest]]:
        """Return the request that corresponds to the values of all options."""
        request = Request(**{field.name: values.pop(field.name) for field in fields(Request)})
        return request, [self.request_of(request, **values)]

    def request_of(self, request: Request, **own: Any) -> AnalysisRequest:
        """Return the request for an analysis that corresponds to the values of its own options."""
        read: list[Path] = []
        written: list[Path] = []
        for parameter in self.own:
            path = own.get(parameter.name)
            if isinstance(path, Path):
                is_output = get_args(parameter.annotation)[1].group == shared.OUTPUT
                (written if is_output else read).append(path)
        spec = _in_shown_units(self.specify(request, **own), request)
        tables, plots = by_ending(request.output, request.plot)
        if request.index is not None:
            read.append(request.index)
        return AnalysisRequest(spec, request.selection, tables, plots, tuple(read), tuple(written))

    def _run(self, context: click.Context, /, **values: Any) -> None:
        run: Runner = context.obj
        run(*self.parse(**values))


def by_ending(output: list[Path] | None, plot: Path | None) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Sort the files of ``-o`` and ``--plot`` into files that receive a table and files that receive a plot."""
    from mdreel.results.figure import EXTENSIONS

    tables = tuple(path for path in output or () if path.suffix.lower() not in EXTENSIONS)
    plots = tuple(path for path in output or () if path.suffix.lower() in EXTENSIONS)
    return tables, plots if plot is None else (*plots, plot)


def _in_shown_units(spec: AnalysisSpec, request: Request) -> AnalysisSpec:
    """Return an analysis whose table, summary and figure use the units of ``--units`` and ``-tu``."""
    from mdreel.results.shown_units import ShownUnits

    shown = ShownUnits(request.units, request.time_unit)
    if shown.is_default:
        return spec

    def tabulate(analysis: Any) -> Table:
        table = spec.tabulate(analysis)
        return Table(
            shown.columns(table.columns), shown.text(table.summary), lambda title: shown.figure(table.figure(title))
        )

    def beside_files(analysis: Any) -> str:
        return "" if spec.beside_files is None else shown.text(spec.beside_files(analysis))

    return replace(
        spec,
        tabulate=tabulate,
        beside_files=spec.beside_files and beside_files,
        facts={**spec.facts, "units_of_settings": "Å, ps"},
    )


def analysis_command(selection: str, examples: str) -> Callable[[Callable[..., AnalysisSpec]], AnalysisCommand]:
    """Create a command from a function; see `AnalysisCommand`."""
    return lambda specify: AnalysisCommand(specify, selection, examples)


def check_window(by_time: tuple[Any, ...], by_frame: tuple[Any, ...]) -> None:
    """Reject frames that are selected both by time (begin, end, interval, in ps) and by number (start, stop, step)."""
    if any(limit is not None for limit in by_time) and any(limit is not None for limit in by_frame):
        message = "choose frames by time (-b -e -dt) or by number (--start --stop --step), not by both"
        raise CommandError(message, ExitCode.USAGE)
    if by_time[2] is not None and not by_time[2] > 0:
        raise CommandError(f"-dt must be more than 0 ps, not {by_time[2]:g}", ExitCode.USAGE)


def check_reference(reference: Path | None, reference_frame: int | None) -> None:
    """Reject a reference structure that is combined with a reference frame."""
    if reference is not None and reference_frame is not None:
        raise CommandError("give either --reference or --ref-frame, not both", ExitCode.USAGE)
