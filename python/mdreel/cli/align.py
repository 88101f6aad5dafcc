"""``mdreel align``: a trajectory with each frame superposed on a reference."""

from mdreel.cli import options
from mdreel.cli.frames import check_window, frames_in_window
from mdreel.cli.rmsd import MassTolerance, MatchAtoms, Reference, ReferenceFrame, WeightsOption, check_reference
from mdreel.cli.weights import Weights
from mdreel.cli.writing import check_usage, failing_by_file, report

EXAMPLES = """\b
Examples:
  mdreel align -s adk.psf -f adk.dcd -o aligned.xtc
  mdreel align -s adk.psf -f adk.xtc --select backbone --reference crystal.pdb -o aligned.dcd
"""


def align(
    topology: options.Topology,
    trajectories: options.Trajectories,
    output: options.Written,
    selection: options.Selection = "protein and name CA",
    reference: Reference = None,
    reference_frame: ReferenceFrame = None,
    weights: WeightsOption = Weights.NONE,
    match_atoms: MatchAtoms = True,
    tol_mass: MassTolerance = 0.1,
    begin: options.Begin = None,
    end: options.End = None,
    interval: options.Interval = None,
    start: options.Start = None,
    stop: options.Stop = None,
    step: options.Step = None,
    transforms: options.Transforms = None,
    center_on: options.CenterOn = "protein",
    force: options.Force = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    n_workers: options.Threads = 0,
    on_error: options.OnErrorOption = options.OnError.RAISE,
) -> None:
    """Write a trajectory with each frame superposed on a reference, all atoms moved along."""
    check_window((begin, end, interval), (start, stop, step))
    check_reference(reference, reference_frame)
    check_usage(output, None, topology, None)

    from mdreel.analysis.align import AlignTraj
    from mdreel.cli.system import open_topology, select
    from mdreel.cli.transforming import transformed
    from mdreel.trajectory.read import read

    with failing_by_file(trajectories):
        source = read(trajectories)
        universe = open_topology(topology)
        select(universe, selection, topology)
        source = transformed(source, universe, transforms, center_on, topology)
        frames = frames_in_window(source.with_on_error(on_error.value), begin, end, interval)
        aligned = AlignTraj(
            universe,
            None if reference is None else open_topology(reference),
            selection,
            output,
            "mass" if weights is Weights.MASS else None,
            reference_frame or 0,
            tol_mass=tol_mass,
            match_atoms=match_atoms,
            force=force,
            trajectory=source,
        ).run(
            start,
            stop,
            step,
            frames,
            n_workers=n_workers or None,
            progress=not quiet,
            on_error=on_error.value,
        )
    if aligned.written is not None:
        report(aligned.written, quiet, verbose)
