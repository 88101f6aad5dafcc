"""The command ``mdreel rg``, which computes the radius of gyration of a selection over time."""

from typing import TYPE_CHECKING

from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.options import shared

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.rg import Rg

EXAMPLES = """\
Examples:
  mdreel rg -s adk.psf -f adk.xtc -o rg.csv --plot rg.png
  mdreel rg -s adk.psf -f adk.xtc --select "protein and name CA" --weights none
"""


@analysis_command("protein", EXAMPLES)
def rg(
    request: Request,
    weights: shared.Weights = "mass",
) -> AnalysisSpec:
    """Compute the radius of gyration of a selection in each frame, and its radii about the axes."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "Rg":
        from mdreel.analysis.rg import Rg

        return Rg(atoms, "mass" if weights == "mass" else None, trajectory=source)

    return AnalysisSpec("Radius of gyration", prepare, _table, {"weights": weights})


def _table(analysis: "Rg") -> Table:
    from mdreel.results.series import series_summary

    _, time, radius, *_ = analysis.results.rgyr.T
    return Table.of(analysis, series_summary("Rg", "Å", time, radius))
