"""The command ``mdreel helices``, which computes eigenvalues of distance matrices for helices over time."""

from typing import TYPE_CHECKING, Annotated

from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.helices import HelixEigenvalues

EXAMPLES = """\
Examples:
  mdreel helices -s adk.psf -f adk.xtc --segment 13:24 --segment 31:40 --pairs -o helices.csv
  mdreel helices -s adk.psf -f adk.xtc --segment 13:24 --squared --plot helix.png
"""


@analysis_command("protein and name CA", EXAMPLES)
def helices(
    request: Request,
    segments: Annotated[
        list[str] | None,
        Option("--segment", metavar="RESIDUES", help="Residues of a helix, such as 13:24. Can be repeated."),
    ] = None,
    pairs: Annotated[bool, Option(help="Use distances between helices instead of distances within a helix.")] = False,
    squared: Annotated[bool, Option(help="Use squared distances.")] = False,
) -> AnalysisSpec:
    """Compute the largest eigenvalue of the distance matrix for each helix, or for pairs of helices, in each frame."""
    if not segments:
        raise CommandError("name the residues of each helix, as in --segment 13:24", ExitCode.USAGE)

    def prepare(atoms: "AtomGroup", source: "Source") -> "HelixEigenvalues":
        from mdreel.analysis.helices import HelixEigenvalues

        found = []
        for segment in segments:
            try:
                found.append(atoms.select_atoms(f"resid {segment}"))
            except Exception as error:  # MDAnalysis's parser raises several types
                raise CommandError(f"--segment {segment}: {' '.join(str(error).split())}", ExitCode.INPUT) from error
            if len(found[-1]) == 0:
                message = f"--segment {segment}: the {len(atoms):,} selected atoms contain no such residue"
                raise CommandError(message, ExitCode.INPUT)
            if len(several := found[-1].segments) > 1:
                names = ", ".join(several.segids)
                message = f"--segment {segment}: these residues are in {len(several)} segments ({names})"
                raise CommandError(f"{message}: select one with --select 'segid {several.segids[0]}'", ExitCode.INPUT)
        return HelixEigenvalues(found, pairs=pairs, squared=squared, trajectory=source)

    facts = {"segments": " ".join(segments), "pairs": pairs, "squared": squared}
    return AnalysisSpec("Helix eigenvalues", prepare, lambda analysis: _table(analysis, segments), facts)


def _table(analysis: "HelixEigenvalues", segments: list[str]) -> Table:
    import numpy as np

    from mdreel.results.series import series_summary

    time, values = analysis.times, np.ascontiguousarray(analysis.results.eigenvalues.T)
    unit = "Å^2" if analysis.squared else "Å"
    spoken = [segments[i] if i == j else f"{segments[i]} and {segments[j]}" for i, j in analysis.pairs]
    summaries = [series_summary(name, unit, time, column) for name, column in zip(spoken, values, strict=True)]
    return Table.of(analysis, *summaries)
