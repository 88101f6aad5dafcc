"""What is kept of a run besides its results: its spans, and a page that shows where the time went."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdreel.cli import options
from mdreel.cli.exits import CommandError, ExitCode, checking_output, failing_with

if TYPE_CHECKING:
    from mdreel.timing.timing import Timing

TimingFile = Annotated[
    Path | None,
    typer.Option(
        "--timing",
        metavar="FILE",
        rich_help_panel=options.OUTPUT,
        help="Spans of the run: .jsonl .parquet; or for viewers: .trace.json (Perfetto), .otlp.json (OpenTelemetry), "
        ".cali.json (Hatchet).",
    ),
]
ReportFile = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE",
        rich_help_panel=options.OUTPUT,
        help="Page that shows where the time went: .html",
    ),
]


@dataclass(frozen=True)
class Recording:
    """Where it is kept what a run cost.

    Attributes
    ----------
    timing, report : Path or None
        Spans, and page; None where nobody asks for them.
    force : bool
        Whether files that exist may be replaced.
    """

    timing: Path | None
    report: Path | None
    force: bool

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that are asked for."""
        return tuple(path for path in (self.timing, self.report) if path is not None)

    def check(self, outputs: Sequence[Path]) -> None:
        """Refuse now what could not be written at the end, or would be written over what the run has as `outputs`."""
        if self.timing is not None:
            from mdreel.timing.files import check_record_file

            with checking_output(self.timing):
                check_record_file(self.timing, self.force)
        if self.report is not None:
            from mdreel.timing.report.page import check_report

            with checking_output(self.report):
                check_report(self.report, self.force)
        written = {path.resolve() for path in outputs}
        for path in self.paths:
            if path.resolve() in written:
                raise CommandError(f"{path}: two outputs cannot be one file", ExitCode.USAGE)

    def environment(self, files: Sequence[Path]) -> dict[str, Any]:
        """Look at what the run will run on, before it begins; empty where nothing is kept."""
        if not self.paths:
            return {}
        from mdreel.timing.environment import environment_of

        return environment_of(files)

    def keep(self, timing: "Timing", environment: dict[str, Any], files: Sequence[Path], title: str) -> None:
        """Write what is asked for, after the run."""
        if not self.paths:
            return
        from mdreel.timing.environment import versions
        from mdreel.timing.files import write_record
        from mdreel.timing.limits import measure_limits
        from mdreel.timing.record import Record

        # Some packages are loaded by the run alone.
        record = Record(timing, {**environment, "versions": versions()}, measure_limits(files[0]), title)
        with failing_with(ExitCode.OUTPUT):
            if self.timing is not None:
                write_record(record, self.timing, self.force)
            if self.report is not None:
                from mdreel.timing.report.page import write_report

                write_report(record, self.report, self.force)
