"""``mdreel rg``: the radius of gyration of a selection, over time."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from mdreel.cli import options
from mdreel.cli.analysing import Question, Request, Table, analysis_command

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.rg import Rg

EXAMPLES = """\b
Examples:
  mdreel rg -s adk.psf -f adk.xtc -o rg.csv --plot rg.png
  mdreel rg -s adk.psf -f adk.xtc --select "protein and name CA" --weights none
"""


class Weights(StrEnum):
    """How atoms count."""

    MASS = "mass"
    NONE = "none"


@analysis_command("protein", "Radius of gyration.", EXAMPLES)
def rg(
    request: Request,
    weights: Annotated[Weights, typer.Option(rich_help_panel=options.ANALYSIS, help="How atoms count.")] = Weights.MASS,
) -> Question:
    """Radius of gyration of a selection, and the radii about the axes, for every frame."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "Rg":
        from mdreel.analysis.rg import Rg

        return Rg(atoms, "mass" if weights is Weights.MASS else None, trajectory=source)

    return Question("Radius of gyration", prepare, _table, {"weights": weights.value})


def _table(analysis: "Rg") -> Table:
    from mdreel.cli.series import series_columns, series_summary
    from mdreel.results.column import Column

    frame, time, radius, *about = analysis.results.rgyr.T
    return Table(
        [
            *series_columns(frame, time),
            Column("rg", "Å", radius),
            *(Column(f"rg_{axis}", "Å", values) for axis, values in zip("xyz", about, strict=True)),
        ],
        series_summary("Rg", "Å", time, radius),
        lambda title: analysis.plot(title=title),
    )
