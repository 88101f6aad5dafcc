"""The command ``mdreel site-rdf``, which computes the radial distribution function for each pair of atoms."""

from typing import TYPE_CHECKING

from mdreel.cli.analyses.rdf import Bins, Highest, Lowest, Normalisation
from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.options import shared

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.site_rdf import InterRDF_s

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
    """Compute the radial distribution function and the coordination number for each pair of atoms."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "InterRDF_s":
        from mdreel.analysis.site_rdf import InterRDF_s
        from mdreel.analysis.topology.topology_file import select_atoms

        others = atoms if other is None else select_atoms(atoms.universe, other, request.topology)
        return InterRDF_s(atoms.universe, [(atoms, others)], bins, (low, high), norm, trajectory=source)

    facts = {"other": request.selection if other is None else other, "norm": norm}
    return AnalysisSpec("Site-specific radial distribution", prepare, _table, facts)


def _table(analysis: "InterRDF_s") -> Table:
    ((first, second),) = analysis.ags
    analysis.get_cdf()
    results = analysis.results
    (count,) = results.count
    return Table.of(
        analysis,
        f"pairs    {len(first) * len(second):>16,}   {analysis.n_frames:,} frames",
        f"counted  {count.sum():>16,}   distances up to {results.edges[-1]:g} Å",
    )
