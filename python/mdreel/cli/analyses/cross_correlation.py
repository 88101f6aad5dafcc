"""The command ``mdreel cross-correlation``, which computes correlations between the motions of atoms."""

from typing import TYPE_CHECKING, Annotated

from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.cross_correlation import CrossCorrelation

EXAMPLES = """\
Examples:
  mdreel cross-correlation -s adk.psf -f adk.xtc --superposition --plot correlation.png
  mdreel cross-correlation -s adk.psf -f adk.xtc --superposition --min-correlation 0.5 -o network.csv
  mdreel cross-correlation -s adk.psf -f adk.xtc --superposition --mutual-information -o pairs.parquet
"""


@analysis_command("protein and name CA", EXAMPLES)
def cross_correlation(
    request: Request,
    superposition: shared.Superposition = False,
    mutual_information: Annotated[
        bool, Option(help="Also compute the linear mutual information and the generalized correlation.")
    ] = False,
    min_correlation: Annotated[
        float | None,
        Option(
            metavar="C",
            minimum=0,
            help="Write only pairs whose correlation has at least this magnitude.  [default: all pairs]",
        ),
    ] = None,
) -> AnalysisSpec:
    """Compute the correlation between the displacements of all pairs of atoms (DCCM).

    With --superposition, all frames are superposed on the first analysed frame. The table has one row per pair of
    atoms, and can be imported into Cytoscape as a network.
    """
    if min_correlation is not None and min_correlation > 1:
        raise CommandError(f"--min-correlation must be 0 to 1, not {min_correlation:g}", ExitCode.USAGE)

    def prepare(atoms: "AtomGroup", source: "Source") -> "CrossCorrelation":
        from mdreel.analysis.cross_correlation import CrossCorrelation

        return CrossCorrelation(atoms, None, superposition, mutual_information, trajectory=source)

    facts = {"superposition": superposition, "min_correlation": min_correlation}
    return AnalysisSpec("Correlations of atoms", prepare, lambda analysis: _table(analysis, min_correlation), facts)


def _table(analysis: "CrossCorrelation", min_correlation: float | None) -> Table:
    import numpy as np

    matrix, labels = analysis.results.correlation, analysis.atom_labels
    n_atoms = len(matrix)
    lines = [f"atoms     {n_atoms:>10,}   {analysis.n_frames:,} frames"]
    values = np.where(np.tri(n_atoms, dtype=bool), np.nan, matrix)
    if np.isfinite(values).any():
        for name, place in (("lowest", np.nanargmin(values)), ("highest", np.nanargmax(values))):
            i, j = divmod(int(place), n_atoms)
            lines.append(f"{name:<10}{matrix[i, j]:>10.3f}   {labels[i]} and {labels[j]}")
    for name in ("correlation", "generalized_correlation"):
        if name in analysis.results:
            upper = analysis.results[name][np.triu_indices(n_atoms, 1)]
            n_strong = int((np.abs(upper) >= 0.5).sum())
            lines.append(f"pairs     {n_strong:>10,}   with a {name.replace('_', ' ')} of at least 0.5 in magnitude")
    n_still = int(np.isnan(np.diag(matrix)).sum())
    if n_still:
        lines.append(f"still     {n_still:>10,}   atoms do not move, so their correlations are not defined")
    return Table.of(analysis, *lines, columns=analysis.pair_columns(min_correlation))
