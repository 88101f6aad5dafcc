"""Plots of one value over another."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.results.canvas import canvas, figure_of
from mdreel.results.style import INK, RAW, RAW_ALONE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def curve(
    x: NDArray[np.float64],
    values: NDArray[np.float64],
    x_label: str,
    label: str,
    title: str = "",
    ax: "Axes | None" = None,
    *,
    level: float | None = None,
    spread: NDArray[np.float64] | None = None,
) -> "Figure":
    """Draw a function that is nowhere negative.

    Parameters
    ----------
    x, values : ndarray, shape (n_points,), float64
        Where, and its values, in the units that the labels name.
    x_label, label : str
        What they are.
    title : str
        A line above the picture.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into; otherwise a new figure is made.
    level : float, optional
        A value with which it is compared, drawn as a line.
    spread : ndarray, shape (n_points,), float64, optional
        How far values deviate from these, drawn as a band.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    with canvas(ax, title) as axes:
        if level is not None:
            axes.axhline(level, color=INK, linewidth=1.0, linestyle="--")
        high = values if spread is None else values + spread
        if spread is not None:
            axes.fill_between(x, np.maximum(values - spread, 0.0), high, color=RAW, alpha=0.6, linewidth=0.0)
        axes.plot(x, values, color=RAW_ALONE, linewidth=2.0, marker="o" if len(x) == 1 else None)
        axes.set_xlabel(x_label)
        axes.set_ylabel(label)
        axes.set_ylim(0.0, 1.08 * float(high.max()) or 1.0)
        axes.margins(x=0.0)
    return figure_of(axes)
