"""The command ``mdreel distances``, which computes the mean, variance and contact frequency for all distances."""

from typing import TYPE_CHECKING, Annotated

from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.distances import DistanceArray

EXAMPLES = """\
Examples:
  mdreel distances -s adk.psf -f adk.xtc -o distances.parquet --plot distances.png
  mdreel distances -s adk.psf -f adk.xtc --select "resid 55 and name CA" --other "resid 169 and name CA" \
      --over-time -o distance.csv --plot distance.png
  mdreel distances -s system.tpr -f run.xtc --select "name CA" --other "resname LIG" --cutoff 6 --pbc
"""


@analysis_command("protein and name CA", EXAMPLES)
def distances(
    request: Request,
    other: shared.Other = None,
    cutoff: Annotated[
        float | None,
        Option(metavar="Å", minimum=0, help="Distance below which two atoms are in contact.  [default: 8]"),
    ] = None,
    over_time: Annotated[
        bool, Option(help="Write the distance between each pair of atoms in each frame, instead of means over frames.")
    ] = False,
    pbc: Annotated[bool, Option(help="Use minimum-image distances.")] = False,
) -> AnalysisSpec:
    """Compute the mean, variance and contact frequency for all pairs of atoms, or distances over time."""
    if over_time and cutoff is not None:
        raise CommandError("--cutoff is for contact frequencies: leave it out with --over-time", ExitCode.USAGE)
    nearest = None if over_time else 8.0 if cutoff is None else cutoff

    def prepare(atoms: "AtomGroup", source: "Source") -> "DistanceArray":
        from mdreel.analysis.distances import DistanceArray
        from mdreel.analysis.topology.topology_file import select_atoms

        others = None if other is None else select_atoms(atoms.universe, other, request.topology)
        return DistanceArray(atoms, others, cutoff=nearest, pbc=pbc, trajectory=source)

    facts = {"other": request.selection if other is None else other, "pbc": pbc}
    if over_time:
        is_same = other is None
        return AnalysisSpec("Distances over time", prepare, lambda analysis: _table_over_time(analysis, is_same), facts)
    return AnalysisSpec("Distances", prepare, _table, {**facts, "cutoff": nearest})


def _table(analysis: "DistanceArray") -> Table:
    results = analysis.results
    frequency = results.contact_frequency
    return Table.of(
        analysis,
        f"pairs           {frequency.size:>12,}   {analysis.n_frames:,} frames",
        f"mean distance   {results.mean.mean():>12.3f} Å",
        f"always in contact {int((frequency == 1).sum()):>10,}",
        f"never in contact  {int((frequency == 0).sum()):>10,}",
    )


def _table_over_time(analysis: "DistanceArray", is_same: bool) -> Table:
    """Return a table with one column per pair. `is_same` means that both groups are the same."""
    import numpy as np

    from mdreel.results.series import series_summary

    first, times = analysis.atomgroup.ix, analysis.times
    frame, time, *columns = analysis.columns()
    if is_same:  # the columns are those of a square matrix
        columns = [columns[i * len(first) + j] for i, j in zip(*np.triu_indices(len(first), 1), strict=True)]
    found = {column.name: np.asarray(column.values, np.float64) for column in columns}
    if not found:
        raise CommandError(f"the selection has {len(first)} atom: give another one with --other", ExitCode.INPUT)
    mean = np.mean(list(found.values()), axis=0)
    name = "distance" if len(found) == 1 else "mean distance"
    lines = f"pairs {len(found):,}\n" if len(found) > 1 else ""

    def figure(title: str) -> "Figure":
        from mdreel.results.curves import lines as draw_lines
        from mdreel.results.figure import time_series

        if len(found) == 1:
            return time_series(times, mean, "Distance (Å)", title, frames=analysis.frames)
        labels = [one.removeprefix("distance_").replace("_", " to ") for one in found]
        return draw_lines(times, np.stack(list(found.values()), axis=1), labels, "Distance (Å)", title, kind="Atoms")

    return Table(
        [frame, time, *columns],
        lines + series_summary(name, "Å", times, mean),
        figure,
    )
