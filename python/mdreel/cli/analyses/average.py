"""The command ``mdreel average``, which computes mean positions after superposition."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command, check_reference
from mdreel.cli.errors import ExitCode, checking_output, failing_with
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.average import AverageStructure

EXAMPLES = """\
Examples:
  mdreel average -s adk.psf -f adk.xtc --select backbone -o average.csv
  mdreel average -s adk.psf -f adk.xtc --ref-frame 10 --weights mass -o average.parquet --plot rmsd.png
  mdreel average -s adk.psf -f adk.xtc --select protein -c average.pdb
"""


@analysis_command("protein and name CA", EXAMPLES)
def average(
    request: Request,
    reference: shared.Reference = None,
    reference_frame: shared.ReferenceFrame = None,
    weights: shared.Weights = "none",
    match_atoms: shared.MatchAtoms = True,
    tol_mass: shared.MassTolerance = 0.1,
    structure: Annotated[
        Path | None,
        Option(
            *("-c", "--structure"),
            metavar="FILE",
            group=shared.OUTPUT,
            help="Structure file with the mean positions, in a format that MDAnalysis can write: .pdb .gro .crd ...",
        ),
    ] = None,
) -> AnalysisSpec:
    """Compute the mean position of each atom after superposition, and its fluctuation about this position."""
    check_reference(reference, reference_frame)
    if structure is not None:
        from mdreel.analysis.topology.structure_file import check_structure

        with checking_output(structure):
            check_structure(structure, request.force)

    def prepare(atoms: "AtomGroup", source: "Source") -> "AverageStructure":
        from mdreel.analysis.average import AverageStructure
        from mdreel.analysis.topology.topology_file import open_topology, select_atoms

        theirs = None
        if reference is not None:
            theirs = select_atoms(
                open_topology(reference, request.index, is_reference=True), request.selection, reference
            )
        mass = "mass" if weights == "mass" else None
        return AverageStructure(
            atoms,
            theirs,
            weights=mass,
            tol_mass=tol_mass,
            match_atoms=match_atoms,
            ref_frame=reference_frame or 0,
            trajectory=source,
        )

    def write(analysis: "AverageStructure") -> None:
        if structure is not None:
            with failing_with(ExitCode.OUTPUT):
                analysis.save_structure(structure, request.force)

    by = str(reference) if reference is not None else f"frame {reference_frame or 0}"
    facts = {"weights": weights, "reference": by}
    return AnalysisSpec("Average structure", prepare, _table, facts, write=write)


def _table(analysis: "AverageStructure") -> Table:
    atoms, results = analysis.atomgroup, analysis.results
    return Table.of(
        analysis,
        f"atoms     {len(atoms):>10,}   {analysis.n_frames:,} frames",
        f"mean RMSD {results.rmsd:>10.3f} Å  after superposition",
        f"mean RMSF {results.rmsf.mean():>10.3f} Å  about the mean positions",
    )
