"""The command ``mdreel msd``, which computes mean square displacements and the diffusion coefficient."""

from typing import TYPE_CHECKING, Annotated, Literal

from mdreel.analysis.choices import Coordinates, Scheme
from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.msd import EinsteinMSD

EXAMPLES = """\
Examples:
  mdreel msd -s run.tpr -f run.xtc --select "name OW" --unwrap-jumps lattice -o msd.csv --plot msd.png
  mdreel msd -s run.tpr -f run.xtc --select "name P" --axes xy --max-lag 1000 --fit-begin 100 --fit-end 900
"""


@analysis_command("all", EXAMPLES)
def msd(
    request: Request,
    axes: Annotated[Coordinates, Option(help="Coordinates to include.")] = "xyz",
    max_lag: Annotated[int | None, Option(metavar="N", minimum=0, help="Longest lag time, in frames.")] = None,
    unwrap_jumps: Annotated[
        Literal[Scheme, "none"],
        Option(help="Undo jumps across cell boundaries by counting cells or by summing displacements."),
    ] = "none",
    fft: Annotated[
        bool,
        Option("--fft/--direct", help="Use Fourier transforms, or compute the sums over pairs of frames directly."),
    ] = True,
    fit_begin: Annotated[
        float | None, Option(metavar="PS", help="First lag time of the fit.  [default: at 10 %]")
    ] = None,
    fit_end: Annotated[float | None, Option(metavar="PS", help="Last lag time of the fit.  [default: at 90 %]")] = None,
) -> AnalysisSpec:
    """Compute the mean square displacement of particles for each lag time, and their diffusion coefficient."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "EinsteinMSD":
        from mdreel.analysis.msd import EinsteinMSD

        scheme = None if unwrap_jumps == "none" else unwrap_jumps
        return EinsteinMSD(
            atoms, None, axes, fft, max_lag=max_lag, nojump=scheme, per_particle=False, trajectory=source
        )

    def tabulate(analysis: "EinsteinMSD") -> Table:
        return _table(analysis, fit_begin, fit_end)

    def fitted(analysis: "EinsteinMSD") -> str:
        return "\n".join(_fit(analysis, fit_begin, fit_end))

    facts = {"axes": axes, "jumps": unwrap_jumps}
    return AnalysisSpec("Mean square displacement", prepare, tabulate, facts, beside_files=fitted)


def _table(analysis: "EinsteinMSD", begin: float | None, end: float | None) -> Table:
    times, values = analysis.results.delta_t_values, analysis.results.timeseries
    lines = [
        f"frames     {analysis.n_frames:>12,}   up to {len(times) - 1:,} apart",
        f"longest    {times[-1]:>12.6g} ps   msd {values[-1]:.3f} Å²",
    ]
    return Table.of(analysis, *lines, *_fit(analysis, begin, end))


def _fit(analysis: "EinsteinMSD", begin: float | None, end: float | None) -> list[str]:
    """Return lines of text with the slope and the diffusion coefficient."""
    from mdreel.errors import MismatchError

    try:
        fit = analysis.diffusion(begin, end)
    except MismatchError as error:
        return [f"diffusion  none: {error}"]
    return [
        f"slope      {fit.slope:>12.4g} Å²/ps   from {fit.begin:g} to {fit.end:g} ps",
        f"diffusion  {fit.coefficient * 10:>12.4g} ± {fit.error * 10:.2g}   in 1e-5 cm²/s",
    ]
