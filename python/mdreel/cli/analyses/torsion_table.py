"""Tables of torsions over time, which are used by several commands."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from mdreel.cli.analyses.request import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mdreel.analysis.dihedrals import QuadrupleAngles


def torsion_table(analysis: "QuadrupleAngles", figure: "Callable[[str], Figure] | None" = None) -> Table:
    """Return the table for a finished torsion analysis. `figure` takes a title and draws the results."""
    time, names = analysis.times, analysis.names
    named = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    return Table(
        analysis.columns(),
        "\n".join(
            (
                f"frames      {len(time):>10,}   {time[0]:,.6g} to {time[-1]:,.6g} ps",
                f"torsions    {analysis.n_torsions:>10,}   {named}",
            )
        ),
        figure or (lambda title: analysis.plot(title=title)),
    )
