"""The command ``mdreel residue-contacts``, which finds contacts between residues."""

from typing import TYPE_CHECKING, Annotated

from mdreel.analysis.choices import ContactScheme
from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.residue_contacts import ResidueContacts

EXAMPLES = """\
Examples:
  mdreel residue-contacts -s adk.psf -f adk.xtc -o contacts.csv --plot contacts.png
  mdreel residue-contacts -s system.tpr -f run.xtc --other "resname LIG" --cutoff 4 -o ligand.csv
  mdreel residue-contacts -s adk.psf -f adk.xtc --scheme ca --cutoff 8 --list -o all_contacts.parquet
"""


@analysis_command("protein", EXAMPLES)
def residue_contacts(
    request: Request,
    other: Annotated[str | None, shared.second_selection("contacts")] = None,
    scheme: Annotated[
        ContactScheme, Option(help="Atoms between which the distance of two residues is measured.")
    ] = "closest-heavy",
    cutoff: Annotated[float, Option(metavar="Å", minimum=0, help="Maximum distance of two residues in contact.")] = 4.5,
    min_separation: Annotated[
        int | None,
        Option(
            metavar="N",
            minimum=1,
            help="Minimum separation of two residues in the sequence of a chain.  [default: 3 within a selection, "
            "1 between two]",
        ),
    ] = None,
    soft_min: Annotated[
        bool, Option(help="Report the soft minimum of the distances of all atoms instead of the smallest distance.")
    ] = False,
    soft_min_beta: Annotated[
        float | None,
        Option(metavar="Å", minimum=0, help="Parameter of the soft minimum.  [default: 200, the 20 nm of mdtraj]"),
    ] = None,
    list_contacts: Annotated[
        bool, Option("--list", help="Write one row per contact in each frame, not one row per pair.")
    ] = False,
) -> AnalysisSpec:
    """Find the pairs of residues that are in contact, with their frequency, mean distance and lifetime."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "ResidueContacts":
        from mdreel.analysis.residue_contacts import ResidueContacts
        from mdreel.trajectory.selection import atoms_of

        second = None if other is None else atoms_of(atoms.universe, other, "--other")
        return ResidueContacts(
            atoms,
            second,
            scheme=scheme,
            cutoff=cutoff,
            min_separation=min_separation,
            soft_min=soft_min,
            soft_min_beta=soft_min_beta,
            series=list_contacts,
            trajectory=source,
        )

    def tabulate(analysis: "ResidueContacts") -> Table:
        return _table(analysis, list_contacts)

    facts = {
        "other": other,
        "scheme": scheme,
        "cutoff": cutoff,
        "min_separation": min_separation,
        "soft_min_beta": None if not soft_min else soft_min_beta or 200.0,
    }
    return AnalysisSpec("Contacts of residues", prepare, tabulate, facts)


def _table(analysis: "ResidueContacts", list_contacts: bool) -> Table:
    import numpy as np

    from mdreel.results.series import series_summary

    counts = analysis.results.counts.astype(np.float64)
    return Table.of(
        analysis,
        series_summary("contacts", "", analysis.times, counts),
        f"pairs    {len(analysis.results.pairs):>10,}   ever in contact",
        columns=analysis.contact_columns() if list_contacts else None,
    )
