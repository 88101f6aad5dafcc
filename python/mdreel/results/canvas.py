"""Styled axes to draw into, from a new figure or from the caller."""

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
    """Yield axes to draw into, and then add the title and the grid.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        Axes from the caller, or None to create a new figure.
    title : str
        Title of the figure.
    size : tuple of float
        Width and height of a new figure in inches.
    grid : {"x", "y", "both"} or None
        Axes with grid lines. With a grid, the top and right spines are hidden. Use None for maps that fill their axes.
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
    """Return the figure that contains the axes."""
    figure = axes.get_figure(root=True)
    assert figure is not None, "axes belong to a figure"
    return figure
