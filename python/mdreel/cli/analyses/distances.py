"""``mdreel distances``: mean, variance and contact frequency of all distances."""

from typing import TYPE_CHECKING, Annotated

from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.distances import DistanceArray

EXAMPLES = """\
Examples:
  mdreel distances -s adk.psf -f adk.xtc -o distances.parquet --plot distances.png
  mdreel distances -s system.tpr -f run.xtc --select "name CA" --other "resname LIG" --cutoff 6 --pbc
"""


@analysis_command("protein and name CA", EXAMPLES)
def distances(
    request: Request,
    other: shared.Other = None,
    cutoff: Annotated[
        float,
        Option(metavar="Å", minimum=0, group=shared.ANALYSIS, help="Two atoms closer than this are in contact."),
    ] = 8.0,
    pbc: Annotated[bool, Option("--pbc", group=shared.ANALYSIS, help="Use minimum-image distances.")] = False,
) -> AnalysisSpec:
    """Mean, variance and contact frequency of the distances of all atoms to all others."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "DistanceArray":
        from mdreel.analysis.distances import DistanceArray
        from mdreel.analysis.topology.topology_file import select_atoms

        others = None if other is None else select_atoms(atoms.universe, other, request.topology)
        return DistanceArray(atoms, others, cutoff=cutoff, pbc=pbc, trajectory=source)

    facts = {"other": request.selection if other is None else other, "cutoff": cutoff, "pbc": pbc}
    return AnalysisSpec("Distances", prepare, _table, facts)


def _table(analysis: "DistanceArray") -> Table:
    results = analysis.results
    frequency = results.contact_frequency
    return Table(
        analysis.columns(),
        "\n".join(
            (
                f"pairs           {frequency.size:>12,}   {analysis.n_frames:,} frames",
                f"mean distance   {results.mean.mean():>12.3f} Å",
                f"always in contact {int((frequency == 1).sum()):>10,}",
                f"never in contact  {int((frequency == 0).sum()):>10,}",
            )
        ),
        lambda title: analysis.plot(title=title),
    )
