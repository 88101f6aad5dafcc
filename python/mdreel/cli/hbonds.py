"""``mdreel hbonds``: hydrogen bonds within a selection, or between two."""

import math
from typing import TYPE_CHECKING, Annotated

import typer

from mdreel.cli import options
from mdreel.cli.analysing import Question, Request, Table, analysis_command
from mdreel.cli.exits import CommandError, ExitCode

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.hydrogen_bonds import HydrogenBondAnalysis

EXAMPLES = """\b
Examples:
  mdreel hbonds -s adk.psf -f adk.xtc -o hbonds.csv --plot hbonds.png
  mdreel hbonds -s system.tpr -f run.xtc --select protein --other "resname SOL" -o hbonds.parquet
  mdreel hbonds -s system.tpr -f run.xtc --lifetime 50 --intermittency 1 -o lifetime.csv --plot lifetime.png
"""


@analysis_command("protein", "Hydrogen bonds.", EXAMPLES)
def hbonds(
    request: Request,
    other: Annotated[
        str | None,
        typer.Option(
            "--other",
            metavar="SELECTION",
            rich_help_panel=options.ANALYSIS,
            help="The atoms to which hydrogen bonds are looked for.  [default: the same]",
        ),
    ] = None,
    hydrogens: Annotated[
        str | None,
        typer.Option(
            metavar="SELECTION", rich_help_panel=options.ANALYSIS, help="Hydrogens.  [default: by mass and charge]"
        ),
    ] = None,
    acceptors: Annotated[
        str | None,
        typer.Option(metavar="SELECTION", rich_help_panel=options.ANALYSIS, help="Acceptors.  [default: by charge]"),
    ] = None,
    distance: Annotated[
        float,
        typer.Option(metavar="Å", min=0, rich_help_panel=options.ANALYSIS, help="Longest from donor to acceptor."),
    ] = 3.0,
    angle: Annotated[
        float,
        typer.Option(metavar="DEGREES", rich_help_panel=options.ANALYSIS, help="Angle at the hydrogen, at least."),
    ] = 150.0,
    lifetime: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            rich_help_panel=options.ANALYSIS,
            help="Write, instead of the bonds, which share of them is still there up to N frames later.",
        ),
    ] = None,
    intermittency: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            rich_help_panel=options.ANALYSIS,
            help="For how many frames in a row a bond may be away that comes back; with --lifetime.",
        ),
    ] = 0,
) -> Question:
    """Hydrogen bonds within a selection, or between two, in every frame; the topology needs bonds."""
    if intermittency and lifetime is None:
        raise CommandError("--intermittency is for --lifetime", ExitCode.USAGE)
    selection = request.selection

    def prepare(atoms: "AtomGroup", source: "Source") -> "HydrogenBondAnalysis":
        from mdreel.analysis.hydrogen_bonds import HydrogenBondAnalysis

        return HydrogenBondAnalysis(
            atoms.universe,
            hydrogens_sel=hydrogens,
            acceptors_sel=acceptors,
            between=(selection, selection if other is None else other),
            d_a_cutoff=distance,
            d_h_a_angle_cutoff=angle,
            trajectory=source,
        )

    facts = {"other": selection if other is None else other, "distance": distance, "angle": angle}
    if lifetime is None:
        return Question("Hydrogen bonds", prepare, _table, facts)

    def tabulate(analysis: "HydrogenBondAnalysis") -> Table:
        return _table_of_lifetimes(analysis, lifetime, intermittency)

    return Question("Lifetime of hydrogen bonds", prepare, tabulate, {**facts, "intermittency": intermittency})


def _table(analysis: "HydrogenBondAnalysis") -> Table:
    import numpy as np

    from mdreel.cli.series import series_summary
    from mdreel.results.column import Column

    *numbers, distance, angle = analysis.results.hbonds.T
    names = ("frame", "donor", "hydrogen", "acceptor")
    counts = analysis.count_by_time().astype(np.float64)
    return Table(
        [
            *(Column(name, "", values.astype(np.int64)) for name, values in zip(names, numbers, strict=True)),
            Column("distance", "Å", distance),
            Column("angle", "°", angle),
        ],
        series_summary("bonds", "", analysis.times, counts),
        lambda title: analysis.plot(title=title),
    )


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
