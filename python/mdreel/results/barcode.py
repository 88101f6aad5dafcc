"""Barcodes: figures of the frames in which each of several interactions is present."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.results.canvas import canvas, figure_of
from mdreel.results.figure import frame_edges
from mdreel.results.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ROWS = 40
"""Rows that a barcode shows at most."""

_MOST_FRAMES = 2_000  # about the width of the figure in pixels
_WIDTH, _ROW = 12.0, 0.32  # inches
_MORE = ("#882255", "#999933", "#332288", "#44AA99", "#661100", "#888888", "#AA4499", "#DDCC77")
_ALL = (*COLOURS, *_MORE)


def colours_of(kinds: Sequence[str]) -> dict[str, str]:
    """Return a colour for each kind, in the order in which the kinds first appear."""
    return {kind: _ALL[i % len(_ALL)] for i, kind in enumerate(dict.fromkeys(kinds))}


def barcode(
    times: NDArray[np.float64],
    names: Sequence[str],
    kinds: Sequence[str],
    frames: NDArray[np.int64],
    rows: NDArray[np.int64],
    title: str = "",
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw a row of bars for each interaction.

    In long trajectories, a bar stands for several frames and shows whether one of them has the interaction.

    Parameters
    ----------
    times : ndarray, shape (n_frames,), float64
        Times in ps. The axis uses ps, ns, µs or ms, depending on their range, or counts frames if the times are not
        evenly spaced.
    names : sequence of str, shape (n_rows,)
        Label of each row.
    kinds : sequence of str, shape (n_rows,)
        Kind of each row, which chooses its colour.
    frames, rows : ndarray, shape (n_bars,), int64
        Frame and row of each bar, both counted from 0.
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    first, last, label = frame_edges(times)
    n_bins = min(len(times), _MOST_FRAMES)
    colours = colours_of(kinds)
    numbers = {kind: number for number, kind in enumerate(colours)}
    drawn = np.full((max(len(names), 1), n_bins), -1, np.int16)
    drawn[rows, frames * n_bins // max(len(times), 1)] = np.array([numbers[kind] for kind in kinds], np.int16)[rows]
    size = (_WIDTH, max(3.0, 1.2 + _ROW * len(names)))
    with canvas(ax, title, size, grid=None) as axes:
        axes.imshow(
            drawn,
            cmap=ListedColormap(["#FFFFFF", *colours.values()]),
            vmin=-1.5,
            vmax=len(colours) - 0.5,
            extent=(first, last, len(drawn) - 0.5, -0.5),
            aspect="auto",
            interpolation="nearest",
        )
        axes.set_xlabel(label)
        axes.set_yticks(range(len(names)), labels=list(names), fontsize=11)
        patches = [Patch(facecolor=colour, label=kind) for kind, colour in colours.items()]
        if patches:
            axes.legend(handles=patches, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, handlelength=1.0)
    return figure_of(axes)
