"""Axes of a new figure or of the caller."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from mdreel.results.style import GRID, SIZE, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@contextmanager
def canvas(
    ax: "Axes | None",
    title: str,
    size: tuple[float, float] = SIZE,
    grid: Literal["x", "y", "both"] | None = "y",
) -> Iterator["Axes"]:
    """Give axes to draw into, and finish them.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        The caller's; None for those of a new figure.
    title : str
        A line above the picture.
    size : tuple of float
        Width and height of a new figure, inches.
    grid : {"x", "y", "both"} or None
        Lines behind the picture at the ticks of these axes, which then has no frame at the top and on the right. None
        for pictures that fill their frame.
    """
    import matplotlib
    from matplotlib.figure import Figure as NewFigure

    with matplotlib.rc_context(STYLE):
        axes = NewFigure(figsize=size, layout="constrained").add_subplot() if ax is None else ax
        yield axes
        axes.set_title(title, loc="left")
        if grid is not None:
            axes.grid(axis=grid, color=GRID, linewidth=0.8)
            axes.set_axisbelow(True)
            axes.spines[["top", "right"]].set_visible(False)


def figure_of(axes: "Axes") -> "Figure":
    """Return the figure in which axes are."""
    figure = axes.get_figure(root=True)
    assert figure is not None, "axes belong to a figure"
    return figure
