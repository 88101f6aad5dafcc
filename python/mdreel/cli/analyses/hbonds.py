"""The command ``mdreel hbonds``, which finds hydrogen bonds within a selection or between two selections."""

import math
from typing import TYPE_CHECKING, Annotated

from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.hydrogen_bonds import HydrogenBondAnalysis

EXAMPLES = """\
Examples:
  mdreel hbonds -s adk.psf -f adk.xtc -o hbonds.csv --plot hbonds.png
  mdreel hbonds -s system.tpr -f run.xtc --select protein --other "resname SOL" -o hbonds.parquet
  mdreel hbonds -s system.tpr -f run.xtc --lifetime 50 --intermittency 1 -o lifetime.csv --plot lifetime.png
"""


@analysis_command("protein", EXAMPLES)
def hbonds(
    request: Request,
    other: Annotated[str | None, shared.second_selection("hydrogen bonds")] = None,
    hydrogens: Annotated[
        str | None, Option(metavar="SELECTION", help="Hydrogens.  [default: guessed from mass and charge]")
    ] = None,
    acceptors: Annotated[
        str | None, Option(metavar="SELECTION", help="Acceptors.  [default: guessed from the charge]")
    ] = None,
    distance: Annotated[float, Option(metavar="Å", minimum=0, help="Longest distance from donor to acceptor.")] = 3.0,
    angle: Annotated[float, Option(metavar="DEGREES", help="Smallest angle at the hydrogen.")] = 150.0,
    lifetime: Annotated[
        int | None,
        Option(
            metavar="N",
            minimum=1,
            help="Instead of the bonds, write the fraction of bonds that survive up to N frames.",
        ),
    ] = None,
    intermittency: Annotated[
        int,
        Option(
            metavar="N",
            minimum=0,
            help="With --lifetime: maximum number of consecutive frames in which a bond can be broken.",
        ),
    ] = 0,
) -> AnalysisSpec:
    """Find hydrogen bonds within a selection or between two selections in each frame. The topology needs bonds."""
    if intermittency and lifetime is None:
        raise CommandError("--intermittency requires --lifetime", ExitCode.USAGE)
    selection = request.selection

    def prepare(atoms: "AtomGroup", source: "Source") -> "HydrogenBondAnalysis":
        from mdreel.analysis.hydrogen_bonds import HydrogenBondAnalysis
        from mdreel.errors import SelectionError

        analysis = HydrogenBondAnalysis(
            atoms.universe,
            hydrogens_sel=hydrogens,
            acceptors_sel=acceptors,
            between=(selection, selection if other is None else other),
            d_a_cutoff=distance,
            d_h_a_angle_cutoff=angle,
            trajectory=source,
        )
        if not analysis.has_candidates:
            raise SelectionError("there are no donors with hydrogens, or no acceptors, between the selections")
        return analysis

    facts = {"other": selection if other is None else other, "distance": distance, "angle": angle}
    if lifetime is None:
        return AnalysisSpec("Hydrogen bonds", prepare, _table, facts)

    def tabulate(analysis: "HydrogenBondAnalysis") -> Table:
        return _table_of_lifetimes(analysis, lifetime, intermittency)

    return AnalysisSpec("Lifetime of hydrogen bonds", prepare, tabulate, {**facts, "intermittency": intermittency})


def _table(analysis: "HydrogenBondAnalysis") -> Table:
    import numpy as np

    from mdreel.results.series import series_summary

    counts = analysis.count_by_time().astype(np.float64)
    return Table.of(analysis, series_summary("bonds", "", analysis.times, counts))


def _table_of_lifetimes(analysis: "HydrogenBondAnalysis", most: int, intermittency: int) -> Table:
    import numpy as np

    from mdreel.results.column import Column

    taus, shares = analysis.lifetime(most, intermittency=intermittency)
    times = taus * analysis.interval
    below = np.flatnonzero(shares < math.exp(-1))
    falls = f"after {times[below[0]]:,.6g} ps" if len(below) else f"not within {times[-1]:,.6g} ps"
    return Table(
        [
            Column("frames", "", taus.astype(np.int64)),
            Column("lag_time", "ps", times),
            Column("bonds_still_there", "", shares),
        ],
        "\n".join(
            (
                f"bonds          {len(analysis.results.hbonds):>12,}   {analysis.n_frames:,} frames",
                f"still there    {shares[1]:>12.3f}   after {times[1]:,.6g} ps",
                f"               {shares[-1]:>12.3f}   after {times[-1]:,.6g} ps",
                f"fewer than 1/e {falls}",
            )
        ),
        lambda title: analysis.plot_lifetime(most, intermittency=intermittency, title=title),
    )
