"""The command ``mdreel concat``, which joins several trajectory files into one file."""

from typing import Annotated, Literal

from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option, command
from mdreel.cli.trajectory import written_files
from mdreel.cli.trajectory.input_files import Files, input_files
from mdreel.cli.trajectory.written_files import WrittenAtoms, check_usage, failing_by_file, report

EXAMPLES = """\
Examples:
  mdreel concat part-*.xtc -o whole.xtc
  mdreel concat -f run.part0001.xtc run.part0002.xtc --overlaps drop -o run.xtc
"""


@command(examples=EXAMPLES)
def concat(
    *,
    files: Files = None,
    trajectories: shared.OptionalTrajectories = None,
    output: written_files.Output,
    overlaps: Annotated[
        Literal["keep", "drop"],
        Option(
            group=shared.INPUT,
            help="If files overlap in time: keep all frames, or end each file where the next file begins.",
        ),
    ] = "keep",
    topology: written_files.Topology = None,
    index: shared.Index = None,
    selection: written_files.Selection = None,
    structure: written_files.Structure = None,
    precision: written_files.Precision = None,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
    verbose: shared.Verbose = False,
    n_workers: shared.Workers = 0,
    on_error: shared.OnError = "raise",
) -> None:
    """Join several trajectories into one file."""
    segments = input_files(files, trajectories)
    check_usage(output, precision)
    written_atoms = WrittenAtoms(topology, index, selection, structure)
    written_atoms.check(output, force)

    from mdreel.trajectory.concat import concat as concat_trajectories

    with failing_by_file(segments):
        universe = written_atoms.universe(segments[0])
        atoms = written_atoms.selected(universe)
        written = concat_trajectories(
            segments,
            output,
            overlaps=overlaps,
            atoms=atoms,
            precision=precision,
            n_workers=n_workers or None,
            progress=not quiet,
            force=force,
            on_error=on_error,
        )
    written_atoms.write_structure(universe, atoms, written.paths[0], force)
    report(written, quiet, verbose)
