"""``mdreel dssp``: the secondary structure of a protein."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdreel.cli import options
from mdreel.cli.analysing import Question, Request, Table, analysis_command
from mdreel.cli.exits import ExitCode, checking_output, failing_with

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.dssp import DSSP

EXAMPLES = """\b
Examples:
  mdreel dssp -s adk.psf -f adk.xtc -o fractions.csv --plot dssp.png
  mdreel dssp -s adk.psf -f adk.xtc --method kabsch-sander --characters dssp.txt
"""
_COLUMNS = {
    "-": "loop",
    "H": "helix",
    "E": "strand",
    "B": "bridge",
    "G": "helix_3_10",
    "I": "helix_pi",
    "T": "turn",
    "S": "bend",
}


class Method(StrEnum):
    """Which states there are."""

    SIMPLIFIED = "simplified"
    KABSCH_SANDER = "kabsch-sander"


@analysis_command("protein", "Secondary structure of a protein.", EXAMPLES)
def dssp(
    request: Request,
    method: Annotated[
        Method,
        typer.Option(rich_help_panel=options.ANALYSIS, help="Three states, as MDAnalysis has them, or all eight."),
    ] = Method.SIMPLIFIED,
    guess_hydrogens: Annotated[
        bool,
        typer.Option(
            "--guess-hydrogens/--given-hydrogens",
            rich_help_panel=options.ANALYSIS,
            help="Place hydrogens on N, or take those of the trajectory.",
        ),
    ] = True,
    longest_bond: Annotated[
        float | None,
        typer.Option(
            metavar="Å",
            rich_help_panel=options.ANALYSIS,
            help="A chain ends where C and the next N are farther apart.  [default: any length]",
        ),
    ] = None,
    pbc: Annotated[
        bool, typer.Option("--pbc/--no-pbc", rich_help_panel=options.ANALYSIS, help="Take the shortest image.")
    ] = True,
    characters: Annotated[
        Path | None,
        typer.Option(
            "--characters",
            metavar="FILE",
            rich_help_panel=options.OUTPUT,
            help="Text with a line for each frame, a character for each residue.",
        ),
    ] = None,
) -> Question:
    """Share of the frames in which each residue is in a helix, a strand, a turn, ... (DSSP)."""
    if characters is not None:
        from mdreel.foundation.atomic_files import check_target

        with checking_output(characters):
            check_target(characters, request.force)

    def prepare(atoms: "AtomGroup", source: "Source") -> "DSSP":
        from mdreel.analysis.dssp import DSSP

        rules: dict[str, Any] = {"method": method.value, "longest_bond": longest_bond, "pbc": pbc}
        return DSSP(atoms, guess_hydrogens, **rules, trajectory=source)

    def tabulate(analysis: "DSSP") -> Table:
        if characters is not None:
            _write_characters(analysis, characters, request.force)
        return _table(analysis)

    facts: dict[str, Any] = {"method": method.value, "guess_hydrogens": guess_hydrogens, "pbc": pbc}
    if longest_bond is not None:
        facts["longest_bond"] = longest_bond
    return Question("DSSP", prepare, tabulate, facts)


def _write_characters(analysis: "DSSP", path: Path, force: bool) -> None:
    from mdreel.foundation.atomic_files import replacing

    with failing_with(ExitCode.OUTPUT), replacing(path, force) as temporary, temporary.open("w") as file:
        file.writelines("".join(states) + "\n" for states in analysis.results.dssp)


def _table(analysis: "DSSP") -> Table:
    from mdreel.results.column import Column

    fraction, names = analysis.results.fraction, [_COLUMNS[state] for state in analysis.states]
    head = [
        f"residues    {len(fraction):>10,}",
        f"frames      {analysis.n_frames:>10,}",
    ]
    shares = [f"{name:<12}{100 * share:>10.2f} %" for name, share in zip(names, fraction.mean(axis=0), strict=True)]
    return Table(
        [
            *analysis.labels.columns(),
            *(Column(name, "", column) for name, column in zip(names, fraction.T.copy(), strict=True)),
        ],
        "\n".join(head + shares),
        lambda title: analysis.plot(title=title),
    )
