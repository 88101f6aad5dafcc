"""The command ``mdreel linear-density``, which computes mass and charge profiles along the axes."""

from typing import TYPE_CHECKING, Annotated

from mdreel.analysis.choices import Grouping
from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.linear_density import LinearDensity

EXAMPLES = """\
Examples:
  mdreel linear-density -s membrane.tpr -f membrane.xtc --select "resname POPC" -o lipids.csv --plot lipids.png
  mdreel linear-density -s run.tpr -f run.xtc --select "resname SOL" --grouping residues --binsize 1
"""


@analysis_command("all", EXAMPLES)
def linear_density(
    request: Request,
    grouping: Annotated[
        Grouping,
        Option(help="Assign mass and charge to the position of each atom, or to the centre of mass of each group."),
    ] = "atoms",
    binsize: Annotated[float, Option(metavar="Å", help="Approximate width of a bin.")] = 0.25,
) -> AnalysisSpec:
    """Compute the mean and the standard deviation of the mass density and the charge density along the axes."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "LinearDensity":
        from mdreel.analysis.linear_density import LinearDensity

        return LinearDensity(atoms, grouping, binsize, trajectory=source)

    return AnalysisSpec("Linear density", prepare, _table, {"grouping": grouping, "binsize": binsize})


def _table(analysis: "LinearDensity") -> Table:
    edges = analysis.results.x.hist_bin_edges
    middles = (edges[1:] + edges[:-1]) / 2
    lines = []
    for axis in "xyz":
        found = analysis.results[axis]
        highest = int(found.mass_density.argmax())
        place = f"{found.mass_density[highest]:>10.3f} g/cm^3  at {middles[highest]:.2f} Å"
        lines.append(f"along {axis}   highest {place}")
    summary = f"bins      {len(edges) - 1:>16,}   {analysis.n_frames:,} frames"
    return Table.of(analysis, summary, *lines)
