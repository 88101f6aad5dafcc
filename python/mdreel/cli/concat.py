"""``mdreel concat``: several files as one."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mdreel.cli import options
from mdreel.cli.writing import check_usage, failing_by_file, report, selected

EXAMPLES = """\b
Examples:
  mdreel concat part-*.xtc -o whole.xtc
  mdreel concat run.part0001.xtc run.part0002.xtc --overlaps drop -o run.xtc
"""


class Overlaps(StrEnum):
    """What is done where the times of files overlap."""

    KEEP = "keep"
    DROP = "drop"


def concat(
    segments: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Trajectories, in their order.")],
    output: options.Written,
    overlaps: Annotated[
        Overlaps,
        typer.Option(
            rich_help_panel=options.INPUT,
            help="Where files overlap in time: keep all frames, or end each file where the next one begins.",
        ),
    ] = Overlaps.KEEP,
    topology: options.OptionalTopology = None,
    selection: options.OptionalSelection = None,
    precision: options.Precision = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    n_workers: options.Threads = 0,
    on_error: options.OnErrorOption = options.OnError.RAISE,
) -> None:
    """Write several trajectories to one file, one after another."""
    check_usage(output, precision, topology, selection)

    from mdreel.trajectory.concat import concat as concat_trajectories

    with failing_by_file(segments):
        written = concat_trajectories(
            segments,
            output,
            overlaps=overlaps.value,
            atoms=selected(topology, selection),
            precision=precision,
            n_workers=n_workers or None,
            progress=not quiet,
            force=force,
            on_error=on_error.value,
        )
    report(written, quiet, verbose)
