"""Command ``mdreel cluster-frames``, which sorts frames with similar shapes into clusters."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mdreel.analysis.choices import ClusterMethod, InitialCenters
from mdreel.cli.analyses.cluster_settings import ClusterSettings
from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.errors import CommandError, ExitCode, checking_output, failing_with
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.clustering.frame_clusters import FrameClusters
    from mdreel.results.column import Column
    from mdreel.results.files import Metadata

EXAMPLES = """\
Examples:
  mdreel cluster-frames -s adk.psf -f adk.xtc --cutoff 1.5 -o labels.csv --plot clusters.png
  mdreel cluster-frames -s adk.psf -f adk.xtc --cutoff 1.5 --clusters clusters.csv --structures centers.pdb
  mdreel cluster-frames -s adk.psf -f adk.xtc --method average --n-clusters 4 -o labels.csv
  mdreel cluster-frames -s adk.psf -f adk.xtc --method k-means --n-clusters 5 --init nani
  mdreel cluster-frames -s adk.psf --channel run1 --method online --cutoff 2 -o labels.csv
"""
_LARGEST = 5


@analysis_command("protein and name CA", EXAMPLES)
def cluster_frames(
    request: Request,
    method: Annotated[ClusterMethod, Option(help="Method of clustering.")] = "gromos",
    cutoff: Annotated[
        float | None,
        Option(
            metavar="Å",
            minimum=0,
            help="Largest RMSD of neighbours (gromos, dbscan), largest RMSD from the first frame of a cluster (online) "
            "or distance of clusters that merge (others).  [default: 1]",
        ),
    ] = None,
    n_clusters: Annotated[
        int | None, Option(metavar="N", minimum=1, help="Number of clusters, instead of --cutoff.")
    ] = None,
    min_frames: Annotated[
        int | None,
        Option(
            metavar="N",
            minimum=1,
            help="Smallest number of frames within the cutoff of the core of a cluster (dbscan).  [default: 5]",
        ),
    ] = None,
    init: Annotated[
        InitialCenters | None, Option(help="First centres (k-means, k-medoids).  [default: k-means++]")
    ] = None,
    starts: Annotated[
        int | None,
        Option(
            metavar="N",
            minimum=1,
            is_advanced=True,
            help="Number of starts with different first centres. The start with the best result is kept.  "
            "[default: 10 for k-means, 1 for k-medoids]",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        Option(
            metavar="N",
            minimum=0,
            is_advanced=True,
            help="Seed of the random first centres (k-means, k-medoids).  [default: 0]",
        ),
    ] = None,
    features: Annotated[
        Path | None, Option(metavar="FILE", help="Table of numbers to compare, a row per frame (k-means).")
    ] = None,
    weights: shared.Weights = "none",
    clusters: Annotated[
        Path | None, Option(metavar="FILE", group=shared.OUTPUT, help="Table of the clusters: size and centre.")
    ] = None,
    transitions: Annotated[
        Path | None, Option(metavar="FILE", group=shared.OUTPUT, help="Table of transitions between clusters.")
    ] = None,
    structures: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            group=shared.OUTPUT,
            help="Structures in the centres of the clusters, in a format that MDAnalysis writes: .pdb .gro .xtc ...",
        ),
    ] = None,
    structure_select: Annotated[
        str | None, Option(metavar="SELECTION", help="Atoms to write to --structures.  [default: those of --select]")
    ] = None,
    largest: Annotated[
        int | None, Option(metavar="N", minimum=1, help="Write only the structures of the N largest clusters.")
    ] = None,
) -> AnalysisSpec:
    """Sort frames into clusters by their RMSD, or by other numbers.

    With the GROMOS method, the frame with the most neighbours forms a cluster with them, and so on.
    """
    settings = ClusterSettings(method, cutoff, n_clusters, min_frames, init, starts, seed, features, weights)
    settings.check()
    _check_outputs(request, (clusters, transitions), structures)
    if structures is None and (structure_select is not None or largest is not None):
        raise CommandError("--structure-select and --largest require --structures", ExitCode.USAGE)
    if structure_select is not None and request.is_live:
        message = "--structure-select reads frames again, which a running simulation does not allow: leave it out"
        raise CommandError(message, ExitCode.USAGE)

    def prepare(atoms: "AtomGroup", source: "Source") -> "FrameClusters":
        if structure_select is not None:
            _selected(atoms, structure_select)  # before the run
        return settings.make(atoms, source)

    facts = settings.facts()

    def write(analysis: "FrameClusters") -> None:
        with failing_with(ExitCode.OUTPUT):
            for path, columns in ((clusters, analysis.cluster_columns()), (transitions, analysis.transition_columns())):
                if path is not None:
                    _write_table(path, columns, request, facts)
            if structures is not None:
                atoms = None if structure_select is None else _selected(analysis.atomgroup, structure_select)
                n_written = min(largest or analysis.n_clusters, analysis.n_clusters)
                analysis.save_structures(structures, atoms, n_written, request.force)

    return AnalysisSpec("Clusters of frames", prepare, _table, facts, write=write)


def _check_outputs(request: Request, tables: "Sequence[Path | None]", structures: Path | None) -> None:
    """Check that the files can be written."""
    for path in tables:
        if path is not None:
            from mdreel.results.files import check_output

            with checking_output(path):
                check_output(path, request.force)
    if structures is not None:
        from mdreel.analysis.clustering.structures import check_structures

        with checking_output(structures):
            check_structures(structures, 2, request.force)  # the number of clusters is not known yet


def _selected(atoms: "AtomGroup", selection: str) -> "AtomGroup":
    """Return the atoms of ``--structure-select``."""
    from mdreel.trajectory.selection import atoms_of

    return atoms_of(atoms.universe, selection, "--structure-select")


def _write_table(path: Path, columns: "Sequence[Column]", request: Request, facts: "Metadata") -> None:
    """Write a table in the units of the command."""
    from mdreel.results.files import write
    from mdreel.results.shown_units import ShownUnits

    shown = ShownUnits(request.units, request.time_unit)
    described = {"title": "Clusters of frames", "topology": str(request.topology), "trajectory": request.input}
    write(path, shown.columns(columns), {**described, "selection": request.selection, **facts}, request.force)


def _table(analysis: "FrameClusters") -> Table:
    # Online clusters are numbered in the order in which they were found, all others by size.
    order = (-analysis.results.sizes).argsort(kind="stable")
    sizes, centers = analysis.results.sizes[order], analysis.results.centers[order]
    n_frames, changes = analysis.n_frames, analysis.results.transitions
    lines = [f"frames {n_frames:,}   clusters {len(sizes):,}"]
    for number, size, center in zip(order[:_LARGEST], sizes, centers, strict=False):
        lines.append(f"cluster {number}   {size:>9,} frames   {size / n_frames:>6.1%}   centre: frame {center:,}")
    if len(sizes) > _LARGEST:
        rest = int(sizes[_LARGEST:].sum())
        lines.append(f"others      {rest:>9,} frames   {rest / n_frames:>6.1%}")
    n_noise = n_frames - int(sizes.sum())
    if n_noise:
        lines.append(f"noise       {n_noise:>9,} frames   {n_noise / n_frames:>6.1%}")
    if not getattr(analysis, "is_converged", True):
        lines.append("not converged")
    n_changes = int(changes[changes[:, 0] != changes[:, 1], 2].sum())
    lines.append(f"transitions {n_changes:>7,}")
    return Table.of(analysis, *lines)
