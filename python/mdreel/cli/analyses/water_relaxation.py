"""Command ``mdreel water-relaxation``, which computes how fast water molecules in a shell turn."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.options import shells
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.hydration.water_relaxation import WaterOrientationalRelaxation

EXAMPLES = """\
Examples:
  mdreel water-relaxation -s system.tpr -f run.xtc --dynamic "name OW and around 3.5 protein" -o turning.csv
  mdreel water-relaxation -s system.tpr -f run.xtc --dynamic "name OW" --order 1 --tau-max 50 --plot turning.png
"""


@analysis_command("all", EXAMPLES)
def water_relaxation(
    request: Request,
    dynamic: shells.Dynamic = None,
    tau_max: shells.TauMax = 20,
    order: Annotated[Literal["1", "2"], Option(help="Order of the Legendre polynomial.")] = "2",
) -> AnalysisSpec:
    """Compute the orientational correlation functions of water molecules in a shell."""
    shell = shells.checked_dynamic(dynamic)

    def prepare(atoms: "AtomGroup", source: "Source") -> "WaterOrientationalRelaxation":
        from mdreel.analysis.hydration.water_relaxation import WaterOrientationalRelaxation

        return WaterOrientationalRelaxation(atoms, shell, tau_max, 1 if order == "1" else 2, trajectory=source)

    return AnalysisSpec("Orientation of water", prepare, _table, {"dynamic": shell, "order": order})


def _table(analysis: "WaterOrientationalRelaxation") -> Table:
    from mdreel.analysis.hydration.decay_time import decay_line
    from mdreel.analysis.hydration.water_relaxation import WATER_VECTORS

    results = analysis.results
    lines = [f"selected    {results.counts.mean():>10.1f}   molecules on average in {analysis.n_frames:,} frames"]
    for vector in WATER_VECTORS:
        lines += [decay_line(f"relaxation of {vector}", partial(analysis.relaxation_time, vector))]
    return Table.of(analysis, *lines)
