"""Inline SVG plots that fill the available width without scaling their text.

Positions along an axis are percentages of the plot. Small shapes are combined to a single path in a layer, which the
browser stretches to the size of the plot.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel.foundation.formatting import Unit, Units, unit_of
from mdreel.foundation.html.markup import Markup, element, together

_MOST_TICKS = 6


@dataclass(frozen=True)
class Axis:
    """An axis that begins at 0.

    Attributes
    ----------
    title : str
        Title.
    unit : Unit
        Unit of the numbers.
    end : float
        Value at the end of the axis, in seconds, bytes or pieces.
    """

    title: str
    unit: Unit
    end: float

    @classmethod
    def to(cls, end: float, title: str, units: Units) -> "Axis":
        """Return an axis with a unit that suits its end. If `end` is 0, the axis ends at 1."""
        unit = unit_of(end, units)
        return cls(title, unit, end if end > 0 else unit.size)

    def along(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return the positions of values, clipped to the range from 0 to 1."""
        return np.clip(np.asarray(values, np.float64) / self.end, 0.0, 1.0)

    def ticks(self) -> list[tuple[float, str]]:
        """Return the positions of round numbers, from 0 to 1, with their labels."""
        end = self.end / self.unit.size
        step = round_step(end / _MOST_TICKS)
        if self.unit.is_whole:
            step = max(step, 1.0)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        numbers = [i * step for i in range(math.floor(end / step + 1e-9) + 1)]
        return [(number / end, f"{number:,.{decimals}f}") for number in numbers]

    @property
    def label(self) -> str:
        """Title with the unit, or only the unit if there is no title."""
        return f"{self.title} ({self.unit.name})" if self.title else self.unit.name


@dataclass(frozen=True)
class Tips:
    """Tooltips for equally wide bands of a plot.

    Attributes
    ----------
    along : {"x", "y"}
        Whether the bands are side by side, or one below another.
    texts : sequence of str
        Text of each band.
    clock : Axis, optional
        Axis for which the tooltip also shows the position of the pointer.
    """

    along: Literal["x", "y"]
    texts: Sequence[str]
    clock: Axis | None = None

    def attributes(self) -> dict[str, str | float | None]:
        """Return the attributes that are read by the script of the page."""
        texts = json.dumps(list(self.texts), ensure_ascii=False, separators=(",", ":"))
        unit, end = (
            (None, None) if self.clock is None else (self.clock.unit.name, self.clock.end / self.clock.unit.size)
        )
        return {"data_along": self.along, "data_tips": texts, "data_unit": unit, "data_end": end}


def plot(
    label: str,
    height: float,
    *content: Markup,
    x: Axis,
    y: Axis | None = None,
    tips: Tips | None = None,
    margin: Literal["", "names", "lanes"] = "",
) -> Markup:
    """Return a plot with its axes.

    Parameters
    ----------
    label : str
        Text for screen readers.
    height : float
        Height, in pixels.
    *content : Markup
        Shapes, from back to front.
    x : Axis
        Horizontal axis.
    y : Axis, optional
        Vertical axis, or None for a plot with named lanes.
    tips : Tips, optional
        Tooltips.
    margin : {"", "names", "lanes"}
        Width of the margins.
    """
    back, front = _horizontal(x), Markup("")
    if y is not None:
        lines, front = _vertical(y)
        back = together(back, lines)
    canvas = element("svg", back, *content, front, class_="canvas", height=height, role="img", aria_label=label)
    class_ = f"plot {margin}".strip()
    if tips is None:
        return element("div", canvas, class_=class_)
    keys = f"{label}. The arrow keys show its numbers."
    return element("div", canvas, class_=class_, tabindex=0, role="group", aria_label=keys, **tips.attributes())


def layer(width: int, height: int, *paths: Markup) -> Markup:
    """Return paths that have their own units and are stretched to the size of the plot."""
    box = {"viewBox": f"0 0 {width} {height}", "preserveAspectRatio": "none", "width": "100%", "height": "100%"}
    return element("svg", *paths, class_="layer", **box)


def path(class_: str, data: str) -> Markup:
    """Return a path with a CSS class."""
    return element("path", class_=class_, d=data)


def rectangles(left: ArrayLike, right: ArrayLike, top: ArrayLike, bottom: ArrayLike) -> str:
    """Return the path of all rectangles with a non-zero area.

    Parameters
    ----------
    left, right, top, bottom : array_like, shape (n_rectangles,), int
        Edges of the rectangles, in the units of a layer.
    """
    edges = np.column_stack([np.asarray(edge, np.int64) for edge in (left, right, top, bottom)])
    edges = edges[(edges[:, 1] > edges[:, 0]) & (edges[:, 3] > edges[:, 2])]
    return "".join(f"M{x0} {y0}H{x1}V{y1}H{x0}z" for x0, x1, y0, y1 in edges.tolist())


def steps(heights: NDArray[np.integer], height: int) -> str:
    """Return the path of the area under steps with a width of one unit each, in a layer of height `height`."""
    line = "".join(f"V{height - value}h1" for value in heights.tolist())
    return f"M0 {height}{line}V{height}z"


def marker(at: float, text: str, class_: str = "", level: int = 0) -> Markup:
    """Return a vertical line across the plot, with a name above the line.

    Parameters
    ----------
    at : float
        Position, from 0 to 1.
    text : str
        Name.
    class_ : str
        CSS class of the line and the name.
    level : int
        Number of lines of text between the name and the plot.
    """
    place, anchor = place_of(at), "start" if at < 0.25 else "end" if at > 0.75 else "middle"
    line = element("line", x1=place, x2=place, y1="0", y2="100%", class_=f"marker {class_}".strip())
    name = element("text", text, x=place, y=-6 - 16 * level, text_anchor=anchor, class_=f"name {class_}".strip())
    return together(line, name)


def place_of(at: float) -> str:
    """Return a position from 0 to 1 in SVG's notation."""
    return f"{100 * at:.5g}%"


def round_step(least: float) -> float:
    """Return the smallest number of the form 1, 2 or 5 times a power of ten that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))


def _horizontal(axis: Axis) -> Markup:
    drawn: list[Markup] = []
    for i, (at, text) in enumerate(axis.ticks()):
        place = place_of(at)
        drawn.append(element("line", x1=place, x2=place, y1="0", y2="100%", class_="grid"))
        # Narrow screens show only every other number.
        drawn.append(element("text", text, x=place, y="100%", dy=18, class_="tick odd" if i % 2 else "tick"))
    drawn.append(element("text", axis.label, x="100%", y="100%", dy=36, class_="title end"))
    return together(*drawn)


def _vertical(axis: Axis) -> tuple[Markup, Markup]:
    """Return the grid lines, which are drawn behind the shapes, and the numbers."""
    places = [(place_of(1 - at), text) for at, text in axis.ticks()]
    lines = [element("line", x1="0", x2="100%", y1=place, y2=place, class_="grid") for place, _ in places]
    numbers = [element("text", text, x=-8, y=place, dy=4, class_="tick end") for place, text in places]
    return together(*lines), together(*numbers, element("text", axis.label, x=-44, y=-10, class_="title"))
