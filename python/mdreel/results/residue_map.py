"""Map that shows a value for each pair of residues."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel.results.canvas import canvas, figure_of
from mdreel.results.style import SEQUENTIAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Side: TypeAlias = tuple[NDArray[np.int64], str, Sequence[str]]
"""Positions of residues on an axis, label for the axis, and text label of each residue."""

_SIZE = (7.6, 6.2)  # inches, including the colour bar
_MOST_NAMES = 12
_DIVERGING = "RdBu_r"


def residue_map(
    values: NDArray[np.float64], rows: Side, columns: Side, label: str, title: str = "", ax: "Axes | None" = None
) -> "Figure":
    """Draw a value for each pair of residues. If there are negative values, zero is white.

    Parameters
    ----------
    values : ndarray, shape (n_rows, n_columns), float64
        The values, at most 1 in magnitude.
    rows, columns : tuple of ndarray, shape (n,), int64, str, and sequence of str
        Positions of the residues on the axis, the axis label, and the text labels of the residues. If there are only a
        few residues, their labels are shown.
    label : str
        Name and unit of the values.
    """
    has_signs = bool((values < 0).any())
    colours, lowest = (_DIVERGING, -1.0) if has_signs else (SEQUENTIAL, 0.0)
    with canvas(ax, title, _SIZE, grid=None) as axes:
        x, y = _edges(columns[0]), _edges(rows[0])
        drawn = axes.pcolormesh(x, y, values, cmap=colours, vmin=lowest, vmax=1.0, rasterized=True)
        axes.set(aspect="equal" if len(x) == len(y) else "auto")
        for axis, (positions, name, texts), turn in ((axes.xaxis, columns, 90), (axes.yaxis, rows, 0)):
            is_counted = _are_counted(positions)
            axis.set_label_text("Residue, counted" if is_counted else name)
            if len(texts) <= _MOST_NAMES:
                axis.set_label_text("")
                axis.set_ticks((_edges(positions)[1:] - 0.5).tolist(), labels=list(texts), rotation=turn)
        figure_of(axes).colorbar(drawn, ax=axes, label=label)
    return figure_of(axes)


def _are_counted(positions: NDArray[np.int64]) -> bool:
    """Return whether residues are counted because numbers are missing."""
    return bool((np.diff(positions) != 1).any())


def _edges(positions: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the cell edges of the residues on an axis."""
    first = 1 if _are_counted(positions) else int(positions[0])
    return np.arange(len(positions) + 1, dtype=np.float64) + (first - 0.5)
