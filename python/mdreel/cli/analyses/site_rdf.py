"""``mdreel site-rdf``: the radial distribution function of each pair of atoms."""

from typing import TYPE_CHECKING

from mdreel.cli.analyses.rdf import Bins, Highest, Lowest, Normalisation
from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.options import shared

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.rdf import InterRDF_s

EXAMPLES = """\
Examples:
  mdreel site-rdf -s system.tpr -f run.xtc --select "resid 17 and name OD1 OD2" --other "name NA" -o sites.parquet
  mdreel site-rdf -s system.tpr -f run.xtc -n sites.ndx --select "group Site" --other "group Ions" --to 10
"""


@analysis_command("protein and name CA", EXAMPLES)
def site_rdf(
    request: Request,
    other: shared.Other = None,
    bins: Bins = 75,
    low: Lowest = 0.0,
    high: Highest = 15.0,
    norm: Normalisation = "rdf",
) -> AnalysisSpec:
    """Radial distribution function and coordination number of each pair of atoms; a row for each bin of each pair."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "InterRDF_s":
        from mdreel.analysis.rdf import InterRDF_s
        from mdreel.analysis.topology.topology_file import select_atoms

        others = atoms if other is None else select_atoms(atoms.universe, other, request.topology)
        return InterRDF_s(atoms.universe, [(atoms, others)], bins, (low, high), norm, trajectory=source)

    facts = {"other": request.selection if other is None else other, "norm": norm}
    return AnalysisSpec("Site-specific radial distribution", prepare, _table, facts)


def _table(analysis: "InterRDF_s") -> Table:
    import numpy as np

    from mdreel.results.column import Column

    ((first, second),) = analysis.ags
    results, (cumulated,) = analysis.results, analysis.get_cdf()
    (rdf,), (count,) = results.rdf, results.count
    shape = rdf.shape
    unit = "Å^-3" if analysis.norm == "density" else ""

    def spread(values: "np.ndarray", axis: int) -> "np.ndarray":
        places = tuple(slice(None) if one == axis else None for one in range(3))
        return np.broadcast_to(values[places], shape).ravel()

    return Table(
        [
            Column("atom", "", spread(first.ix.astype(np.int64), 0)),
            Column("other", "", spread(second.ix.astype(np.int64), 1)),
            Column("r", "Å", spread(results.bins, 2)),
            Column("rdf", unit, rdf.ravel()),
            Column("count", "", count.ravel()),
            Column("cdf", "", cumulated.ravel()),
        ],
        "\n".join(
            (
                f"pairs    {shape[0] * shape[1]:>16,}   {analysis.n_frames:,} frames",
                f"counted  {count.sum():>16,}   distances up to {results.edges[-1]:g} Å",
            )
        ),
        lambda title: analysis.plot(title=title),
    )
