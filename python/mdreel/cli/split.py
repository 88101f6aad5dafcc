"""``mdreel split``: a trajectory in several files."""

from pathlib import Path
from typing import Annotated

import typer

from mdreel.cli import options
from mdreel.cli.exits import CommandError, ExitCode
from mdreel.cli.writing import check_usage, failing_by_file, report, selected

EXAMPLES = """\b
Examples:
  mdreel split -f adk.xtc -n 16 -o part.xtc
  mdreel split -f adk.xtc --frames 1000 -o part.dcd
"""


def split(
    trajectories: options.Trajectories,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            rich_help_panel=options.OUTPUT,
            help=(
                "What the files are called: part.xtc stands for part-1.xtc, part-2.xtc, ...; "
                f"{' '.join(options.ENDINGS)}"
            ),
        ),
    ],
    n_parts: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--n-parts",
            metavar="N",
            min=1,
            rich_help_panel=options.OUTPUT,
            help="Number of files; their numbers of frames differ by at most one.",
        ),
    ] = None,
    frames_per_part: Annotated[
        int | None,
        typer.Option(
            "--frames", metavar="N", min=1, rich_help_panel=options.OUTPUT, help="Frames in each file but the last."
        ),
    ] = None,
    topology: options.OptionalTopology = None,
    selection: options.OptionalSelection = None,
    start: options.Start = None,
    stop: options.Stop = None,
    precision: options.Precision = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    n_workers: options.Threads = 0,
) -> None:
    """Write a trajectory to several files of consecutive frames."""
    if (n_parts is None) == (frames_per_part is None):
        raise CommandError("give either -n (number of files) or --frames (frames in each)", ExitCode.USAGE)
    check_usage(output, precision, topology, selection)

    from mdreel.trajectory.read import read
    from mdreel.trajectory.split import split as split_trajectory

    with failing_by_file(trajectories):
        written = split_trajectory(
            read(trajectories),
            output,
            n_parts=n_parts,
            frames_per_part=frames_per_part,
            atoms=selected(topology, selection),
            start=start,
            stop=stop,
            precision=precision,
            n_workers=n_workers or None,
            progress=not quiet,
            force=force,
        )
    report(written, quiet, verbose)
