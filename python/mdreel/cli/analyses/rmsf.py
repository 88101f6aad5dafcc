"""The command ``mdreel rmsf``, which computes the root mean square fluctuation of each atom."""

from typing import TYPE_CHECKING, Annotated

from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command, check_reference
from mdreel.cli.errors import CommandError, ExitCode
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
    superposition: shared.OptionalSuperposition = None,
    fit: Annotated[
        str | None,
        Option(
            metavar="SELECTION",
            help="Superpose frames on these atoms. This implies --superposition.  [default: the selection]",
        ),
    ] = None,
    reference: shared.Reference = None,
    reference_frame: shared.ReferenceFrame = None,
    weights: shared.Weights = "none",
    match_atoms: shared.MatchAtoms = True,
    tol_mass: shared.MassTolerance = 0.1,
) -> AnalysisSpec:
    """Compute the root mean square fluctuation of each atom about its mean position."""
    check_reference(reference, reference_frame)
    if fit is not None and superposition is False:
        raise CommandError("--fit superposes frames: leave out --no-superposition", ExitCode.USAGE)
    is_superposed = superposition is True or fit is not None
    if not is_superposed and (reference is not None or reference_frame is not None or weights != "none"):
        message = "--reference, --ref-frame and --weights are those of a superposition: add --superposition or --fit"
        raise CommandError(message, ExitCode.USAGE)

    def prepare(atoms: "AtomGroup", source: "Source") -> "RMSF":
        from mdreel.analysis.rmsf import RMSF
        from mdreel.analysis.topology.topology_file import open_topology, select_atoms

        by = atoms if fit is None else select_atoms(atoms.universe, fit, request.topology)
        theirs = None
        if reference is not None:
            theirs = select_atoms(
                open_topology(reference, request.index, is_reference=True), fit or request.selection, reference
            )
        return RMSF(
            atoms,
            superposition=by if is_superposed else False,
            reference=theirs,
            ref_frame=reference_frame or 0,
            weights="mass" if weights == "mass" else None,
            tol_mass=tol_mass,
            match_atoms=match_atoms,
            trajectory=source,
        )

    if not is_superposed:
        return AnalysisSpec("RMSF", prepare, _table, {"superposition": "none"})
    facts = {
        "superposition": fit or request.selection,
        "reference": str(reference) if reference is not None else f"frame {reference_frame or 0}",
        "weights": weights,
    }
    return AnalysisSpec("RMSF", prepare, _table, facts)


def _table(analysis: "RMSF") -> Table:
    from mdreel.analysis.topology.residue_labels import ResidueLabels

    atoms, values = analysis.atomgroup, analysis.results.rmsf
    lowest, highest = int(values.argmin()), int(values.argmax())
    labels = ResidueLabels.of(atoms)
    named = [f"{atoms[i].name} of {labels.texts[i]}" for i in (lowest, highest)]
    return Table.of(
        analysis,
        f"atoms       {len(values):>10,}   {analysis.n_frames:,} frames",
        f"RMSF lowest {values[lowest]:>10.3f} Å  {named[0]}",
        f"     mean   {values.mean():>10.3f} Å",
        f"     highest{values[highest]:>10.3f} Å  {named[1]}",
    )
