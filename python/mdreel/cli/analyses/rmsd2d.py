"""The command ``mdreel rmsd2d``, which computes the RMSD between all pairs of frames."""

from typing import TYPE_CHECKING

from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.options import shared

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.distance_matrix import DistanceMatrix

EXAMPLES = """\
Examples:
  mdreel rmsd2d -s adk.psf -f adk.xtc --step 10 -o rmsd2d.parquet --plot rmsd2d.png
"""


@analysis_command("protein and name CA", EXAMPLES)
def rmsd2d(
    request: Request,
    weights: shared.Weights = "none",
    superposition: shared.Superposition = True,
) -> AnalysisSpec:
    """Compute the minimum RMSD of a selection between all pairs of frames. The table has one row per pair."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "DistanceMatrix":
        from mdreel.analysis.distance_matrix import DistanceMatrix

        mass = "mass" if weights == "mass" else None
        return DistanceMatrix(atoms, weights=mass, superposition=superposition, trajectory=source)

    facts = {"weights": weights, "superposition": superposition}
    return AnalysisSpec("RMSD of pairs of frames", prepare, _table, facts)


def _table(analysis: "DistanceMatrix") -> Table:
    import numpy as np

    matrix, frames = analysis.results.dist_matrix, analysis.frames
    first, second = np.triu_indices(len(frames), 1)
    values = matrix[first, second]
    summary = f"frames {len(frames):,}   pairs {len(values):,}"
    if len(values):
        furthest = int(values.argmax())
        pair = f"frames {frames[first[furthest]]} and {frames[second[furthest]]}"
        summary += f"\nRMSD mean    {values.mean():>10.3f} Å\n     highest {values.max():>10.3f} Å  {pair}"
    return Table.of(analysis, summary)
