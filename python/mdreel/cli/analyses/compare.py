"""Command ``mdreel compare``, which compares each frame with a reference structure."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from mdreel.analysis.choices import ComparisonScore
from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command, check_reference
from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.comparison.reference_comparison import ReferenceComparison

EXAMPLES = """\
Examples:
  mdreel compare -s adk.psf -f adk.xtc --reference open.pdb -o lddt.csv --plot lddt.png
  mdreel compare -s adk.psf -f adk.xtc --score residue-rmsd --residues -o residues.csv
  mdreel compare -s adk.psf -f adk.xtc --score tm-score -o scores.csv
  mdreel compare -s system.tpr -f run.xtc --score symmetric-rmsd --select "resname LIG and not name H*"
"""
_RADII = {"lddt": 15.0, "native-contacts": 4.5}
_OF_RESIDUES = ("lddt", "residue-rmsd")
_SUPERPOSED = ("residue-rmsd", "symmetric-rmsd")
_TITLES = {
    "lddt": "lDDT",
    "tm-score": "TM-score and GDT",
    "residue-rmsd": "RMSD of residues",
    "native-contacts": "Native contacts",
    "symmetric-rmsd": "Symmetric RMSD",
}


@analysis_command("protein and not name H*", EXAMPLES)
def compare(
    request: Request,
    score: Annotated[
        ComparisonScore,
        Option(
            help="lDDT; TM-score, GDT-TS and GDT-HA of CA atoms; RMSD of each residue; fraction of native contacts "
            "(Best, Hummer and Eaton); or RMSD with the best assignment of equivalent atoms."
        ),
    ] = "lddt",
    reference: shared.Reference = None,
    reference_frame: shared.ReferenceFrame = None,
    radius: Annotated[
        float | None,
        Option(
            metavar="Å",
            minimum=0,
            help="Largest distance in the reference that is compared (lddt), or that is a contact (native-contacts).  "
            "[default: 15, or 4.5 for contacts]",
        ),
    ] = None,
    superposition: shared.OptionalSuperposition = None,
    residues: Annotated[
        bool,
        Option(
            help="Write and plot the mean of each residue instead of the values of each frame (lddt, residue-rmsd)."
        ),
    ] = False,
    match_atoms: shared.MatchAtoms = True,
    tol_mass: shared.MassTolerance = 0.1,
) -> AnalysisSpec:
    """Compare each frame with a reference structure: lDDT, TM-score, GDT, native contacts, RMSD of residues."""
    check_reference(reference, reference_frame)
    if residues and score not in _OF_RESIDUES:
        raise CommandError(f"--residues is for --score lddt and residue-rmsd, not {score}", ExitCode.USAGE)
    if radius is not None and score not in _RADII:
        raise CommandError(f"--radius is for --score lddt and native-contacts, not {score}", ExitCode.USAGE)
    if superposition is not None and score not in _SUPERPOSED:
        message = f"--superposition is for --score residue-rmsd and symmetric-rmsd, not {score}"
        raise CommandError(message, ExitCode.USAGE)
    settings = _Settings(score, radius, superposition)

    def prepare(atoms: "AtomGroup", source: "Source") -> "ReferenceComparison":
        from mdreel.analysis.topology.topology_file import open_topology, select_atoms

        theirs = None
        if reference is not None:
            universe = open_topology(reference, request.index, is_reference=True)
            theirs = select_atoms(universe, request.selection, reference)
        return settings.make(
            atoms,
            theirs,
            ref_frame=reference_frame or 0,
            tol_mass=tol_mass,
            match_atoms=match_atoms,
            trajectory=source,
        )

    compared = str(reference) if reference is not None else f"frame {reference_frame or 0}"
    facts = {"score": score, "reference": compared, **settings.options()}
    return AnalysisSpec(_TITLES[score], prepare, lambda analysis: _table(analysis, residues), facts)


@dataclass(frozen=True)
class _Settings:
    """A score with its options. Options that were not given are None."""

    score: "ComparisonScore"
    radius: float | None
    superposition: bool | None

    def options(self) -> dict[str, Any]:
        """Return the options of the analysis."""
        found: dict[str, Any] = {}
        if self.score in _RADII:
            found["radius"] = _RADII[self.score] if self.radius is None else self.radius
        if self.score in _SUPERPOSED:
            found["superposition"] = self.superposition is not False
        return found

    def make(self, atoms: "AtomGroup", reference: "AtomGroup | None", **common: Any) -> "ReferenceComparison":
        """Create the analysis."""
        given: dict[str, Any] = {"select": "all", **self.options(), **common}
        if self.score == "lddt":
            from mdreel.analysis.comparison.lddt import LDDT

            return LDDT(atoms, reference, **given)
        if self.score == "tm-score":
            from mdreel.analysis.comparison.tm_score import TMScore

            # A selection with one atom of each residue is taken as it is.
            is_one_each = len(atoms) == len(atoms.residues)
            return TMScore(atoms, reference, **{**given, "select": "all" if is_one_each else "name CA"})
        if self.score == "residue-rmsd":
            from mdreel.analysis.comparison.residue_rmsd import ResidueRMSD

            return ResidueRMSD(atoms, reference, **given)
        if self.score == "native-contacts":
            from mdreel.analysis.comparison.native_contacts import NativeContacts

            return NativeContacts(atoms, reference, **given)
        from mdreel.analysis.comparison.symmetric_rmsd import SymmetricRMSD

        return SymmetricRMSD(atoms, reference, **given)


def _table(analysis: Any, of_residues: bool) -> Table:
    import numpy as np

    from mdreel.analysis.comparison.residue_comparison import ResidueComparison
    from mdreel.results.series import series_summary

    columns = analysis.columns()
    per_frame = columns[2:3] if isinstance(analysis, ResidueComparison) else columns[2:]
    texts = [series_summary(one.name, one.unit, analysis.times, one.values) for one in per_frame]
    # The first line, with the frames and times, is the same for all.
    lines = [text if place == 0 else text.split("\n", 1)[1] for place, text in enumerate(texts)]
    if isinstance(analysis, ResidueComparison):
        means = analysis.residue_columns()[-2]
        for name, find in (("lowest", np.nanargmin), ("highest", np.nanargmax)):
            place = int(find(means.values))
            value = f"{means.values[place]:.3f} {means.unit}".rstrip()
            lines.append(f"{name} mean   {value}   {analysis.residue_labels[place]}")
    if of_residues:
        return Table(analysis.residue_columns(), "\n".join(lines), lambda title: analysis.plot_residues(title=title))
    return Table.of(analysis, *lines, columns=columns)
