"""``mdreel rmsd``: the minimum RMSD of a selection, over time."""

import textwrap
from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdreel.cli import execution, following, options
from mdreel.cli.exits import CommandError, ExitCode, checking_output, failing_with
from mdreel.cli.frames import check_window, frames_in_window

if TYPE_CHECKING:
    from mdreel.analysis.rmsd import RMSD
    from mdreel.spans import Timing


EXAMPLES = """\b
Examples:
  mdreel rmsd -s adk.psf -f adk.xtc -o rmsd.csv --plot rmsd.png
  mdreel rmsd -s adk.psf -f adk.dcd --select backbone -b 1000 -dt 10 -nt 4
  mdreel rmsd -s adk.psf -f running.xtc --follow --end-file running.done -o rmsd.csv
"""


class Weights(StrEnum):
    """How atoms count."""

    NONE = "none"
    MASS = "mass"


def rmsd(
    topology: Annotated[
        Path,
        typer.Option(
            "-s",
            "--topology",
            metavar="FILE",
            rich_help_panel=options.INPUT,
            help="Topology or structure that MDAnalysis reads (PSF, PDB, GRO, TPR, PRMTOP, ...).",
        ),
    ],
    trajectories: options.Trajectories,
    selection: Annotated[
        str,
        typer.Option(
            "--select",
            metavar="SELECTION",
            rich_help_panel=options.ANALYSIS,
            help="Atoms, in MDAnalysis's selection language.",
        ),
    ] = "protein and name CA",
    reference: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=options.ANALYSIS,
            help="Structure to compare with; the same selection must have as many atoms.",
        ),
    ] = None,
    reference_frame: Annotated[
        int | None,
        typer.Option(
            "--ref-frame",
            metavar="N",
            rich_help_panel=options.ANALYSIS,
            help="Frame of the trajectory to compare with.  [default: 0]",
        ),
    ] = None,
    weights: Annotated[Weights, typer.Option(rich_help_panel=options.ANALYSIS, help="How atoms count.")] = Weights.NONE,
    no_superposition: Annotated[
        bool,
        typer.Option(
            "--no-superposition",
            rich_help_panel=options.ANALYSIS,
            help="Compare positions as they are, without superimposing them first.",
        ),
    ] = False,
    begin: options.Begin = None,
    end: options.End = None,
    interval: options.Interval = None,
    start: options.Start = None,
    stop: options.Stop = None,
    step: options.Step = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            rich_help_panel=options.OUTPUT,
            help="Table of frame, time (ps) and RMSD (Å): .csv .xvg .npz .parquet .json .nc; "
            "without it a summary is printed.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", rich_help_panel=options.OUTPUT, help="Picture: .png .pdf .svg"),
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    backend: execution.BackendOption = None,
    n_workers: execution.Workers = 0,
    n_parts: options.Parts = None,
    access: execution.AccessOption = None,
    schedule: execution.ScheduleOption = execution.Schedule.DEMAND,
    communication: execution.CommunicationOption = None,
    scheduler: execution.Scheduler = None,
    memory: execution.Memory = None,
    checkpoint: execution.CheckpointOption = None,
    on_error: options.OnErrorOption = options.OnError.RAISE,
    follow: following.Follow = False,
    end_frames: following.EndFrames = None,
    end_idle: following.EndIdle = None,
    end_file: following.EndFile = None,
    end_process: following.EndProcess = None,
) -> None:
    """Minimum RMSD of a selection to a reference, for every frame."""
    check_window((begin, end, interval), (start, stop, step))
    _check_options(reference, reference_frame)
    ends = {"n_frames": end_frames, "idle": end_idle, "stop_file": end_file, "process": end_process}
    refused = {"-b": begin, "-e": end, "-dt": interval, "--n-parts": n_parts, "--checkpoint": checkpoint}
    following.check_following(follow, ends, trajectories, refused)
    check_outputs(output, plot, force)

    from mdreel.analysis.rmsd import RMSD
    from mdreel.cli.system import open_topology, select
    from mdreel.damage import facts_of_damage
    from mdreel.executors.checkpoint import remove_checkpoint
    from mdreel.sources.open import open_source

    with failing_with(ExitCode.INPUT):
        # First, for it takes no time, and to import MDAnalysis does.
        source = following.open_followed(trajectories[0], ends) if follow else open_source(trajectories)
    topology_since = perf_counter()
    atoms = select(open_topology(topology), selection, topology)
    reference_atoms = select(open_topology(reference), selection, reference) if reference is not None else None
    topology_seconds = perf_counter() - topology_since
    with failing_with(ExitCode.INPUT):
        frames = frames_in_window(source.with_on_error(on_error.value), begin, end, interval)
        analysis = RMSD(
            atoms,
            reference_atoms,
            ref_frame=reference_frame or 0,
            weights="mass" if weights is Weights.MASS else None,
            superposition=not no_superposition,
            trajectory=source,
        ).run(
            start,
            stop,
            step,
            frames,
            backend=execution.executor_of(backend, n_workers, schedule, communication, scheduler),
            access=None if access is None else access.value,
            n_parts=n_parts,
            memory=memory,
            checkpoint=checkpoint,
            progress=not quiet,
            on_error=on_error.value,
        )
    metadata: dict[str, Any] = {
        "title": "RMSD",
        "topology": str(topology),
        "trajectory": " ".join(map(str, trajectories)),
        "selection": selection,
        "n_atoms": len(atoms),
        "weights": weights.value,
        "superposition": not no_superposition,
        "reference": str(reference) if reference is not None else f"frame {reference_frame or 0}",
        **facts_of_damage(analysis.damage, on_error.value),
    }
    _write(analysis, metadata, output, plot, force)
    if checkpoint is not None:
        remove_checkpoint(checkpoint)
    if not quiet:
        _report(analysis.timing.preceded_by("topology", topology_seconds), verbose)
    if output is None:
        typer.echo(_summary(analysis))


def _check_options(reference: Path | None, reference_frame: int | None) -> None:
    if reference is not None and reference_frame is not None:
        raise CommandError("give either --reference or --ref-frame, not both", ExitCode.USAGE)


def check_outputs(output: Path | None, plot: Path | None, force: bool) -> None:
    """Refuse now what could not be written at the end."""
    from mdreel.results.figure import check_figure
    from mdreel.results.files import check_output

    for path, check in ((output, check_output), (plot, check_figure)):
        if path is not None:
            with checking_output(path):
                check(path, force)


def _write(analysis: "RMSD", metadata: dict[str, Any], output: Path | None, plot: Path | None, force: bool) -> None:
    import numpy as np

    from mdreel.results.column import Column
    from mdreel.results.figure import save, time_series
    from mdreel.results.files import write

    frame, time, values = analysis.results.rmsd.T
    with failing_with(ExitCode.OUTPUT):
        if output is not None:
            columns = [Column("frame", "", frame.astype(np.int64)), Column("time", "ps", time)]
            write(output, [*columns, Column("rmsd", "Å", values)], metadata, force)
        if plot is not None:
            title = textwrap.shorten(f"{metadata['selection']} ({metadata['n_atoms']:,} atoms)", 48, placeholder=" ...")
            save(time_series(time, values, "RMSD (Å)", title, frames=frame.astype(np.int64)), plot, force)


def _report(timing: "Timing", verbose: bool) -> None:
    typer.echo(timing.summary(), err=True)
    if verbose:
        typer.echo(timing.table(), err=True)


def _summary(analysis: "RMSD") -> str:
    """The lowest, the mean and the highest value, and when they were."""
    _, time, values = analysis.results.rmsd.T
    lowest, highest = values.argmin(), values.argmax()
    return "\n".join(
        (
            f"frames      {len(values):>10,}   {time[0]:,.6g} to {time[-1]:,.6g} ps",
            f"RMSD lowest {values[lowest]:>10.3f} Å  at {time[lowest]:,.6g} ps",
            f"     mean   {values.mean():>10.3f} Å",
            f"     highest{values[highest]:>10.3f} Å  at {time[highest]:,.6g} ps",
        )
    )
