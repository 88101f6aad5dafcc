"""``mdreel rdf``: the radial distribution function of two selections."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from mdreel.cli import options
from mdreel.cli.analysing import Question, Request, Table, analysis_command

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.rdf import InterRDF
    from mdreel.analysis.rdf import Same as Shared

EXAMPLES = """\b
Examples:
  mdreel rdf -s system.tpr -f run.xtc --select "name OW" -o rdf.csv --plot rdf.png
  mdreel rdf -s system.tpr -f run.xtc --select "name NA" --other "name OW" --bins 200 --to 10
"""


class Norm(StrEnum):
    """What counts are divided by."""

    RDF = "rdf"
    DENSITY = "density"
    NONE = "none"


class Same(StrEnum):
    """What two atoms must not share."""

    NONE = "none"
    RESIDUE = "residue"
    SEGMENT = "segment"
    CHAIN = "chain"


_SAME: "dict[Same, Shared | None]" = {
    Same.NONE: None,
    Same.RESIDUE: "residue",
    Same.SEGMENT: "segment",
    Same.CHAIN: "chain",
}


@analysis_command("water and name O*", "Radial distribution function.", EXAMPLES)
def rdf(
    request: Request,
    other: options.Other = None,
    bins: Annotated[int, typer.Option("--bins", min=1, rich_help_panel=options.ANALYSIS, help="Number of bins.")] = 75,
    low: Annotated[
        float, typer.Option("--from", metavar="Å", rich_help_panel=options.ANALYSIS, help="Lowest distance.")
    ] = 0.0,
    high: Annotated[
        float, typer.Option("--to", metavar="Å", rich_help_panel=options.ANALYSIS, help="Highest distance.")
    ] = 15.0,
    norm: Annotated[
        Norm, typer.Option(rich_help_panel=options.ANALYSIS, help="What counts are divided by, besides frames.")
    ] = Norm.RDF,
    exclude_same: Annotated[
        Same,
        typer.Option(rich_help_panel=options.ANALYSIS, help="Pairs that share it do not count."),
    ] = Same.RESIDUE,
) -> Question:
    """Radial distribution function of the atoms of a selection around those of another."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "InterRDF":
        from mdreel.analysis.rdf import InterRDF
        from mdreel.cli.system import select

        others = atoms if other is None else select(atoms.universe, other, request.topology)
        same = _SAME[exclude_same]
        return InterRDF(atoms, others, bins, (low, high), norm.value, exclude_same=same, trajectory=source)

    facts = {
        "other": request.selection if other is None else other,
        "norm": norm.value,
        "exclude_same": exclude_same.value,
    }
    return Question("Radial distribution", prepare, _table, facts)


def _table(analysis: "InterRDF") -> Table:
    from mdreel.results.column import Column

    results = analysis.results
    highest = results.rdf.argmax()
    return Table(
        [Column("r", "Å", results.bins), Column("rdf", "", results.rdf), Column("count", "", results.count)],
        "\n".join(
            (
                f"pairs    {results.count.sum():>16,}   {analysis.n_frames:,} frames",
                f"highest  {results.rdf[highest]:>16.3f}   at {results.bins[highest]:.2f} Å",
            )
        ),
        lambda title: analysis.plot(title=title),
    )
