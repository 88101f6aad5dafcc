"""``mdreel report``: a run that was recorded, as a page for a browser."""

from pathlib import Path
from typing import Annotated

import typer

from mdreel.cli import options
from mdreel.cli.exits import ExitCode, checking_output, failing_with

EXAMPLES = """\b
Examples:
  mdreel rmsd -s adk.psf -f adk.xtc -o rmsd.csv --timing spans.jsonl
  mdreel report spans.jsonl -o run.html
"""


def report(
    record: Annotated[
        Path,
        typer.Argument(
            metavar="RECORD", help="What --timing of a run has written: .jsonl .parquet", show_default=False
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", rich_help_panel=options.OUTPUT, help="Page to write: .html"),
    ],
    force: options.Force = False,
) -> None:
    """Show where the time of a run went: one page for a browser, which needs no network."""
    from mdreel.timing.report.page import check_report, write_report

    with checking_output(output):
        check_report(output, force)

    from mdreel.timing.files import read_record

    with failing_with(ExitCode.INPUT):
        recorded = read_record(record)
    with failing_with(ExitCode.OUTPUT):
        write_report(recorded, output, force)
