"""``mdreel sasa``: the solvent accessible surface area of a selection."""

from typing import TYPE_CHECKING, Annotated

from mdreel.analysis.choices import AreaMode
from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.sasa import SASA
    from mdreel.results.column import Column

EXAMPLES = """\
Examples:
  mdreel sasa -s adk.psf -f adk.xtc -o sasa.csv --plot sasa.png
  mdreel sasa -s adk.psf -f adk.xtc --mode residue --plot residues.png
  mdreel sasa -s system.tpr -f run.xtc --select "resname LIG" --surface "protein or resname LIG"
"""


@analysis_command("protein", EXAMPLES)
def sasa(
    request: Request,
    mode: Annotated[
        AreaMode,
        Option(
            group=shared.ANALYSIS,
            help="Total area of each frame, or mean and standard deviation of each residue or atom.",
        ),
    ] = "total",
    surface: Annotated[
        str | None,
        Option(
            "--surface",
            metavar="SELECTION",
            group=shared.ANALYSIS,
            help="Atoms that form the surface and bury one another.  [default: the selection]",
        ),
    ] = None,
    probe_radius: Annotated[
        float, Option(metavar="Å", minimum=0, group=shared.ANALYSIS, help="Radius of the probe.")
    ] = 1.4,
    points: Annotated[
        int, Option(minimum=1, group=shared.ANALYSIS, help="Points on the sphere around each atom.")
    ] = 960,
    pbc: Annotated[bool, Option("--pbc", group=shared.ANALYSIS, help="Let periodic images bury atoms too.")] = False,
) -> AnalysisSpec:
    """Solvent accessible surface area of a selection (Shrake and Rupley), for every frame."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "SASA":
        from mdreel.analysis.sasa import SASA
        from mdreel.analysis.topology.topology_file import select_atoms

        group = None if surface is None else select_atoms(atoms.universe, surface, request.topology)
        average = mode != "total"
        return SASA(atoms, probe_radius, points, mode, surface=group, average=average, pbc=pbc, trajectory=source)

    facts = {
        "mode": mode,
        "surface": surface or "the selection",
        "probe_radius": probe_radius,
        "points": points,
        "pbc": pbc,
    }
    return AnalysisSpec("Solvent accessible surface area", prepare, _table, facts)


def _table(analysis: "SASA") -> Table:
    from mdreel.results.column import Column
    from mdreel.results.series import series_columns, series_summary

    times, total = analysis.times, analysis.results.total_area
    columns = _of_each(analysis)
    if analysis.mode == "total":
        columns = [*series_columns(analysis.frames.astype(float), times), Column("sasa", "Å^2", total)]
    return Table(columns, series_summary("SASA", "Å^2", times, total), lambda title: analysis.plot(title=title))


def _of_each(analysis: "SASA") -> "list[Column]":
    """Return the columns of each atom or residue; none for the total area."""
    import numpy as np

    from mdreel.results.column import Column

    if analysis.mode == "total":
        return []
    labels = analysis.labels.columns()
    if analysis.mode == "atom":
        labels = [Column("atom", "", analysis.atomgroup.ix.astype(np.int64)), *labels]
    mean, deviation = analysis.results.mean, np.sqrt(analysis.results.variance)
    return [*labels, Column("sasa", "Å^2", mean), Column("sasa_std", "Å^2", deviation)]
