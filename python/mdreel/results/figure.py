"""Figures of results, ready for presentations."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import UnsupportedError
from mdreel.foundation.atomic_files import check_target, replacing
from mdreel.results.canvas import figure_of
from mdreel.results.envelope import envelope, running_median
from mdreel.results.style import GRID, RAW, RAW_ALONE, SIZE, SMOOTH, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EXTENSIONS = (".png", ".pdf", ".svg")

_RESOLUTION = 200  # dots per inch
_MOST_POINTS = 4_000  # about the width of the figure in pixels
_FEWEST_TO_SMOOTH = 400  # frames; shorter series get no median and no histogram


def check_figure(path: Path, force: bool = False) -> None:
    """Check that a figure can be saved at `path`, before any computation starts.

    Parameters
    ----------
    path : Path
        Path of the figure. The file extension selects the format (``.png .pdf .svg``).
    force : bool
        Whether to replace an existing file.

    Raises
    ------
    UnsupportedError
        If the file extension is unknown.
    OSError
        If the file exists and `force` is false, or if its directory does not exist or is not writable.
    """
    if path.suffix.lower() not in EXTENSIONS:
        found = f"ends in {path.suffix!r}" if path.suffix else "has no ending"
        raise UnsupportedError(f"the name {found}; known endings of figures: {', '.join(EXTENSIONS)}", path=path)
    check_target(path, force)


def save(figure: "Figure", path: Path, force: bool = False) -> None:
    """Save a figure atomically, so that `path` remains unchanged on failure.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    path : Path
        Path of the figure. The file extension selects the format (``.png .pdf .svg``).
    force : bool
        Whether to replace an existing file.

    Raises
    ------
    UnsupportedError, OSError
        See `check_figure`. Also raised if the disk is full. No partial file remains.
    """
    import matplotlib

    check_figure(path, force)
    with replacing(path, force) as temporary, matplotlib.rc_context(STYLE):
        figure.savefig(temporary, format=path.suffix.lower()[1:], dpi=_RESOLUTION)


def time_series(
    times: NDArray[np.float64],
    values: NDArray[np.float64],
    label: str,
    title: str = "",
    ax: "Axes | None" = None,
    *,
    frames: NDArray[np.integer] | None = None,
    from_zero: bool = True,
) -> "Figure":
    """Draw a quantity over time, next to a histogram of its values.

    Parameters
    ----------
    times : ndarray, shape (n_frames,), float64
        Times in ps. The axis uses ps, ns, µs or ms, depending on the range of the times.
    values : ndarray, shape (n_frames,), float64
        Values of the quantity, in the unit given in `label`.
    label : str
        Name and unit of the quantity, for example ``RMSD (Å)``.
    title : str
        Title of the figure.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into, without the histogram. By default, a new figure is created.
    frames : ndarray, shape (n_frames,), int, optional
        Frame numbers. By default, frames are numbered from 0. If times are not ascending, for example because several
        files each start at 0 ps, the quantity is drawn over the frame number.
    from_zero : bool
        Whether the value axis starts at 0.

    Returns
    -------
    matplotlib.figure.Figure
        The figure. Long series are drawn as the envelope of their lowest and highest values, which looks the same
        but keeps vector files small.
    """
    import matplotlib
    from matplotlib.figure import Figure

    numbers = np.arange(len(values)) if frames is None else frames
    order = np.argsort(numbers, kind="stable")
    numbers, times, values = numbers[order], times[order], values[order]
    if (np.diff(times) < 0).any():
        x, x_label = numbers.astype(np.float64), "Frame"
    else:
        unit, per_unit = time_unit(times)
        x, x_label = times / per_unit, f"Time ({unit})"
    if ax is not None:
        _draw_series(ax, x, values, x_label, label, from_zero)
        ax.set_title(title, loc="left")
        return figure_of(ax)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=SIZE, layout="constrained")
        if len(values) < _FEWEST_TO_SMOOTH:
            series = figure.add_subplot()
            _draw_series(series, x, values, x_label, label, from_zero)
        else:
            series, counts = figure.subplots(1, 2, sharey=True, width_ratios=(8, 1), gridspec_kw={"wspace": 0.01})
            _draw_series(series, x, values, x_label, label, from_zero)
            _draw_counts(counts, values)
            figure.align_xlabels()
        series.set_title(title, loc="left")
    return figure


def _draw_series(
    ax: "Axes", x: NDArray[np.float64], values: NDArray[np.float64], x_label: str, label: str, from_zero: bool
) -> None:
    smooth = len(values) >= _FEWEST_TO_SMOOTH
    if len(values) > _MOST_POINTS:
        at, low, high = envelope(x, values, _MOST_POINTS // 2)
        ax.fill_between(at, low, high, color=RAW, linewidth=0.4, label="each frame")
    elif smooth:
        ax.plot(x, values, color=RAW, linewidth=0.8, label="each frame")
    else:
        marker = "o" if len(values) <= 40 else None
        ax.plot(x, values, color=RAW_ALONE, linewidth=2.0, marker=marker, markersize=7, clip_on=False)
    if smooth:
        window = max(len(values) // 100, 5) | 1
        ax.plot(*running_median(x, values, window), color=SMOOTH, linewidth=2.0, label=f"median of {window:,} frames")
        # Placed above the axes so that it hides no data.
        ax.legend(
            loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False, ncols=2, borderaxespad=0.0, handlelength=1.2
        )
    ax.set_xlabel(x_label)
    if x_label == "Frame":
        ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_ylabel(label)
    _set_limits(ax, x, values, from_zero)
    ax.locator_params(axis="y", nbins=7, steps=[1, 2, 2.5, 5, 10])
    ax.grid(axis="y", color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _draw_counts(ax: "Axes", values: NDArray[np.float64]) -> None:
    finite = values[np.isfinite(values)]
    n_bins = int(np.clip(np.sqrt(len(finite)), 10, 60))
    ax.hist(finite, bins=n_bins, orientation="horizontal", color=RAW, edgecolor="none")
    ax.axhline(float(np.median(finite)), color=SMOOTH, linewidth=2.0)
    ax.tick_params(left=False, labelleft=False, bottom=False, labelbottom=False)
    ax.set_xlabel("Frames")
    ax.spines[["top", "right", "bottom", "left"]].set_visible(False)


def _set_limits(ax: "Axes", x: NDArray[np.float64], values: NDArray[np.float64], from_zero: bool) -> None:
    """Set axis limits that start at zero if requested, with a small margin elsewhere."""
    finite = values[np.isfinite(values)]
    edge = 0.0 if from_zero or not finite.size else float(finite[0])
    highest = float(finite.max(initial=edge))
    lowest = float(finite.min(initial=edge))
    air = 0.08 * (highest - lowest) or 1.0
    ax.set_ylim(0.0 if from_zero and lowest == 0 else lowest - air, highest + air)
    first, last = float(x[0]), float(x[-1])
    if last > first:
        # Extended by one frame, so that the round number at which a simulation ends gets a tick.
        ax.set_xlim(first, last + (last - first) * min(1.001 / (len(x) - 1), 0.01))
    else:
        ax.set_xticks([first])


def time_unit(times: NDArray[np.float64]) -> tuple[str, float]:
    """Return the largest time unit in which `times` reach 1.5, and the length of this unit in ps."""
    units: Sequence[tuple[str, float]] = (("ms", 1e9), ("µs", 1e6), ("ns", 1e3), ("ps", 1.0))
    longest = float(np.abs(times).max(initial=0.0))
    return next((unit for unit in units if longest >= 1.5 * unit[1]), units[-1])


def frame_edges(times: NDArray[np.float64]) -> tuple[float, float, str]:
    """Return the limits and the label of the time axis for a map with one column per frame.

    Parameters
    ----------
    times : ndarray, shape (n_frames,), float64
        Times in ps. If they are not evenly spaced, the axis counts frames instead.

    Returns
    -------
    tuple of float, float and str
        Half a column before the first frame, half a column after the last frame, and the axis label with its unit.
    """
    unit, per_unit = time_unit(times)
    at, name = times / per_unit, f"Time ({unit})"
    steps = np.diff(at)
    if len(steps) and (steps.min() <= 0 or steps.max() > 1.01 * steps.min()):
        at, name = np.arange(len(times), dtype=np.float64), "Frame analysed"
    half = (at[-1] - at[0]) / (len(at) - 1) / 2 if len(at) > 1 else 0.5
    return float(at[0] - half), float(at[-1] + half), name
