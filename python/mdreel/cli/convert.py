"""``mdreel convert``: a trajectory, or a part of it, in another format."""

from mdreel.cli import options
from mdreel.cli.exits import CommandError, ExitCode
from mdreel.cli.frames import check_window, frames_in_window
from mdreel.cli.writing import check_usage, failing_by_file, report, selected

EXAMPLES = """\b
Examples:
  mdreel convert -f adk.dcd -o adk.xtc
  mdreel convert -s adk.psf -f adk.xtc --select "name CA" -b 1000 -dt 10 -o ca.dcd
  mdreel convert -s run.tpr -f run.xtc --transform whole --transform center -o whole.xtc
"""


def convert(
    trajectories: options.Trajectories,
    output: options.Written,
    topology: options.OptionalTopology = None,
    selection: options.OptionalSelection = None,
    begin: options.Begin = None,
    end: options.End = None,
    interval: options.Interval = None,
    start: options.Start = None,
    stop: options.Stop = None,
    step: options.Step = None,
    transforms: options.Transforms = None,
    center_on: options.CenterOn = "protein",
    precision: options.Precision = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    n_workers: options.Threads = 0,
    on_error: options.OnErrorOption = options.OnError.RAISE,
) -> None:
    """Write a trajectory, or some of its atoms and frames, in another format."""
    check_window((begin, end, interval), (start, stop, step))
    check_usage(output, precision, topology, selection)
    if transforms and topology is None:
        raise CommandError("--transform needs a topology: give one with -s", ExitCode.USAGE)

    from mdreel.cli.system import open_topology
    from mdreel.cli.transforming import transformed
    from mdreel.trajectory.convert import convert as convert_trajectory
    from mdreel.trajectory.read import read

    with failing_by_file(trajectories):
        source = read(trajectories)
        if topology is not None and transforms:
            source = transformed(source, open_topology(topology), transforms, center_on, topology)
        frames = frames_in_window(source.with_on_error(on_error.value), begin, end, interval)
        written = convert_trajectory(
            source,
            output,
            atoms=selected(topology, selection),
            start=start,
            stop=stop,
            step=step,
            frames=frames,
            precision=precision,
            n_workers=n_workers or None,
            progress=not quiet,
            force=force,
            on_error=on_error.value,
        )
    report(written, quiet, verbose)
