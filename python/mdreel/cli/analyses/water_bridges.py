"""The command ``mdreel water-bridges``, which finds chains of hydrogen bonds through water."""

from typing import TYPE_CHECKING, Annotated

from mdreel.analysis.choices import BondDistance, BridgeRole
from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.water_bridges.water_bridges import WaterBridgeAnalysis

EXAMPLES = """\
Examples:
  mdreel water-bridges -s system.gro -f run.xtc --select "resid 122:159" --other "resid 1:121" -o bridges.csv
  mdreel water-bridges -s system.psf -f run.dcd --select "resname LIG" --other protein --order 2 --plot bridges.png
  mdreel water-bridges -s system.gro -f run.xtc --water "resname SOL and around 8 resid 13" --list -o bonds.parquet
"""


@analysis_command("protein", EXAMPLES)
def water_bridges(
    request: Request,
    other: Annotated[str | None, shared.second_selection("bridges")] = None,
    water: Annotated[
        str, Option(metavar="SELECTION", help="Waters. They are selected again in each frame.")
    ] = "resname SOL HOH WAT TIP3 TIP4 TIP3P SPC",
    order: Annotated[int, Option(metavar="N", minimum=0, maximum=10, help="Most waters in a bridge.")] = 1,
    role: Annotated[BridgeRole, Option(help="Role of the first selection in its hydrogen bonds.")] = "both",
    distance: Annotated[float, Option(metavar="Å", minimum=0, help="Longest hydrogen bond.")] = 3.0,
    measured_from: Annotated[
        BondDistance,
        Option(help="Whether --distance is measured from the hydrogen or from the heavy atom of the donor."),
    ] = "hydrogen",
    angle: Annotated[float, Option(metavar="DEGREES", minimum=0, help="Smallest angle at the hydrogen.")] = 120.0,
    donors: Annotated[
        list[str] | None, Option(metavar="NAME", takes_several=True, help="Names of further donors.")
    ] = None,
    acceptors: Annotated[
        list[str] | None, Option(metavar="NAME", takes_several=True, help="Names of further acceptors.")
    ] = None,
    list_bonds: Annotated[
        bool, Option("--list", help="Write one row per hydrogen bond in each frame, not one per pair.")
    ] = False,
) -> AnalysisSpec:
    """Find chains of hydrogen bonds through water between two selections (as MDAnalysis's WaterBridgeAnalysis)."""
    selection = request.selection

    def prepare(atoms: "AtomGroup", source: "Source") -> "WaterBridgeAnalysis":
        from mdreel.analysis.water_bridges.water_bridges import WaterBridgeAnalysis
        from mdreel.errors import SelectionError

        analysis = WaterBridgeAnalysis(
            atoms.universe,
            selection,
            selection if other is None else other,
            water,
            order,
            role,
            filter_first=False,
            distance_type=measured_from,
            distance=distance,
            angle=angle,
            donors=donors,
            acceptors=acceptors,
            pbc=True,
            trajectory=source,
        )
        if not analysis.has_candidates:
            raise SelectionError("there are no donors with hydrogens, or no acceptors, in the selections or the water")
        return analysis

    def tabulate(analysis: "WaterBridgeAnalysis") -> Table:
        return _table(analysis, list_bonds)

    facts = {
        "other": selection if other is None else other,
        "water": water,
        "order": order,
        "distance": distance,
        "angle": angle,
    }
    return AnalysisSpec("Water bridges", prepare, tabulate, facts)


def _table(analysis: "WaterBridgeAnalysis", list_bonds: bool) -> Table:
    import numpy as np

    from mdreel.results.series import series_summary

    counts = analysis.results.counts.astype(np.float64)
    return Table.of(
        analysis,
        series_summary("bridges", "", analysis.times, counts),
        columns=analysis.bond_columns() if list_bonds else None,
    )
