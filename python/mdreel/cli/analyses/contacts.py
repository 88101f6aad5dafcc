"""The command ``mdreel contacts``, which computes native contacts or the number of contacts over time."""

from typing import TYPE_CHECKING, Annotated

from mdreel.analysis.choices import ContactMethod, PairsCounted
from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.contacts import Contacts

EXAMPLES = """\
Examples:
  mdreel contacts -s adk.psf -f adk.xtc --method count --other "resid 122:159" --select "resid 30:59" -o contacts.csv
  mdreel contacts -s native.pdb -f run.xtc --method soft_cut --radius 8 -o q.csv --plot q.png
"""


@analysis_command("protein and name CA", EXAMPLES)
def contacts(
    request: Request,
    other: shared.Other = None,
    method: Annotated[
        ContactMethod,
        Option(
            help="Criterion for native contacts, which are defined by the first frame. `count` counts all contacts."
        ),
    ] = "hard_cut",
    radius: Annotated[
        float, Option(metavar="Å", minimum=0, help="Largest distance between two atoms in contact.")
    ] = 4.5,
    pbc: Annotated[
        bool | None,
        Option(
            "--pbc/--no-pbc",
            help="Use minimum-image distances. Every frame needs a cell.  [default: if the frame has a cell]",
        ),
    ] = None,
    pairs: Annotated[
        PairsCounted,
        Option(
            help="Count each pair of different atoms once, or all entries of the distance matrix, as in MDAnalysis."
        ),
    ] = "unique",
) -> AnalysisSpec:
    """Compute the fraction of native contacts that are present in each frame, or the number of contacts."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "Contacts":
        from mdreel.analysis.contacts import Contacts
        from mdreel.analysis.topology.topology_file import select_atoms

        others = atoms if other is None else select_atoms(atoms.universe, other, request.topology)
        reference = 0 if method != "count" else None
        groups = (atoms, others)
        return Contacts(
            atoms.universe,
            groups,
            reference,
            method,
            radius,
            pbc is not False,
            pairs=pairs,
            require_cell=pbc is True,
            trajectory=source,
        )

    facts = {
        "other": request.selection if other is None else other,
        "method": method,
        "radius": radius,
        "pbc": pbc,
        "pairs": pairs,
    }
    return AnalysisSpec("Contacts", prepare, _table, facts)


def _table(analysis: "Contacts") -> Table:
    from mdreel.results.series import series_summary

    values = analysis.results.timeseries[:, 1]
    return Table.of(analysis, series_summary(analysis.quantity, "", analysis.times, values))
