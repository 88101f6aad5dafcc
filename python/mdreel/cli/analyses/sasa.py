"""The command ``mdreel sasa``, which computes the solvent-accessible surface area of a selection."""

from typing import TYPE_CHECKING, Annotated

from mdreel.analysis.choices import AreaMode
from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.sasa import SASA

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
        AreaMode, Option(help="Total area in each frame, or mean and standard deviation for each residue or atom.")
    ] = "total",
    surface: Annotated[
        str | None,
        Option(metavar="SELECTION", help="Atoms that form the surface and cover each other.  [default: the selection]"),
    ] = None,
    probe_radius: Annotated[float, Option(metavar="Å", minimum=0, help="Radius of the probe.")] = 1.4,
    points: Annotated[int, Option(minimum=1, help="Points on the sphere around each atom.")] = 960,
    pbc: Annotated[bool, Option(help="Periodic images can also cover atoms.")] = False,
) -> AnalysisSpec:
    """Compute the solvent-accessible surface area of a selection (Shrake and Rupley) in each frame."""

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
    from mdreel.results.series import series_summary

    times, total = analysis.times, analysis.results.total_area
    summary = series_summary("SASA", "Å^2", times, total)
    return Table.of(analysis, summary)
