"""Plots of several values over time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.results.canvas import canvas, figure_of
from mdreel.results.figure import time_unit
from mdreel.results.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def lines(
    times: NDArray[np.float64],
    values: NDArray[np.float64],
    names: Sequence[str],
    label: str,
    title: str = "",
    ax: "Axes | None" = None,
    *,
    kind: str,
) -> "Figure":
    """Draw a few quantities over time, as many as colours can tell apart.

    Parameters
    ----------
    times : ndarray, shape (n_frames,), float64
        Times in ps; the axis is in ps, ns, µs or ms, whichever gives short numbers.
    values : ndarray, shape (n_frames, n_quantities), float64
        The quantities, in the unit that `label` names. Of more than seven, the first are drawn.
    names : sequence of str
        What each is.
    label : str
        What all are, and their unit.
    title : str
        A line above the picture.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into; otherwise a new figure is made.
    kind : str
        What the names are of, above them.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    unit, per_unit = time_unit(times)
    with canvas(ax, title) as axes:
        for name, colour, column in zip(names, COLOURS, values.T, strict=False):
            marker = "o" if len(times) == 1 else None
            axes.plot(times / per_unit, column, color=colour, linewidth=1.8, marker=marker, label=name)
        if len(names) > 1:
            more = f" (first of {len(names)})" if len(names) > len(COLOURS) else ""
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, title=f"{kind}{more}")
        axes.set_xlabel(f"Time ({unit})")
        axes.set_ylabel(label)
        axes.margins(x=0.01)
    return figure_of(axes)
