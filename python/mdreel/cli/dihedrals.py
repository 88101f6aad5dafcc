"""``mdreel dihedrals``: the torsions of a protein, over time."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from mdreel.cli import options
from mdreel.cli.analysing import Question, Request, Table, analysis_command

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.dihedrals import Dihedrals

EXAMPLES = """\b
Examples:
  mdreel dihedrals -s adk.psf -f adk.xtc -o torsions.nc --plot torsions.png
  mdreel dihedrals -s adk.psf -f adk.xtc --kind chi1 --kind chi2 --features cos_sin -o features.parquet
"""


class Kind(StrEnum):
    """Which torsions."""

    PHI = "phi"
    PSI = "psi"
    OMEGA = "omega"
    CHI1 = "chi1"
    CHI2 = "chi2"
    CHI3 = "chi3"
    CHI4 = "chi4"


class FeatureKind(StrEnum):
    """How an angle is told."""

    DEGREES = "degrees"
    COS_SIN = "cos_sin"


@analysis_command("protein", "Torsions of a protein.", EXAMPLES)
def dihedrals(
    request: Request,
    kinds: Annotated[
        list[Kind] | None,
        typer.Option(
            "--kind",
            rich_help_panel=options.ANALYSIS,
            help="Which torsions; give it again for more.  [default: phi and psi]",
        ),
    ] = None,
    features: Annotated[
        FeatureKind,
        typer.Option(rich_help_panel=options.ANALYSIS, help="Angles, or the cosine and the sine of each."),
    ] = FeatureKind.DEGREES,
) -> Question:
    """Torsions of a protein (phi, psi, omega, chi1 to chi4), for every frame."""
    wanted = [kind.value for kind in kinds or [Kind.PHI, Kind.PSI]]

    def prepare(atoms: "AtomGroup", source: "Source") -> "Dihedrals":
        from mdreel.analysis.dihedrals import Dihedrals

        return Dihedrals(atoms, wanted, features.value, trajectory=source)

    facts = {"torsions": " ".join(wanted), "features": features.value}
    return Question("Dihedral angles", prepare, _table, facts)


def _table(analysis: "Dihedrals") -> Table:
    import numpy as np

    from mdreel.cli.series import series_columns
    from mdreel.results.column import Column

    time, angles, names = analysis.times, analysis.results.angles, analysis.names
    unit = "°" if analysis.features == "degrees" else ""
    values = np.ascontiguousarray(angles.T)
    headings = [name.lower().replace(" ", "_") for name in names]
    if len(set(headings)) < len(headings):  # segments such as A and a
        headings = [name.replace(" ", "_") for name in names]
    columns = [Column(name, unit, column) for name, column in zip(headings, values, strict=True)]
    return Table(
        [*series_columns(analysis.frames.astype(np.float64), time), *columns],
        "\n".join(
            (
                f"frames      {len(time):>10,}   {time[0]:,.6g} to {time[-1]:,.6g} ps",
                f"torsions    {len(analysis.quadruples):>10,}   {names[0]} to {names[-1]}",
            )
        ),
        lambda title: analysis.plot(title=title),
    )
