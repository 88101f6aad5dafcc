"""The command ``mdreel janin``, which computes the torsions chi1 and chi2 of protein residues over time."""

from typing import TYPE_CHECKING, Annotated

from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.analyses.torsion_table import torsion_table
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.ramachandran import Janin

EXAMPLES = """\
Examples:
  mdreel janin -s adk.psf -f adk.xtc -o angles.csv --plot janin.png
  mdreel janin -s adk.psf -f adk.xtc --select "resname LYS ARG" --regions --plot long.png
"""


@analysis_command("protein", EXAMPLES)
def janin(
    request: Request,
    remove: Annotated[
        str, Option(metavar="SELECTION", help="Residues to exclude because they do not have a chi2 torsion.")
    ] = "resname ALA CYS* GLY PRO SER THR VAL",
    regions: Annotated[
        bool, Option(help="Also plot the regions that contain 90 and 99 % of reference structures.")
    ] = False,
) -> AnalysisSpec:
    """Compute the side chain torsions chi1 and chi2 of each residue, from 0 to 360 degrees, in each frame."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "Janin":
        from mdreel.analysis.ramachandran import Janin

        return Janin(atoms, remove, trajectory=source)

    return AnalysisSpec("Janin angles", prepare, lambda analysis: _table(analysis, regions), {"remove": remove})


def _table(analysis: "Janin", regions: bool) -> Table:
    return torsion_table(analysis, lambda title: analysis.draw_points(title, regions=regions))
