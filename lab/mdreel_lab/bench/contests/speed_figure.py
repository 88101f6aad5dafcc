"""Figure of the README: time per frame of mdreel and of its peers, one row per job."""

from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from mdreel.results.canvas import canvas, figure_of
from mdreel.results.style import COLOURS, INK
from mdreel_lab.bench.contests.pages import FAMILIES, Page, best_of_family, microseconds, of_readme_pages
from mdreel_lab.bench.records import write_text
from mdreel_lab.bench.table import number

_LOOKS = {
    "mdreel-1": ("o", COLOURS[0], True),
    "mdreel-2": ("o", COLOURS[0], False),
    "molly": ("D", COLOURS[2], True),
    "xdrfile": ("s", COLOURS[3], True),
    "mdtraj": ("^", COLOURS[4], True),
    "gmx": ("P", COLOURS[6], True),
    "cpptraj": ("X", COLOURS[5], True),
    "mdanalysis": ("v", COLOURS[1], True),
    "mdanalysis-2": ("v", COLOURS[1], False),
}
"""Marker, colour, and whether the marker is filled, of each family of contenders."""

_SIZE = (12.0, 5.6)  # inches


def speed_figure(pages: Sequence[Page]) -> Figure:
    """Draw the time a frame of each family of contenders, on a logarithmic axis; the fastest way of each is shown."""
    shown = of_readme_pages(pages)
    with canvas(None, "", _SIZE, "x") as axes:
        for family, (marker, colour, is_filled) in _LOOKS.items():
            found = [(row, best_of_family(page, family)) for row, page in enumerate(shown)]
            points = [(microseconds(kept), row) for row, kept in found if kept is not None]
            if points:
                at, rows = zip(*points, strict=True)
                label = FAMILIES[family] + ", 1 core" * (family in ("mdreel-1", "mdanalysis"))
                face = colour if is_filled else "white"
                size: Any = {"markersize": 11, "markeredgewidth": 1.8, "markerfacecolor": face}
                axes.plot(at, rows, marker, label=label, color=colour, **size)
            for value, row in points if family == "mdreel-1" else ():
                below: Any = {"xytext": (0, -24), "textcoords": "offset points", "ha": "center"}
                axes.annotate(f"{number(value)} µs", (value, row), **below)
        axes.set_yticks(range(len(shown)), [_title(page) for page in shown])
        axes.set_ylim(len(shown) - 0.35, -0.6)
        axes.hlines(range(len(shown)), 1, 1e4, colors="#D0D0D0", linewidth=0.8, zorder=0)
        axes.tick_params(axis="y", length=0)
        axes.set_xscale("log")
        axes.set_xlim(1, 1e4)
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("Time for one frame (µs, logarithmic; less is better)", color=INK)
        figure = figure_of(axes)
        figure.legend(loc="outside upper center", ncols=5, frameon=False, columnspacing=1.2, handletextpad=0.2)
    return figure


def write_speed_figure(place: Path, pages: Sequence[Page]) -> None:
    """Write the figure as SVG; the same results give the same bytes."""
    figure, text = speed_figure(pages), StringIO()
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "speed"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    lines = (line.rstrip() for line in text.getvalue().splitlines())
    write_text(place, "\n".join(lines) + "\n")


def _title(page: Page) -> str:
    words, _, rest = str(page["title"]).partition(", ")
    return f"{words},\n{rest}" if rest else words
