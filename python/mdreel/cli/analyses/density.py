"""The command ``mdreel density``, which computes the density of atoms on a grid."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.errors import CommandError, ExitCode, checking_output, failing_with
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.density import DensityAnalysis

EXAMPLES = """\
Examples:
  mdreel density -s run.tpr -f run.xtc --select "name OW" --transform whole --transform center --grid water.dx
  mdreel density -s adk.psf -f adk.xtc --delta 2 -o density.npz --plot density.png
"""
_GRIDS = (".dx", ".ccp4", ".mrc")


@analysis_command("protein", EXAMPLES)
def density(
    request: Request,
    delta: Annotated[float, Option(metavar="Å", help="Width of a bin.")] = 1.0,
    padding: Annotated[
        float, Option(metavar="Å", minimum=0, help="Distance from the outermost atoms to the edges of the grid.")
    ] = 2.0,
    grid: Annotated[
        Path | None, Option(metavar="FILE", group=shared.OUTPUT, help="Grid for molecular viewers: .dx .ccp4 .mrc")
    ] = None,
) -> AnalysisSpec:
    """Count the selected atoms in each bin of a grid, and compute the density."""
    if grid is not None:
        from mdreel.foundation.atomic_files import check_target

        if grid.suffix.lower() not in _GRIDS:
            raise CommandError(f"{grid}: expected one of {' '.join(_GRIDS)}", ExitCode.USAGE)
        with checking_output(grid):
            check_target(grid, request.force)

    def prepare(atoms: "AtomGroup", source: "Source") -> "DensityAnalysis":
        from mdreel.analysis.density import DensityAnalysis

        return DensityAnalysis(atoms, delta, padding=padding, trajectory=source)

    def write(analysis: "DensityAnalysis") -> None:
        if grid is not None:
            _export(analysis, grid, request.force)

    return AnalysisSpec("Density", prepare, _table, {"delta": delta, "padding": padding}, write=write)


def _export(analysis: "DensityAnalysis", path: Path, force: bool) -> None:
    from mdreel.foundation.atomic_files import replacing_by_ending

    kind = {} if path.suffix.lower() == ".dx" else {"file_format": "MRC"}
    with failing_with(ExitCode.OUTPUT), replacing_by_ending(path, force) as named:
        analysis.results.density.export(str(named), **kind)


def _table(analysis: "DensityAnalysis") -> Table:
    counts, found = analysis.results.counts, analysis.results.density
    n_counted, n_seen = int(counts.sum()), len(analysis.atoms) * analysis.n_frames
    return Table.of(
        analysis,
        f"grid      {' x '.join(map(str, counts.shape)):>16}   bins of {analysis.delta:g} Å",
        f"frames    {analysis.n_frames:>16,}",
        f"counted   {n_counted:>16,}   {100 * n_counted / n_seen:.2f} % of the atoms",
        f"highest   {found.grid.max():>16.4g} Å^-3",
    )
