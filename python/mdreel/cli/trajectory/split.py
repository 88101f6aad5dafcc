"""The command ``mdreel split``, which splits a trajectory into several files."""

from pathlib import Path
from typing import Annotated

from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option, command
from mdreel.cli.trajectory import written_files
from mdreel.cli.trajectory.input_files import Files, input_files
from mdreel.cli.trajectory.written_files import WrittenAtoms, check_usage, failing_by_file, report

EXAMPLES = """\
Examples:
  mdreel split -f adk.xtc --n-parts 16 -o part.xtc
  mdreel split -f adk.xtc --frames 1000 -o part.dcd
"""


@command(examples=EXAMPLES)
def split(
    *,
    files: Files = None,
    trajectories: shared.OptionalTrajectories = None,
    output: Annotated[
        Path,
        Option(
            "-o",
            "--output",
            metavar="FILE",
            group=shared.OUTPUT,
            help=(
                f"Name of the files: part.xtc gives part-1.xtc, part-2.xtc, ...; {' '.join(written_files.EXTENSIONS)}"
            ),
        ),
    ],
    n_parts: Annotated[
        int | None,
        Option(
            metavar="N",
            minimum=1,
            group=shared.OUTPUT,
            help="Number of files. Their numbers of frames differ by at most one.",
        ),
    ] = None,
    frames_per_part: Annotated[
        int | None,
        Option("--frames", metavar="N", minimum=1, group=shared.OUTPUT, help="Frames in each file except the last."),
    ] = None,
    topology: written_files.Topology = None,
    index: shared.Index = None,
    selection: written_files.Selection = None,
    structure: written_files.Structure = None,
    start: shared.Start = None,
    stop: shared.Stop = None,
    precision: written_files.Precision = None,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
    verbose: shared.Verbose = False,
    n_workers: shared.Workers = 0,
) -> None:
    """Write a trajectory to several files of consecutive frames."""
    trajectories = input_files(files, trajectories)
    if (n_parts is None) == (frames_per_part is None):
        raise CommandError("give either --n-parts (number of files) or --frames (frames in each)", ExitCode.USAGE)
    check_usage(output, precision)
    written_atoms = WrittenAtoms(topology, index, selection, structure)
    written_atoms.check(output, force)

    from mdreel.trajectory.open import open as open_trajectory
    from mdreel.trajectory.split import split as split_trajectory

    with failing_by_file(trajectories):
        universe = written_atoms.universe(trajectories[0])
        atoms = written_atoms.selected(universe)
        written = split_trajectory(
            open_trajectory(trajectories),
            output,
            n_parts=n_parts,
            frames_per_part=frames_per_part,
            atoms=atoms,
            start=start,
            stop=stop,
            precision=precision,
            n_workers=n_workers or None,
            progress=not quiet,
            force=force,
        )
    written_atoms.write_structure(universe, atoms, written.paths[0], force)
    report(written, quiet, verbose)
