"""``mdreel concat``: several trajectory files joined into one."""

from pathlib import Path
from typing import Annotated, Literal

from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, Option, command
from mdreel.cli.trajectory import written_files
from mdreel.cli.trajectory.written_files import check_usage, failing_by_file, report, selected

EXAMPLES = """\
Examples:
  mdreel concat part-*.xtc -o whole.xtc
  mdreel concat run.part0001.xtc run.part0002.xtc --overlaps drop -o run.xtc
"""


@command(examples=EXAMPLES)
def concat(
    segments: Annotated[list[Path], Argument(metavar="FILE...", help="Trajectories, in the order to join them.")],
    output: written_files.Output,
    overlaps: Annotated[
        Literal["keep", "drop"],
        Option(
            group=shared.INPUT,
            help="Where files overlap in time: keep all frames, or end each file where the next one begins.",
        ),
    ] = "keep",
    topology: written_files.Topology = None,
    selection: written_files.Selection = None,
    precision: written_files.Precision = None,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
    verbose: shared.Verbose = False,
    n_workers: shared.Workers = 0,
    on_error: shared.OnError = "raise",
) -> None:
    """Join several trajectories into one file."""
    check_usage(output, precision, topology, selection)

    from mdreel.trajectory.concat import concat as concat_trajectories

    with failing_by_file(segments):
        written = concat_trajectories(
            segments,
            output,
            overlaps=overlaps,
            atoms=selected(topology, selection),
            precision=precision,
            n_workers=n_workers or None,
            progress=not quiet,
            force=force,
            on_error=on_error,
        )
    report(written, quiet, verbose)
