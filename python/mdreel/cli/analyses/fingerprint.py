"""The command ``mdreel fingerprint``, which finds interactions between residues."""

from typing import TYPE_CHECKING, Annotated

from mdreel.analysis.choices import InteractionName
from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.fingerprints.fingerprint import InteractionFingerprint

EXAMPLES = """\
Examples:
  mdreel fingerprint -s complex.prmtop -f run.nc --select "resname LIG" --other protein -o ligand.csv --plot ligand.png
  mdreel fingerprint -s adk.psf -f adk.xtc --select "resid 122:159" --other "resid 1:121" --interactions HBDonor
  mdreel fingerprint -s adk.psf -f adk.xtc --interactions Cationic Anionic --list -o salt_bridges.parquet
  mdreel fingerprint -s md.tpr -f md.xtc --interactions WaterBridge --order 2 -o water_bridges.csv
"""

_WATERS = "resname SOL HOH WAT TIP3 TIP4 TIP3P SPC"


@analysis_command("protein", EXAMPLES)
def fingerprint(
    request: Request,
    other: Annotated[str | None, shared.second_selection("interactions")] = None,
    interactions: Annotated[
        list[InteractionName] | None,
        Option(
            takes_several=True,
            help="Interactions to find.  [default: all except water bridges and those of halogens and metals]",
        ),
    ] = None,
    water: Annotated[
        str | None, Option(metavar="SELECTION", help=f"Waters of WaterBridge.  [default: {_WATERS}]")
    ] = None,
    order: Annotated[
        int | None, Option(metavar="N", minimum=1, maximum=10, help="Most waters in a WaterBridge.  [default: 1]")
    ] = None,
    min_order: Annotated[
        int | None, Option(metavar="N", minimum=1, maximum=10, help="Fewest waters in a WaterBridge.  [default: 1]")
    ] = None,
    list_entries: Annotated[
        bool, Option("--list", help="Write one row per interaction in each frame, not one row per pair.")
    ] = False,
    network: Annotated[
        float | None,
        Option(
            metavar="FREQUENCY",
            minimum=0,
            maximum=1,
            help="Plot a network of the interactions that are at least as frequent, not a barcode.",
        ),
    ] = None,
) -> AnalysisSpec:
    """Find interactions between residues: hydrogen bonds, salt bridges, stacked rings, and others (as ProLIF)."""
    if network is not None and request.plot is None:
        raise CommandError("--network requires --plot", ExitCode.USAGE)
    has_bridges = "WaterBridge" in (interactions or ())
    if not has_bridges and (water is not None or order is not None or min_order is not None):
        message = "--water, --order and --min-order require --interactions WaterBridge"
        raise CommandError(message, ExitCode.USAGE)
    orders = {"order": order or 1, "min_order": min_order or 1}
    if orders["min_order"] > orders["order"]:
        raise CommandError("--min-order must not be larger than --order", ExitCode.USAGE)

    def prepare(atoms: "AtomGroup", source: "Source") -> "InteractionFingerprint":
        from mdreel.analysis.fingerprints.fingerprint import InteractionFingerprint
        from mdreel.trajectory.selection import atoms_of

        second = None if other is None else atoms_of(atoms.universe, other, "--other")
        parameters = {}
        if has_bridges:
            waters = atoms_of(atoms.universe, _WATERS if water is None else water, "--water")
            parameters["WaterBridge"] = {"water": waters, **orders}
        return InteractionFingerprint(atoms, second, interactions, parameters, trajectory=source)

    def tabulate(analysis: "InteractionFingerprint") -> Table:
        return _table(analysis, list_entries, network)

    chosen = "default" if interactions is None else " ".join(interactions)
    facts: dict[str, object] = {"other": other, "interactions": chosen}
    if has_bridges:
        facts |= {"water": water or _WATERS, **orders}
    return AnalysisSpec("Interaction fingerprint", prepare, tabulate, facts, watch=lambda one: one.watched_columns())


def _table(analysis: "InteractionFingerprint", list_entries: bool, network: float | None) -> Table:
    import numpy as np

    from mdreel.analysis.fingerprints.interactions import BRIDGE, DEFINITIONS
    from mdreel.results.series import series_summary

    found = analysis.results
    counts = found.counts.astype(np.float64)
    names = [name for name in (*DEFINITIONS, BRIDGE) if name in found.interactions]
    kinds = [f"{name:<18}{(found.interactions == name).sum():>8,}" for name in names]
    text = "\n".join(
        [series_summary("interactions", "", analysis.times, counts), "ever found between two residues:", *kinds]
    )
    return Table(
        analysis.entry_columns() if list_entries else analysis.columns(),
        text,
        lambda title: analysis.plot(title=title) if network is None else analysis.plot_network(network, title=title),
    )
