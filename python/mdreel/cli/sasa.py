"""``mdreel sasa``: the solvent accessible surface area of a selection."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from mdreel.cli import options
from mdreel.cli.analysing import Question, Request, Table, analysis_command

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.sasa import SASA
    from mdreel.results.column import Column

EXAMPLES = """\b
Examples:
  mdreel sasa -s adk.psf -f adk.xtc -o sasa.csv --plot sasa.png
  mdreel sasa -s adk.psf -f adk.xtc --mode residue --plot residues.png
  mdreel sasa -s system.tpr -f run.xtc --select "resname LIG" --surface "protein or resname LIG"
"""


class Mode(StrEnum):
    """Of what there is an area."""

    TOTAL = "total"
    RESIDUE = "residue"
    ATOM = "atom"


@analysis_command("protein", "Solvent accessible surface area.", EXAMPLES)
def sasa(
    request: Request,
    mode: Annotated[
        Mode,
        typer.Option(
            rich_help_panel=options.ANALYSIS,
            help="The area of all over time, or mean and deviation of each residue or atom.",
        ),
    ] = Mode.TOTAL,
    surface: Annotated[
        str | None,
        typer.Option(
            "--surface",
            metavar="SELECTION",
            rich_help_panel=options.ANALYSIS,
            help="The atoms that make the surface and cover one another.  [default: the selection]",
        ),
    ] = None,
    probe_radius: Annotated[
        float, typer.Option(metavar="Å", min=0, rich_help_panel=options.ANALYSIS, help="Radius of the probe.")
    ] = 1.4,
    points: Annotated[
        int, typer.Option(min=1, rich_help_panel=options.ANALYSIS, help="Points on the sphere around each atom.")
    ] = 960,
    pbc: Annotated[
        bool, typer.Option("--pbc", rich_help_panel=options.ANALYSIS, help="Images in the cell cover as well.")
    ] = False,
) -> Question:
    """Solvent accessible surface area of a selection (Shrake and Rupley), for every frame."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "SASA":
        from mdreel.analysis.sasa import SASA
        from mdreel.cli.system import select

        group = None if surface is None else select(atoms.universe, surface, request.topology)
        average = mode is not Mode.TOTAL
        return SASA(atoms, probe_radius, points, mode.value, surface=group, average=average, pbc=pbc, trajectory=source)

    facts = {
        "mode": mode.value,
        "surface": surface or "the selection",
        "probe_radius": probe_radius,
        "points": points,
        "pbc": pbc,
    }
    return Question("Solvent accessible surface area", prepare, _table, facts)


def _table(analysis: "SASA") -> Table:
    from mdreel.cli.series import series_columns, series_summary
    from mdreel.results.column import Column

    times, total = analysis.times, analysis.results.total_area
    columns = _of_each(analysis)
    if analysis.mode == "total":
        columns = [*series_columns(analysis.frames.astype(float), times), Column("sasa", "Å^2", total)]
    return Table(columns, series_summary("SASA", "Å^2", times, total), lambda title: analysis.plot(title=title))


def _of_each(analysis: "SASA") -> "list[Column]":
    """Return mean and deviation of each atom or residue; nothing where there is only a total."""
    import numpy as np

    from mdreel.results.column import Column

    if analysis.mode == "total":
        return []
    who = analysis.labels.columns()
    if analysis.mode == "atom":
        who = [Column("atom", "", analysis.atomgroup.ix.astype(np.int64)), *who]
    mean, deviation = analysis.results.mean, np.sqrt(analysis.results.variance)
    return [*who, Column("sasa", "Å^2", mean), Column("sasa_std", "Å^2", deviation)]
