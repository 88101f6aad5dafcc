"""``mdreel contacts``: native contacts, or the number of contacts, over time."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mdreel.cli import options
from mdreel.cli.analysing import Question, Request, Table, analysis_command

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.contacts import Contacts

EXAMPLES = """\b
Examples:
  mdreel contacts -s adk.psf -f adk.xtc --method count --other "resid 122:159" --select "resid 30:59" -o contacts.csv
  mdreel contacts -s native.pdb -f run.xtc --method soft_cut --radius 8 -o q.csv --plot q.png
"""


class Method(StrEnum):
    """When a contact is there."""

    HARD = "hard_cut"
    SOFT = "soft_cut"
    RADIUS = "radius_cut"
    COUNT = "count"


class PairsCounted(StrEnum):
    """Which pairs of atoms can be contacts."""

    UNIQUE = "unique"
    ALL = "all"


@analysis_command("protein and name CA", "Native contacts, number of contacts.", EXAMPLES)
def contacts(
    request: Request,
    other: options.Other = None,
    method: Annotated[
        Method,
        typer.Option(
            rich_help_panel=options.ANALYSIS,
            help="When a contact of the first frame is there; or how many contacts of any kind there are.",
        ),
    ] = Method.HARD,
    radius: Annotated[
        float,
        typer.Option(metavar="Å", min=0, rich_help_panel=options.ANALYSIS, help="Up to it two atoms are in contact."),
    ] = 4.5,
    pbc: Annotated[
        bool | None,
        typer.Option(
            "--pbc/--no-pbc",
            rich_help_panel=options.ANALYSIS,
            help="Take the shortest image, for which every frame needs a cell.  [default: where there is a cell]",
        ),
    ] = None,
    pairs: Annotated[
        PairsCounted,
        typer.Option(
            rich_help_panel=options.ANALYSIS,
            help="Count each pair of different atoms once, or all entries of the distance matrix, as MDAnalysis does.",
        ),
    ] = PairsCounted.UNIQUE,
) -> Question:
    """Fraction of the contacts of the first frame, or number of contacts, for every frame."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "Contacts":
        from mdreel.analysis.contacts import Contacts
        from mdreel.cli.system import select

        others = atoms if other is None else select(atoms.universe, other, request.topology)
        reference = 0 if method is not Method.COUNT else None
        groups = (atoms, others)
        of_pairs: Literal["unique", "all"] = "all" if pairs is PairsCounted.ALL else "unique"
        return Contacts(atoms.universe, groups, reference, method.value, radius, pbc, pairs=of_pairs, trajectory=source)

    facts = {
        "other": request.selection if other is None else other,
        "method": method.value,
        "radius": radius,
        "pbc": pbc,
        "pairs": pairs.value,
    }
    return Question("Contacts", prepare, _table, facts)


def _table(analysis: "Contacts") -> Table:
    from mdreel.cli.series import series_columns, series_summary
    from mdreel.results.column import Column

    frame, values = analysis.results.timeseries.T
    name = analysis.quantity
    return Table(
        [*series_columns(frame, analysis.times), Column(name, "", values)],
        series_summary(name, "", analysis.times, values),
        lambda title: analysis.plot(title=title),
    )
