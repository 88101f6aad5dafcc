"""Figures that show quantities as functions of another quantity.

Each function accepts a title and, optionally, axes to draw into. It returns the figure.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.results.canvas import canvas, figure_of
from mdreel.results.figure import time_unit
from mdreel.results.style import COLOURS, INK, RAW, RAW_ALONE, SMOOTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ABOVE = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "frameon": False, "ncols": 2, "borderaxespad": 0.0}
"""Legend above the axes, where it does not hide any data."""

_MOST_COMPONENTS = 20  # further ones hardly contribute


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
    """Draw a non-negative function.

    Parameters
    ----------
    x, values : ndarray, shape (n_points,), float64
        Arguments and values, in the units given in the labels.
    x_label, label : str
        Axis labels for `x` and `values`, with units.
    level : float, optional
        A value for comparison, drawn as a horizontal line.
    spread : ndarray, shape (n_points,), float64, optional
        Deviation of the values, drawn as a band.
    """
    with canvas(ax, title) as axes:
        if level is not None:
            axes.axhline(level, color=INK, linewidth=1.0, linestyle="--")
        high = values if spread is None else values + spread
        if spread is not None:
            axes.fill_between(x, np.maximum(values - spread, 0.0), high, color=RAW, alpha=0.6, linewidth=0.0)
        axes.plot(x, values, color=RAW_ALONE, linewidth=2.0, marker="o" if len(x) == 1 else None)
        axes.set(xlabel=x_label, ylabel=label, ylim=(0.0, 1.08 * float(high.max()) or 1.0))
        axes.margins(x=0.0)
    return figure_of(axes)


def histogram(
    edges: NDArray[np.float64],
    counts: NDArray[np.integer],
    x_label: str,
    title: str = "",
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw counts in bins.

    Parameters
    ----------
    edges : ndarray, shape (n_bins + 1,), float64
        Edges of the bins, in the unit given in `x_label`.
    counts : ndarray, shape (n_bins,), int
        Count in each bin.
    x_label : str
        Label for the axis of the bins.
    """
    with canvas(ax, title) as axes:
        axes.stairs(counts, edges, fill=True, color=RAW_ALONE)
        axes.set(xlabel=x_label, ylabel="Count", ylim=(0.0, 1.08 * float(counts.max()) or 1.0))
        axes.margins(x=0.0)
    return figure_of(axes)


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
    """Draw up to seven quantities over time.

    Parameters
    ----------
    times : ndarray, shape (n_frames,), float64
        Times in ps. The axis uses ps, ns, µs or ms, depending on the range of the times.
    values : ndarray, shape (n_frames, n_quantities), float64
        The quantities, in the unit given in `label`. Only the first seven are drawn.
    names : sequence of str
        Name of each quantity.
    label : str
        Label for the value axis, with the unit.
    kind : str
        Title of the legend.
    """
    unit, per_unit = time_unit(times)
    with canvas(ax, title) as axes:
        for name, colour, column in zip(names, COLOURS, values.T, strict=False):
            marker = "o" if len(times) == 1 else None
            axes.plot(times / per_unit, column, color=colour, linewidth=1.8, marker=marker, label=name)
        if len(names) > 1:
            more = f" (first of {len(names)})" if len(names) > len(COLOURS) else ""
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, title=f"{kind}{more}")
        axes.set(xlabel=f"Time ({unit})", ylabel=label)
        axes.margins(x=0.01)
    return figure_of(axes)


def profile(
    residues: NDArray[np.integer],
    values: NDArray[np.float64],
    x_label: str,
    label: str,
    title: str = "",
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw a value for each atom along the residues, and the mean for residues with several atoms.

    Parameters
    ----------
    residues : ndarray, shape (n_atoms,), int
        Residue number of each atom. If the numbers are not ascending, as with several chains, the axis counts atoms.
    values : ndarray, shape (n_atoms,), float64
        The values, in the unit given in `label`.
    x_label, label : str
        Axis labels for the residues and for the values.
    """
    with canvas(ax, title) as axes:
        if (np.diff(residues) < 0).any():
            residues, x_label = np.arange(len(residues)), "Atom"
        numbers, first, counts = np.unique(residues, return_index=True, return_counts=True)
        means = np.add.reduceat(values, first) / counts
        if counts.max() > 1:
            axes.plot(residues, values, ".", color=RAW, markersize=4, label="each atom")
        # The line has gaps at missing residues.
        breaks = np.flatnonzero(np.diff(numbers) > 1) + 1
        for x, y in zip(np.split(numbers, breaks), np.split(means, breaks), strict=True):
            marker = "o" if len(x) == 1 else None
            axes.plot(x, y, color=RAW_ALONE, linewidth=2.0, marker=marker, markersize=4)
        if counts.max() > 1:
            axes.plot([], [], color=RAW_ALONE, linewidth=2.0, label="mean of a residue")
            axes.legend(**_ABOVE)
        axes.set(xlabel=x_label, ylabel=label, ylim=(0.0, 1.08 * float(values.max()) or 1.0))
        axes.margins(x=0.01)
    return figure_of(axes)


def mean_square_displacement(
    times: NDArray[np.float64],
    values: NDArray[np.float64],
    fit: tuple[float, float, float, float] | None = None,
    label: str = "",
    title: str = "",
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw mean square displacements over the lag time, and the fitted line.

    Parameters
    ----------
    times : ndarray, shape (n_lags,), float64
        Lag times in ps.
    values : ndarray, shape (n_lags,), float64
        Mean square displacements in Å^2.
    fit : tuple of float, optional
        The fitted line: slope (Å^2/ps), intercept (Å^2), and start and end of the fitted range (ps).
    label : str
        Legend entry for the line.
    """
    unit, per_unit = time_unit(times)
    with canvas(ax, title) as axes:
        axes.plot(times / per_unit, values, color=RAW_ALONE, linewidth=2.0, label="all particles")
        if fit is not None:
            slope, intercept, begin, end = fit
            x = np.array([begin, end])
            axes.plot(x / per_unit, intercept + slope * x, color=SMOOTH, linewidth=2.4, linestyle="--", label=label)
            axes.legend(loc="upper left", frameon=False)
        axes.set(xlabel=f"Time between positions ({unit})", ylabel="Mean square displacement (Å²)")
        axes.set_ylim(bottom=0.0)
        axes.margins(x=0.01)
    return figure_of(axes)


def explained_variance(cumulated: NDArray[np.float64], title: str = "", ax: "Axes | None" = None) -> "Figure":
    """Draw the variance explained by each principal component, and the cumulative variance.

    Parameters
    ----------
    cumulated : ndarray, shape (n_components,), float64
        Cumulative fraction of the variance, from 0 to 1.
    """
    shown = 100 * cumulated[:_MOST_COMPONENTS]
    numbers = np.arange(1, len(shown) + 1)
    with canvas(ax, title) as axes:
        axes.bar(numbers, np.diff(shown, prepend=0.0), color=RAW_ALONE, width=0.7, label="each component")
        axes.plot(numbers, shown, color=COLOURS[1], linewidth=2.0, marker="o", markersize=5, label="cumulative")
        axes.legend(**_ABOVE)
        limits = {"xlim": (0.3, len(shown) + 0.7), "ylim": (0.0, 104.0)}
        axes.set(xlabel="Principal component", ylabel="Variance (%)", **limits)
        axes.set_xticks(numbers[:: 1 + len(numbers) // 11])
    return figure_of(axes)
