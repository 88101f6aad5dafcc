"""The command ``mdreel pca``, which computes the principal components of the motion of a selection."""

from typing import TYPE_CHECKING, Annotated

from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.pca import PCA

EXAMPLES = """\
Examples:
  mdreel pca -s adk.psf -f adk.xtc --superposition -o variance.csv --plot variance.png
  mdreel pca -s adk.psf -f adk.xtc --superposition --components 3 -o components.npz
"""


@analysis_command("protein and name CA", EXAMPLES)
def pca(
    request: Request,
    superposition: shared.Superposition = False,
    components: Annotated[
        int | None,
        Option(
            metavar="N",
            minimum=1,
            help="Instead of the variances, write the vectors of the first N components, with one row per atom.",
        ),
    ] = None,
) -> AnalysisSpec:
    """Compute the principal components of the positions of a selection, and their variances.

    With --superposition, all frames are superposed on the first analysed frame. Use `mdreel projection` to project
    frames on the components.
    """

    def prepare(atoms: "AtomGroup", source: "Source") -> "PCA":
        from mdreel.analysis.pca import PCA

        return PCA(atoms, align=superposition, trajectory=source)

    return AnalysisSpec("PCA", prepare, lambda analysis: _table(analysis, components), {"superposition": superposition})


def _table(analysis: "PCA", n_components: int | None) -> Table:
    import numpy as np

    from mdreel.analysis.topology.residue_labels import atom_columns
    from mdreel.results.column import Column

    results, atoms = analysis.results, analysis.atomgroup
    cumulated, variance = results.cumulated_variance, results.variance
    columns = analysis.columns()
    if n_components is not None:
        directions = results.p_components[:, :n_components].T.reshape(-1, len(atoms), 3)
        columns = [
            *atom_columns(atoms),
            *(Column(f"mean_{axis}", "Å", values) for axis, values in zip("xyz", results.mean.T, strict=True)),
            *(
                Column(f"pc{i}_{axis}", "", np.ascontiguousarray(values))
                for i, direction in enumerate(directions, 1)
                for axis, values in zip("xyz", direction.T, strict=True)
            ),
        ]
    lines = [
        f"component {i + 1}  {variance[i]:>12.3f} Å^2   cumulated {cumulated[i]:>6.1%}"
        for i in range(min(5, len(variance)))
    ]
    return Table.of(analysis, f"atoms {len(atoms):,}   {analysis.n_frames:,} frames", *lines, columns=columns)
