"""The command ``mdreel align``, which superposes each frame of a trajectory on a reference."""

from mdreel.cli.analyses.request import check_reference, check_window
from mdreel.cli.options import shared
from mdreel.cli.options.declare import command
from mdreel.cli.trajectory import written_files
from mdreel.cli.trajectory.written_files import check_usage, failing_by_file, report

EXAMPLES = """\
Examples:
  mdreel align -s adk.psf -f adk.dcd -o aligned.xtc
  mdreel align -s adk.psf -f adk.xtc --select backbone --reference crystal.pdb -o aligned.dcd
"""


@command(examples=EXAMPLES)
def align(
    topology: shared.Topology,
    trajectories: shared.Trajectories,
    output: written_files.Output,
    selection: shared.Selection = "protein and name CA",
    index: shared.Index = None,
    reference: shared.Reference = None,
    reference_frame: shared.ReferenceFrame = None,
    weights: shared.Weights = "none",
    match_atoms: shared.MatchAtoms = True,
    tol_mass: shared.MassTolerance = 0.1,
    begin: shared.Begin = None,
    end: shared.End = None,
    interval: shared.Interval = None,
    start: shared.Start = None,
    stop: shared.Stop = None,
    step: shared.Step = None,
    transforms: shared.Transforms = None,
    center_on: shared.CenterOn = "protein",
    force: shared.Force = False,
    quiet: shared.Quiet = False,
    verbose: shared.Verbose = False,
    n_workers: shared.Workers = 0,
    on_error: shared.OnError = "raise",
) -> None:
    """Superpose each frame of a trajectory on a reference, and write all atoms."""
    check_window((begin, end, interval), (start, stop, step))
    check_reference(reference, reference_frame)
    check_usage(output, None)

    from mdreel.analysis.align import AlignTraj
    from mdreel.analysis.named_transformations import transformed_by_name
    from mdreel.analysis.topology.topology_file import open_topology, select_atoms
    from mdreel.trajectory.open import open as open_trajectory
    from mdreel.trajectory.window import TimeWindow, frames_in_window

    with failing_by_file(trajectories):
        source = open_trajectory(trajectories)
        universe = open_topology(topology, index)
        select_atoms(universe, selection, topology)
        source = transformed_by_name(source, universe, transforms or (), center_on, topology)
        frames = frames_in_window(source.with_on_error(on_error), TimeWindow(begin, end, interval))
        aligned = AlignTraj(
            universe,
            None if reference is None else open_topology(reference, index, is_reference=True),
            selection,
            output,
            weights="mass" if weights == "mass" else None,
            tol_mass=tol_mass,
            match_atoms=match_atoms,
            strict=True,
            force=force,
            ref_frame=reference_frame or 0,
            trajectory=source,
        ).run(
            start,
            stop,
            step,
            frames,
            n_workers=n_workers or None,
            verbose=not quiet,
            on_error=on_error,
        )
    if aligned.written is not None:
        report(aligned.written, quiet, verbose)
