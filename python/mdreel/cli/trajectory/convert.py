"""The command ``mdreel convert``, which writes a trajectory, or a part of it, in a different format."""

from mdreel.cli.analyses.request import check_window
from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.options import shared
from mdreel.cli.options.declare import command
from mdreel.cli.trajectory import written_files
from mdreel.cli.trajectory.input_files import Files, input_files
from mdreel.cli.trajectory.written_files import WrittenAtoms, check_usage, failing_by_file, report

EXAMPLES = """\
Examples:
  mdreel convert adk.dcd -o adk.xtc
  mdreel convert -s adk.psf -f adk.xtc --select "name CA" -b 1000 -dt 10 -o ca.dcd -c ca.pdb
  mdreel convert -s run.tpr -f run.xtc --transform whole --transform center -o whole.xtc
"""


@command(examples=EXAMPLES)
def convert(
    *,
    files: Files = None,
    trajectories: shared.OptionalTrajectories = None,
    output: written_files.Output,
    topology: written_files.Topology = None,
    index: shared.Index = None,
    selection: written_files.Selection = None,
    structure: written_files.Structure = None,
    begin: shared.Begin = None,
    end: shared.End = None,
    interval: shared.Interval = None,
    start: shared.Start = None,
    stop: shared.Stop = None,
    step: shared.Step = None,
    transforms: shared.Transforms = None,
    center_on: shared.CenterOn = "protein",
    precision: written_files.Precision = None,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
    verbose: shared.Verbose = False,
    n_workers: shared.Workers = 0,
    on_error: shared.OnError = "raise",
) -> None:
    """Write a trajectory, or some of its atoms and frames, in another format."""
    trajectories = input_files(files, trajectories)
    check_window((begin, end, interval), (start, stop, step))
    check_usage(output, precision)
    written_atoms = WrittenAtoms(topology, index, selection, structure)
    written_atoms.check(output, force)
    if transforms and topology is None:
        raise CommandError("--transform needs a topology: give one with -s", ExitCode.USAGE)

    from mdreel.analysis.named_transformations import transformed_by_name
    from mdreel.trajectory.convert import convert as convert_trajectory
    from mdreel.trajectory.open import open as open_trajectory
    from mdreel.trajectory.window import TimeWindow, frames_in_window

    with failing_by_file(trajectories):
        universe = written_atoms.universe(trajectories[0])
        atoms = written_atoms.selected(universe)
        source = open_trajectory(trajectories)
        if topology is not None and universe is not None:
            source = transformed_by_name(source, universe, transforms or (), center_on, topology)
        frames = frames_in_window(source.with_on_error(on_error), TimeWindow(begin, end, interval))
        written = convert_trajectory(
            source,
            output,
            atoms=atoms,
            start=start,
            stop=stop,
            step=step,
            frames=frames,
            precision=precision,
            n_workers=n_workers or None,
            progress=not quiet,
            force=force,
            on_error=on_error,
        )
    written_atoms.write_structure(universe, atoms, written.paths[0], force)
    report(written, quiet, verbose)
