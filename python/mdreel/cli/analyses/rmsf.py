"""``mdreel rmsf``: root mean square fluctuation of each atom."""

from typing import TYPE_CHECKING, Annotated

from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.rmsf import RMSF

EXAMPLES = """\
Examples:
  mdreel rmsf -s adk.psf -f adk.xtc -o rmsf.csv --plot rmsf.png
  mdreel rmsf -s adk.psf -f adk.xtc --select backbone --superposition
  mdreel rmsf -s adk.psf -f adk.xtc --fit "name CA and resid 1:29" --step 10
"""


@analysis_command("protein and name CA", EXAMPLES)
def rmsf(
    request: Request,
    superposition: Annotated[
        bool,
        Option("--superposition", group=shared.ANALYSIS, help="Superpose each frame on the first one beforehand."),
    ] = False,
    fit: Annotated[
        str | None,
        Option(
            "--fit",
            metavar="SELECTION",
            group=shared.ANALYSIS,
            help="Superpose these atoms.  [default with --superposition: the selection]",
        ),
    ] = None,
) -> AnalysisSpec:
    """Root mean square fluctuation of each atom about its mean position."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "RMSF":
        from mdreel.analysis.rmsf import RMSF
        from mdreel.analysis.topology.topology_file import select_atoms

        by = superposition if fit is None else select_atoms(atoms.universe, fit, request.topology)
        return RMSF(atoms, superposition=by, trajectory=source)

    by = request.selection if superposition and fit is None else fit
    return AnalysisSpec("RMSF", prepare, _table, {"superposition": by or "none"})


def _table(analysis: "RMSF") -> Table:
    from mdreel.analysis.topology.residue_labels import ResidueLabels

    atoms, values = analysis.atomgroup, analysis.results.rmsf
    lowest, highest = int(values.argmin()), int(values.argmax())
    labels = ResidueLabels.of(atoms)
    named = [f"{atoms[i].name} of {labels.texts[i]}" for i in (lowest, highest)]
    return Table(
        analysis.columns(),
        "\n".join(
            (
                f"atoms       {len(values):>10,}   {analysis.n_frames:,} frames",
                f"RMSF lowest {values[lowest]:>10.3f} Å  {named[0]}",
                f"     mean   {values.mean():>10.3f} Å",
                f"     highest{values[highest]:>10.3f} Å  {named[1]}",
            )
        ),
        lambda title: analysis.plot(title=title),
    )
