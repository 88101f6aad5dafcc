"""The command ``mdreel dssp``, which assigns the secondary structure of a protein."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mdreel.analysis.choices import DSSPMethod
from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.errors import ExitCode, checking_output, failing_with
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.dssp import DSSP

EXAMPLES = """\
Examples:
  mdreel dssp -s adk.psf -f adk.xtc -o fractions.csv --plot dssp.png
  mdreel dssp -s adk.psf -f adk.xtc --method kabsch-sander --characters dssp.txt
"""


@analysis_command("protein", EXAMPLES)
def dssp(
    request: Request,
    method: Annotated[
        DSSPMethod, Option(help="Assign three states, as in MDAnalysis, or all eight states.")
    ] = "simplified",
    guess_hydrogens: Annotated[
        bool,
        Option(
            "--guess-hydrogens/--given-hydrogens",
            help="Compute the positions of hydrogens on N, or use the hydrogens in the trajectory.",
        ),
    ] = True,
    longest_bond: Annotated[
        float | None,
        Option(metavar="Å", help="Longest distance from C to the next N within a chain.  [default: no limit]"),
    ] = None,
    pbc: Annotated[bool, Option("--pbc/--no-pbc", help="Use minimum-image distances.")] = True,
    characters: Annotated[
        Path | None,
        Option(
            metavar="FILE", group=shared.OUTPUT, help="Text file with one line per frame and one character per residue."
        ),
    ] = None,
) -> AnalysisSpec:
    """Compute the fraction of frames in which each residue is in a helix, a strand, a turn, ... (DSSP)."""
    if characters is not None:
        from mdreel.foundation.atomic_files import check_target

        with checking_output(characters):
            check_target(characters, request.force)

    def prepare(atoms: "AtomGroup", source: "Source") -> "DSSP":
        from mdreel.analysis.dssp import DSSP

        rules: dict[str, Any] = {"method": method, "longest_bond": longest_bond, "pbc": pbc}
        return DSSP(atoms, guess_hydrogens, **rules, trajectory=source)

    def tabulate(analysis: "DSSP") -> Table:
        if characters is not None:
            _write_characters(analysis, characters, request.force)
        return _table(analysis)

    facts: dict[str, Any] = {"method": method, "guess_hydrogens": guess_hydrogens, "pbc": pbc}
    if longest_bond is not None:
        facts["longest_bond"] = longest_bond
    return AnalysisSpec("DSSP", prepare, tabulate, facts)


def _write_characters(analysis: "DSSP", path: Path, force: bool) -> None:
    from mdreel.foundation.atomic_files import replacing

    with failing_with(ExitCode.OUTPUT), replacing(path, force) as temporary, temporary.open("w") as file:
        file.writelines("".join(states) + "\n" for states in analysis.results.dssp)


def _table(analysis: "DSSP") -> Table:
    fraction, names = analysis.results.fraction, analysis.state_names
    head = [
        f"residues    {len(fraction):>10,}",
        f"frames      {analysis.n_frames:>10,}",
    ]
    shares = [f"{name:<12}{100 * share:>10.2f} %" for name, share in zip(names, fraction.mean(axis=0), strict=True)]
    return Table.of(analysis, *head, *shares)
