"""The command ``mdreel ramachandran``, which computes the torsions phi and psi of protein residues over time."""

from typing import TYPE_CHECKING, Annotated

from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.analyses.torsion_table import torsion_table
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.ramachandran import Ramachandran

EXAMPLES = """\
Examples:
  mdreel ramachandran -s adk.psf -f adk.xtc -o angles.csv --plot ramachandran.png
  mdreel ramachandran -s adk.psf -f adk.xtc --select "resid 30:59" --regions --plot lid.png
"""


@analysis_command("protein", EXAMPLES)
def ramachandran(
    request: Request,
    regions: Annotated[
        bool,
        Option(
            help="Instead of a density map, plot points, and regions that contain 90 and 99 % of reference structures."
        ),
    ] = False,
) -> AnalysisSpec:
    """Compute the backbone torsions phi and psi in each frame, for each residue that has both."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "Ramachandran":
        from mdreel.analysis.ramachandran import Ramachandran

        return Ramachandran(atoms, trajectory=source)

    return AnalysisSpec("Ramachandran angles", prepare, lambda analysis: _table(analysis, regions), {})


def _table(analysis: "Ramachandran", regions: bool) -> Table:
    def figure(title: str) -> "Figure":
        return analysis.draw_points(title, regions=True) if regions else analysis.plot_distribution(title=title)

    return torsion_table(analysis, figure)
