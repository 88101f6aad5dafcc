"""Inline SVG plots that fill their width and keep their text size.

Places along an axis are per cent of the plot; what has many pieces is one path in a layer, which is stretched.
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
        What it shows.
    unit : Unit
        What its numbers are in.
    end : float
        Where it ends, in seconds, bytes or pieces.
    """

    title: str
    unit: Unit
    end: float

    @classmethod
    def to(cls, end: float, title: str, units: Units) -> "Axis":
        """Return an axis with the unit that suits its end; an axis of nothing ends at 1."""
        unit = unit_of(end, units)
        return cls(title, unit, end if end > 0 else unit.size)

    def along(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return where values lie, from 0 to 1; what lies beyond an end is brought there."""
        return np.clip(np.asarray(values, np.float64) / self.end, 0.0, 1.0)

    def ticks(self) -> list[tuple[float, str]]:
        """Return round numbers: where they lie, from 0 to 1, and how they are written."""
        end = self.end / self.unit.size
        step = round_step(end / _MOST_TICKS)
        if self.unit.is_whole:
            step = max(step, 1.0)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        numbers = [i * step for i in range(math.floor(end / step + 1e-9) + 1)]
        return [(number / end, f"{number:,.{decimals}f}") for number in numbers]

    @property
    def label(self) -> str:
        """Its title with the unit, which may be all that there is to say."""
        return f"{self.title} ({self.unit.name})" if self.title else self.unit.name


@dataclass(frozen=True)
class Tips:
    """What is said of equal bands of a plot while they are pointed at.

    Attributes
    ----------
    along : {"x", "y"}
        Whether the bands lie side by side, or one below the other.
    texts : sequence of str
        What is said of each.
    clock : Axis, optional
        The axis on which the place of the pointer is told besides.
    """

    along: Literal["x", "y"]
    texts: Sequence[str]
    clock: Axis | None = None

    def attributes(self) -> dict[str, str | float | None]:
        """Return what the script of the page reads."""
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
        What it shows, for those who cannot see it.
    height : float
        Height, in pixels.
    *content : Markup
        What is drawn, from back to front.
    x : Axis
        From left to right.
    y : Axis, optional
        From the bottom to the top; without it there are lanes, which have names.
    tips : Tips, optional
        What is said where it is pointed at.
    margin : {"", "names", "lanes"}
        How much room there is beside it.
    """
    back, front = _horizontal(x), Markup("")
    if y is not None:
        lines, front = _vertical(y)
        back = together(back, lines)
    canvas = element("svg", back, *content, front, class_="canvas", height=height, role="img", aria_label=label)
    return element("div", canvas, class_=f"plot {margin}".strip(), **(tips.attributes() if tips else {}))


def layer(width: int, height: int, *paths: Markup) -> Markup:
    """Return paths in units of their own, stretched to the size of the plot."""
    box = {"viewBox": f"0 0 {width} {height}", "preserveAspectRatio": "none", "width": "100%", "height": "100%"}
    return element("svg", *paths, class_="layer", **box)


def path(class_: str, data: str) -> Markup:
    """Return a path of a class."""
    return element("path", class_=class_, d=data)


def rectangles(left: ArrayLike, right: ArrayLike, top: ArrayLike, bottom: ArrayLike) -> str:
    """Return the path of rectangles; those without area are left out.

    Parameters
    ----------
    left, right, top, bottom : array_like, shape (n_rectangles,), int
        Their edges, in the units of a layer.
    """
    edges = np.column_stack([np.asarray(edge, np.int64) for edge in (left, right, top, bottom)])
    edges = edges[(edges[:, 1] > edges[:, 0]) & (edges[:, 3] > edges[:, 2])]
    return "".join(f"M{x0} {y0}H{x1}V{y1}H{x0}z" for x0, x1, y0, y1 in edges.tolist())


def steps(heights: NDArray[np.integer], height: int) -> str:
    """Return the path of the area under steps of one unit of width each, in a layer that is `height` high."""
    line = "".join(f"V{height - value}h1" for value in heights.tolist())
    return f"M0 {height}{line}V{height}z"


def marker(at: float, text: str, class_: str = "", level: int = 0) -> Markup:
    """Return a line across the plot with a name above it.

    Parameters
    ----------
    at : float
        Where, from 0 to 1.
    text : str
        Its name.
    class_ : str
        The class of both.
    level : int
        How many lines of text lie between the name and the plot.
    """
    place, anchor = place_of(at), "start" if at < 0.25 else "end" if at > 0.75 else "middle"
    line = element("line", x1=place, x2=place, y1="0", y2="100%", class_=f"marker {class_}".strip())
    name = element("text", text, x=place, y=-6 - 16 * level, text_anchor=anchor, class_=f"name {class_}".strip())
    return together(line, name)


def place_of(at: float) -> str:
    """Return a place from 0 to 1 as SVG writes it."""
    return f"{100 * at:.5g}%"


def round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5, 10, ... and their decimal fractions that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))


def _horizontal(axis: Axis) -> Markup:
    drawn: list[Markup] = []
    for i, (at, text) in enumerate(axis.ticks()):
        place = place_of(at)
        drawn.append(element("line", x1=place, x2=place, y1="0", y2="100%", class_="grid"))
        # On narrow screens every other number goes.
        drawn.append(element("text", text, x=place, y="100%", dy=18, class_="tick odd" if i % 2 else "tick"))
    drawn.append(element("text", axis.label, x="100%", y="100%", dy=36, class_="title end"))
    return together(*drawn)


def _vertical(axis: Axis) -> tuple[Markup, Markup]:
    """The lines, which lie behind what is drawn, and the numbers."""
    places = [(place_of(1 - at), text) for at, text in axis.ticks()]
    lines = [element("line", x1="0", x2="100%", y1=place, y2=place, class_="grid") for place, _ in places]
    numbers = [element("text", text, x=-8, y=place, dy=4, class_="tick end") for place, text in places]
    return together(*lines), together(*numbers, element("text", axis.label, x=-44, y=-10, class_="title"))
