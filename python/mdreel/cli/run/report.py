"""The command ``mdreel report``, which writes the report page of a recorded run."""

from pathlib import Path
from typing import Annotated

from mdreel.cli.errors import ExitCode, checking_output, failing_with
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, Option, command

EXAMPLES = """\
Examples:
  mdreel rmsd -s adk.psf -f adk.xtc -o rmsd.csv --timing spans.jsonl
  mdreel report spans.jsonl -o run.html
"""


@command(examples=EXAMPLES)
def report(
    record: Annotated[Path, Argument(metavar="RECORD", help="File that was written by --timing: .jsonl .parquet")],
    output: Annotated[Path, Option("-o", "--output", metavar="FILE", group=shared.OUTPUT, help="Page to write: .html")],
    force: shared.Force = False,
) -> None:
    """Write a self-contained HTML page that shows the results of a run and where its time was spent."""
    from mdreel.timing.report.page import check_report, write_report

    with checking_output(output):
        check_report(output, force)

    from mdreel.timing.files import read_record

    with failing_with(ExitCode.INPUT):
        recorded = read_record(record)
    with failing_with(ExitCode.OUTPUT):
        write_report(recorded, output, force)
