"""Figures of networks of interactions between residues."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mdreel.results.barcode import colours_of
from mdreel.results.canvas import canvas, figure_of
from mdreel.results.style import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (12.0, 8.0)  # inches
_WIDEST = 5.0  # points
_BEND = 0.12  # of the length of a line, between lines that join the same residues


def interaction_network(
    edges: Sequence[tuple[str, str, str, float]], title: str = "", ax: "Axes | None" = None
) -> "Figure":
    """Draw residues on a circle, with a line for each interaction.

    The residues of the first group come before the others, counter-clockwise from the right.

    Parameters
    ----------
    edges : sequence of tuple of str, str, str and float
        Labels of two residues, the kind of interaction, and its weight from 0 to 1.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import FancyArrowPatch

    nodes = list(dict.fromkeys([*(first for first, *_ in edges), *(second for _, second, *_ in edges)]))
    angles = np.linspace(0, 2 * np.pi, len(nodes), endpoint=False)
    at = {node: (float(np.cos(angle)), float(np.sin(angle))) for node, angle in zip(nodes, angles, strict=True)}
    colours = colours_of([kind for _, _, kind, _ in edges])
    repeated: defaultdict[tuple[str, str], int] = defaultdict(int)
    with canvas(ax, title, _SIZE, grid=None) as axes:
        for first, second, kind, weight in edges:
            bend = _BEND * repeated[first, second]
            repeated[first, second] += 1
            line = FancyArrowPatch(
                at[first],
                at[second],
                arrowstyle="-",
                connectionstyle=f"arc3,rad={bend}",
                linewidth=max(_WIDEST * weight, 0.5),
                color=colours[kind],
                alpha=0.85,
            )
            axes.add_patch(line)
        for node, angle in zip(nodes, np.degrees(angles), strict=True):
            x, y = at[node]
            axes.plot([x], [y], "o", color=INK, markersize=7)
            is_left = 90 < angle < 270
            turn = angle - 180 if is_left else angle
            axes.text(
                1.06 * x,
                1.06 * y,
                node,
                rotation=turn,
                rotation_mode="anchor",
                ha="right" if is_left else "left",
                va="center",
                fontsize=12,
            )
        axes.set(xlim=(-1.6, 1.6), ylim=(-1.45, 1.45), aspect="equal")
        axes.set_axis_off()
        lines = [Line2D([], [], color=colour, linewidth=3.0, label=kind) for kind, colour in colours.items()]
        axes.legend(handles=lines, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure_of(axes)
