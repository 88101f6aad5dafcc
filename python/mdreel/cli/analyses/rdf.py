"""The command ``mdreel rdf``, which computes the radial distribution function between two selections."""

from typing import TYPE_CHECKING, Annotated, Literal

from mdreel.analysis.choices import Norm, SharedGroup
from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.rdf import InterRDF

EXAMPLES = """\
Examples:
  mdreel rdf -s system.tpr -f run.xtc --select "name OW" -o rdf.csv --plot rdf.png
  mdreel rdf -s system.tpr -f run.xtc --select "name NA" --other "name OW" --bins 200 --to 10
"""

Bins = Annotated[int, Option("--bins", minimum=1, help="Number of bins.")]
Lowest = Annotated[float, Option("--from", metavar="Å", help="Smallest distance.")]
Highest = Annotated[float, Option("--to", metavar="Å", help="Largest distance.")]
Normalisation = Annotated[Norm, Option("--norm", help="Normalisation of the counts per frame.")]


@analysis_command("water and name O*", EXAMPLES)
def rdf(
    request: Request,
    other: shared.Other = None,
    bins: Bins = 75,
    low: Lowest = 0.0,
    high: Highest = 15.0,
    norm: Normalisation = "rdf",
    exclude_same: Annotated[
        Literal[SharedGroup, "none"], Option(help="Exclude pairs of atoms in the same residue, segment or chain.")
    ] = "residue",
) -> AnalysisSpec:
    """Compute the radial distribution function of the atoms of one selection around the atoms of another."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "InterRDF":
        from mdreel.analysis.rdf import InterRDF
        from mdreel.analysis.topology.topology_file import select_atoms

        others = atoms if other is None else select_atoms(atoms.universe, other, request.topology)
        same = None if exclude_same == "none" else exclude_same
        return InterRDF(atoms, others, bins, (low, high), norm, exclude_same=same, trajectory=source)

    facts = {
        "other": request.selection if other is None else other,
        "norm": norm,
        "exclude_same": exclude_same,
    }
    return AnalysisSpec("Radial distribution", prepare, _table, facts)


def _table(analysis: "InterRDF") -> Table:
    results = analysis.results
    highest = results.rdf.argmax()
    return Table.of(
        analysis,
        f"pairs    {results.count.sum():>16,}   {analysis.n_frames:,} frames",
        f"highest  {results.rdf[highest]:>16.3f}   at {results.bins[highest]:.2f} Å",
    )
