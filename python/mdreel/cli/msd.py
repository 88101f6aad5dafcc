"""``mdreel msd``: mean square displacements, and the diffusion coefficient."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from mdreel.cli import options
from mdreel.cli.analysing import Question, Request, Table, analysis_command

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.msd import EinsteinMSD
    from mdreel.analysis.transformations import Scheme

EXAMPLES = """\b
Examples:
  mdreel msd -s run.tpr -f run.xtc --select "name OW" --unwrap-jumps lattice -o msd.csv --plot msd.png
  mdreel msd -s run.tpr -f run.xtc --select "name P" --axes xy --max-lag 1000 --fit-begin 100 --fit-end 900
"""


class Coordinates(StrEnum):
    """Which coordinates count."""

    XYZ = "xyz"
    XY = "xy"
    XZ = "xz"
    YZ = "yz"
    X = "x"
    Y = "y"
    Z = "z"


class Jumps(StrEnum):
    """How jumps across boundaries are undone."""

    LATTICE = "lattice"
    TOROIDAL = "toroidal"
    NONE = "none"


@analysis_command("all", "Mean square displacement and diffusion.", EXAMPLES)
def msd(
    request: Request,
    axes: Annotated[
        Coordinates, typer.Option(rich_help_panel=options.ANALYSIS, help="Which coordinates count.")
    ] = Coordinates.XYZ,
    max_lag: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, rich_help_panel=options.ANALYSIS, help="Most frames between two positions."),
    ] = None,
    unwrap_jumps: Annotated[
        Jumps,
        typer.Option(
            rich_help_panel=options.ANALYSIS,
            help="How jumps across boundaries are undone: counting cells, or adding up how far atoms go.",
        ),
    ] = Jumps.NONE,
    fft: Annotated[
        bool,
        typer.Option("--fft/--direct", rich_help_panel=options.ANALYSIS, help="By Fourier transforms, or by pairs."),
    ] = True,
    fit_begin: Annotated[
        float | None,
        typer.Option(metavar="PS", rich_help_panel=options.ANALYSIS, help="Where the fit begins.  [default: at 10 %]"),
    ] = None,
    fit_end: Annotated[
        float | None,
        typer.Option(metavar="PS", rich_help_panel=options.ANALYSIS, help="Where the fit ends.  [default: at 90 %]"),
    ] = None,
) -> Question:
    """Mean square displacement of particles for each time that passes, and the diffusion coefficient."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "EinsteinMSD":
        from mdreel.analysis.msd import EinsteinMSD

        scheme: Scheme | None = None
        if unwrap_jumps is not Jumps.NONE:
            scheme = "lattice" if unwrap_jumps is Jumps.LATTICE else "toroidal"
        return EinsteinMSD(
            atoms, axes.value, fft, max_lag=max_lag, nojump=scheme, per_particle=False, trajectory=source
        )

    def tabulate(analysis: "EinsteinMSD") -> Table:
        return _table(analysis, fit_begin, fit_end)

    facts = {"axes": axes.value, "jumps": unwrap_jumps.value}
    return Question("Mean square displacement", prepare, tabulate, facts)


def _table(analysis: "EinsteinMSD", begin: float | None, end: float | None) -> Table:
    from mdreel.errors import MismatchError
    from mdreel.results.column import Column

    times, values = analysis.results.delta_t_values, analysis.results.timeseries
    lines = [
        f"frames     {analysis.n_frames:>12,}   up to {len(times) - 1:,} apart",
        f"longest    {times[-1]:>12.6g} ps   msd {values[-1]:.3f} Å²",
    ]
    try:
        fit = analysis.diffusion(begin, end)
    except MismatchError as error:
        lines.append(f"diffusion  none: {error}")
    else:
        lines += [
            f"slope      {fit.slope:>12.4g} Å²/ps   from {fit.begin:g} to {fit.end:g} ps",
            f"diffusion  {fit.coefficient * 10:>12.4g} ± {fit.error * 10:.2g} 1e-5 cm²/s",
        ]
    return Table(
        [Column("lag_time", "ps", times), Column("msd", "Å^2", values)],
        "\n".join(lines),
        lambda title: analysis.plot(title=title),
    )
