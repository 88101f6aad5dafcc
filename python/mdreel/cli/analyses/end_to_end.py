"""The command ``mdreel end-to-end``, which computes the distance from the first to the last atom of chains."""

from typing import TYPE_CHECKING, Annotated, Literal

from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.end_to_end import EndToEnd

EXAMPLES = """\
Examples:
  mdreel end-to-end -s melt.tpr -f melt.xtc --select "all" --chains fragments --transform whole -o ends.csv
  mdreel end-to-end -s adk.psf -f adk.xtc --select "protein and name CA" --plot ends.png
"""


@analysis_command("protein and name CA", EXAMPLES)
def end_to_end(
    request: Request,
    chains: Annotated[
        Literal["all", "segments", "fragments"],
        Option(help="Chains: the whole selection, each segment, or each molecule (fragment)."),
    ] = "segments",
) -> AnalysisSpec:
    """Compute the distance from the first to the last selected atom of each chain in each frame."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "EndToEnd":
        from mdreel.analysis.end_to_end import EndToEnd

        groups = [atoms]
        if chains != "all":
            try:
                groups = list(atoms.groupby("segindices" if chains == "segments" else "fragindices").values())
            except AttributeError as error:
                message = f"--chains {chains}: the topology does not define {chains}"
                raise CommandError(message, ExitCode.INPUT) from error
        return EndToEnd(groups, trajectory=source)

    return AnalysisSpec("End-to-end distances", prepare, _table, {"chains": chains})


def _table(analysis: "EndToEnd") -> Table:
    from mdreel.results.series import series_summary

    time, distances = analysis.times, analysis.results.distances
    return Table.of(analysis, series_summary("distance", "Å", time, distances.mean(axis=1)))
