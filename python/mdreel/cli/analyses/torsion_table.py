"""Tables of torsions over time, which several commands write."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mdreel.cli.analyses.request import Table

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from mdreel.analysis.dihedrals import QuadrupleAngles
    from mdreel.analysis.ramachandran import Janin, Ramachandran


def torsion_table(
    analysis: "QuadrupleAngles",
    values: "NDArray[np.float64]",
    names: Sequence[str],
    unit: str,
    n_torsions: int,
    figure: "Callable[[str], Figure]",
) -> Table:
    """Return a table with a column for each torsion.

    Parameters
    ----------
    analysis : QuadrupleAngles
        The finished analysis.
    values : ndarray, shape (n_frames, n_columns), float64
        The values of the columns.
    names : sequence of str
        The names of the columns, such as ``"phi ALA 5"``.
    unit : str
        The unit of the values.
    n_torsions : int
        Number of torsions; a torsion may have several columns.
    figure : callable
        Draws the results under a title.
    """
    import numpy as np

    from mdreel.results.column import Column
    from mdreel.results.series import series_columns

    time = analysis.times
    headings = [name.lower().replace(" ", "_") for name in names]
    if len(set(headings)) < len(headings):  # segments such as A and a
        headings = [name.replace(" ", "_") for name in names]
    columns = [
        Column(name, unit, column) for name, column in zip(headings, np.ascontiguousarray(values.T), strict=True)
    ]
    return Table(
        [*series_columns(analysis.frames.astype(np.float64), time), *columns],
        "\n".join(
            (
                f"frames      {len(time):>10,}   {time[0]:,.6g} to {time[-1]:,.6g} ps",
                f"torsions    {n_torsions:>10,}   {names[0]} to {names[-1]}",
            )
        ),
        figure,
    )


def pair_table(analysis: "Ramachandran | Janin", kinds: tuple[str, str], figure: "Callable[[str], Figure]") -> Table:
    """Return a table with a column for each of two torsions of each residue; `figure` draws the results."""
    names = [f"{kind} {label}" for label in analysis.residue_labels for kind in kinds]
    angles = analysis.results.angles
    return torsion_table(analysis, angles.reshape(len(angles), -1), names, "°", len(names), figure)


def draw_points(analysis: "Ramachandran | Janin", title: str, regions: bool) -> "Figure":
    """Draw pairs of torsions as points, with `regions` over those of MDAnalysis's reference structures."""
    from mdreel.results.canvas import canvas, figure_of
    from mdreel.results.style import RAW_ALONE

    n_points = analysis.results.angles.size // 2
    with canvas(None, title, (6.9, 6.6), grid=None) as axes:
        axes.set_box_aspect(1)
        analysis.plot(axes, regions, s=6, color=RAW_ALONE, linewidths=0, rasterized=n_points > 5000)
    return figure_of(axes)
