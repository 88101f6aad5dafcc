"""The command ``mdreel dihedrals``, which computes the torsions of a protein over time."""

from typing import TYPE_CHECKING, Annotated

from mdreel.analysis.choices import Features, TorsionKind
from mdreel.cli.analyses.request import AnalysisSpec, Request, analysis_command
from mdreel.cli.analyses.torsion_table import torsion_table
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.dihedrals import Dihedrals

EXAMPLES = """\
Examples:
  mdreel dihedrals -s adk.psf -f adk.xtc -o torsions.nc --plot torsions.png
  mdreel dihedrals -s adk.psf -f adk.xtc --kind chi1 --kind chi2 --features cos_sin -o features.parquet
"""


@analysis_command("protein", EXAMPLES)
def dihedrals(
    request: Request,
    kinds: Annotated[
        list[TorsionKind] | None, Option("--kind", help="Type of torsion. Can be repeated.  [default: phi and psi]")
    ] = None,
    features: Annotated[Features, Option(help="Write each angle, or its cosine and sine.")] = "degrees",
) -> AnalysisSpec:
    """Compute the torsions of a protein (phi, psi, omega, chi1 to chi4) in each frame."""
    wanted = kinds or ["phi", "psi"]

    def prepare(atoms: "AtomGroup", source: "Source") -> "Dihedrals":
        from mdreel.analysis.dihedrals import Dihedrals

        return Dihedrals(atoms, wanted, features, trajectory=source)

    facts = {"torsions": " ".join(wanted), "features": features}
    return AnalysisSpec("Dihedral angles", prepare, torsion_table, facts)
