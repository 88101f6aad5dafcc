"""``mdreel helices``: eigenvalues of the distance matrices of helices, over time."""

from typing import TYPE_CHECKING, Annotated

import typer

from mdreel.cli import options
from mdreel.cli.analysing import Question, Request, Table, analysis_command
from mdreel.cli.exits import CommandError, ExitCode

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.helices import HelixEigenvalues

EXAMPLES = """\b
Examples:
  mdreel helices -s adk.psf -f adk.xtc --segment 13:24 --segment 31:40 --pairs -o helices.csv
  mdreel helices -s adk.psf -f adk.xtc --segment 13:24 --squared --plot helix.png
"""


@analysis_command("protein and name CA", "Eigenvalues of helices.", EXAMPLES)
def helices(
    request: Request,
    segments: Annotated[
        list[str] | None,
        typer.Option(
            "--segment",
            metavar="RESIDUES",
            rich_help_panel=options.ANALYSIS,
            help="Residues of a helix, such as 13:24; give it again for more.",
        ),
    ] = None,
    pairs: Annotated[
        bool,
        typer.Option("--pairs", rich_help_panel=options.ANALYSIS, help="From each helix to each other, not within."),
    ] = False,
    squared: Annotated[
        bool, typer.Option("--squared", rich_help_panel=options.ANALYSIS, help="Square the distances.")
    ] = False,
) -> Question:
    """Largest eigenvalue of the distance matrix of helices, or of pairs of them, for every frame."""
    if not segments:
        raise CommandError("say which residues the helices are: --segment 13:24", ExitCode.USAGE)

    def prepare(atoms: "AtomGroup", source: "Source") -> "HelixEigenvalues":
        from mdreel.analysis.helices import HelixEigenvalues

        found = []
        for segment in segments:
            try:
                found.append(atoms.select_atoms(f"resid {segment}"))
            except Exception as error:  # MDAnalysis's parser raises several
                raise CommandError(f"--segment {segment}: {' '.join(str(error).split())}", ExitCode.INPUT) from error
            if len(found[-1]) == 0:
                message = f"--segment {segment}: no such residue is in the {len(atoms):,} atoms selected"
                raise CommandError(message, ExitCode.INPUT)
            if len(several := found[-1].segments) > 1:
                names = ", ".join(several.segids)
                message = f"--segment {segment}: these residues are in {len(several)} segments ({names})"
                raise CommandError(f"{message}: select one with --select 'segid {several.segids[0]}'", ExitCode.INPUT)
        return HelixEigenvalues(found, pairs=pairs, squared=squared, trajectory=source)

    facts = {"segments": " ".join(segments), "pairs": pairs, "squared": squared}
    return Question("Helix eigenvalues", prepare, lambda analysis: _table(analysis, segments), facts)


def _table(analysis: "HelixEigenvalues", segments: list[str]) -> Table:
    import numpy as np

    from mdreel.cli.series import series_columns, series_summary
    from mdreel.results.column import Column

    time, values = analysis.times, np.ascontiguousarray(analysis.results.eigenvalues.T)
    unit = "Å^2" if analysis.squared else "Å"
    names = [f"helix_{i}" if i == j else f"helix_{i}_{j}" for i, j in ((i + 1, j + 1) for i, j in analysis.pairs)]
    spoken = [segments[i] if i == j else f"{segments[i]} and {segments[j]}" for i, j in analysis.pairs]
    summaries = [series_summary(name, unit, time, column) for name, column in zip(spoken, values, strict=True)]
    return Table(
        [
            *series_columns(analysis.frames.astype(np.float64), time),
            *(Column(name, unit, column) for name, column in zip(names, values, strict=True)),
        ],
        "\n".join(summaries),
        lambda title: analysis.plot(title=title),
    )
