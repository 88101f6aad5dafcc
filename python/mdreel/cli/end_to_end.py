"""``mdreel end-to-end``: distances from the first to the last atom of chains."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from mdreel.cli import options
from mdreel.cli.analysing import Question, Request, Table, analysis_command
from mdreel.cli.exits import CommandError, ExitCode

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.end_to_end import EndToEnd

EXAMPLES = """\b
Examples:
  mdreel end-to-end -s melt.tpr -f melt.xtc --select "all" --chains fragments --transform whole -o ends.csv
  mdreel end-to-end -s adk.psf -f adk.xtc --select "protein and name CA" --plot ends.png
"""


class Chains(StrEnum):
    """What of the selection is a chain."""

    ALL = "all"
    SEGMENTS = "segments"
    FRAGMENTS = "fragments"


@analysis_command("protein and name CA", "End-to-end distances of chains.", EXAMPLES)
def end_to_end(
    request: Request,
    chains: Annotated[
        Chains,
        typer.Option(
            rich_help_panel=options.ANALYSIS,
            help="What is a chain: all that is selected, or each segment or molecule.",
        ),
    ] = Chains.SEGMENTS,
) -> Question:
    """Distance from the first to the last selected atom of each chain, for every frame."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "EndToEnd":
        from mdreel.analysis.end_to_end import EndToEnd

        groups = [atoms]
        if chains is not Chains.ALL:
            try:
                groups = list(atoms.groupby("segindices" if chains is Chains.SEGMENTS else "fragindices").values())
            except AttributeError as error:
                message = f"--chains {chains.value}: the topology does not say which atoms they have"
                raise CommandError(message, ExitCode.INPUT) from error
        return EndToEnd(groups, trajectory=source)

    return Question("End-to-end distances", prepare, _table, {"chains": chains.value})


def _table(analysis: "EndToEnd") -> Table:
    import numpy as np

    from mdreel.cli.series import series_columns, series_summary
    from mdreel.results.column import Column

    time, distances = analysis.times, analysis.results.distances
    return Table(
        [
            *series_columns(analysis.frames.astype(np.float64), time),
            *(Column(f"chain_{number}", "Å", np.ascontiguousarray(one)) for number, one in enumerate(distances.T, 1)),
        ],
        series_summary("distance", "Å", time, distances.mean(axis=1)),
        lambda title: analysis.plot(title=title),
    )
