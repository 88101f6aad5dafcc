"""Command ``mdreel cluster-frames``, which sorts frames with similar shapes into clusters."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mdreel.analysis.choices import ClusterMethod
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
  mdreel cluster-frames -s adk.psf -f adk.xtc --structures centers.xtc --structure-select protein --largest 5
  mdreel cluster-frames -s adk.psf -f adk.xtc --method average --n-clusters 4 -o labels.csv
  mdreel cluster-frames -s adk.psf -f adk.xtc --method dbscan --cutoff 0.7 --min-frames 10
  mdreel cluster-frames -s adk.psf --channel run1 --method online --cutoff 2 -o labels.csv
"""
_LARGEST = 5
_CUTOFF, _MIN_FRAMES = 1.0, 5


@analysis_command("protein and name CA", EXAMPLES)
def cluster_frames(
    request: Request,
    method: Annotated[
        ClusterMethod,
        Option(
            "--method",
            group=shared.ANALYSIS,
            help="GROMOS, hierarchical clustering with a linkage, DBSCAN, or one pass over the frames (online).",
        ),
    ] = "gromos",
    cutoff: Annotated[
        float | None,
        Option(
            "--cutoff",
            metavar="Å",
            minimum=0,
            group=shared.ANALYSIS,
            help="Largest RMSD of neighbours (gromos, dbscan), largest RMSD from the first frame of a cluster (online) "
            "or distance of clusters that merge (others).  [default: 1]",
        ),
    ] = None,
    n_clusters: Annotated[
        int | None,
        Option(
            "--n-clusters",
            metavar="N",
            minimum=1,
            group=shared.ANALYSIS,
            help="Number of clusters, instead of --cutoff (single, complete, average).",
        ),
    ] = None,
    min_frames: Annotated[
        int | None,
        Option(
            "--min-frames",
            metavar="N",
            minimum=1,
            group=shared.ANALYSIS,
            help="Smallest number of frames within the cutoff of the core of a cluster (dbscan).  [default: 5]",
        ),
    ] = None,
    weights: shared.Weights = "none",
    clusters: Annotated[
        Path | None,
        Option("--clusters", metavar="FILE", group=shared.OUTPUT, help="Table of the clusters: size and centre."),
    ] = None,
    transitions: Annotated[
        Path | None,
        Option("--transitions", metavar="FILE", group=shared.OUTPUT, help="Table of transitions between clusters."),
    ] = None,
    structures: Annotated[
        Path | None,
        Option(
            "--structures",
            metavar="FILE",
            group=shared.OUTPUT,
            help="Structures in the centres of the clusters, in a format that MDAnalysis writes: .pdb .gro .xtc ...",
        ),
    ] = None,
    structure_select: Annotated[
        str | None,
        Option(
            "--structure-select",
            metavar="SELECTION",
            group=shared.ANALYSIS,
            help="Atoms to write to --structures.  [default: those of --select]",
        ),
    ] = None,
    largest: Annotated[
        int | None,
        Option(
            "--largest",
            metavar="N",
            minimum=1,
            group=shared.ANALYSIS,
            help="Write only the structures of the N largest clusters.",
        ),
    ] = None,
) -> AnalysisSpec:
    """Sort frames into clusters by their minimum RMSD.

    With the GROMOS method of Daura and others, the frame with the most neighbours forms a cluster with them. These
    frames are removed, and so on with those left.
    """
    settings = _Settings(method, cutoff, n_clusters, min_frames, weights)
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


@dataclass(frozen=True)
class _Settings:
    """A method of clustering with its options. Options that were not given are None."""

    method: "ClusterMethod"
    cutoff: float | None
    n_clusters: int | None
    min_frames: int | None
    weights: str

    def check(self) -> None:
        """Reject options of another method."""
        if self.n_clusters is not None and self.method in ("gromos", "dbscan", "online"):
            message = f"--n-clusters is for --method single, complete and average, not {self.method}: use --cutoff"
            raise CommandError(message, ExitCode.USAGE)
        if self.n_clusters is not None and self.cutoff is not None:
            raise CommandError("give either --cutoff or --n-clusters, not both", ExitCode.USAGE)
        if self.min_frames is not None and self.method != "dbscan":
            message = f"--min-frames is for --method dbscan, not {self.method}: leave it out"
            raise CommandError(message, ExitCode.USAGE)

    def facts(self) -> "dict[str, str | float]":
        """Return the metadata of the tables."""
        found: dict[str, str | float] = {"method": self.method}
        if self.n_clusters is not None:
            found["n_clusters"] = self.n_clusters
        else:
            found["cutoff"] = self._limit
        if self.method == "dbscan":
            found["min_frames"] = self.min_frames or _MIN_FRAMES
        return {**found, "weights": self.weights}

    @property
    def _limit(self) -> float:
        return _CUTOFF if self.cutoff is None else self.cutoff

    def make(self, atoms: "AtomGroup", source: "Source") -> "FrameClusters":
        """Create the analysis."""
        mass = "mass" if self.weights == "mass" else None
        if self.method == "gromos":
            from mdreel.analysis.clustering.gromos import GromosClustering

            return GromosClustering(atoms, None, self._limit, mass, trajectory=source)
        if self.method == "dbscan":
            from mdreel.analysis.clustering.density import DensityClustering

            fewest = self.min_frames or _MIN_FRAMES
            return DensityClustering(atoms, None, self._limit, fewest, mass, trajectory=source)
        if self.method == "online":
            from mdreel.analysis.clustering.online import OnlineClustering

            return OnlineClustering(atoms, None, self._limit, mass, trajectory=source)
        from mdreel.analysis.clustering.hierarchical import HierarchicalClustering

        limit = self._limit if self.n_clusters is None else None
        return HierarchicalClustering(atoms, None, self.method, limit, self.n_clusters, mass, trajectory=source)


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
    n_changes = int(changes[changes[:, 0] != changes[:, 1], 2].sum())
    lines.append(f"transitions {n_changes:>7,}")
    return Table(analysis.columns(), "\n".join(lines), lambda title: analysis.plot(title=title))
