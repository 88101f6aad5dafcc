"""Plots of mean square displacements."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.results.canvas import canvas, figure_of
from mdreel.results.figure import time_unit
from mdreel.results.style import RAW_ALONE, SMOOTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def msd_figure(
    times: NDArray[np.float64],
    values: NDArray[np.float64],
    fit: tuple[float, float, float, float] | None = None,
    label: str = "",
    title: str = "",
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw mean square displacements over the time that has passed, and the line that was fitted.

    Parameters
    ----------
    times : ndarray, shape (n_lags,), float64
        Times between the positions, ps.
    values : ndarray, shape (n_lags,), float64
        Mean square displacements, Å^2.
    fit : tuple of float, optional
        A line: slope (Å^2/ps) and intercept (Å^2), and the times from which and up to which it is fitted (ps).
    label : str
        What is said of the line.
    title : str
        A line above the picture.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into; otherwise a new figure is made.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    unit, per_unit = time_unit(times)
    with canvas(ax, title) as axes:
        axes.plot(times / per_unit, values, color=RAW_ALONE, linewidth=2.0, label="all particles")
        if fit is not None:
            slope, intercept, begin, end = fit
            x = np.array([begin, end])
            axes.plot(x / per_unit, intercept + slope * x, color=SMOOTH, linewidth=2.4, linestyle="--", label=label)
            axes.legend(loc="upper left", frameon=False)
        axes.set_xlabel(f"Time between positions ({unit})")
        axes.set_ylabel("Mean square displacement (Å²)")
        axes.set_ylim(bottom=0.0)
        axes.margins(x=0.01)
    return figure_of(axes)
