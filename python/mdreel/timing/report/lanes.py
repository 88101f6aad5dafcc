"""Lanes of plots, with one lane per worker."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mdreel.foundation.formatting import digits
from mdreel.foundation.html.markup import Markup, element, together
from mdreel.timing.report.svg import place_of, round_step
from mdreel.timing.stragglers import Straggler

_TALLEST = 24.0  # pixels
_HEIGHT = 560.0  # pixels; the largest height of all lanes
_THINNEST = 2.0
_LINE_OF_TEXT = 14.0


@dataclass(frozen=True)
class Lanes:
    """Lanes of equal height.

    Attributes
    ----------
    n_lanes : int
        Number of lanes.
    """

    n_lanes: int

    @property
    def pitch(self) -> float:
        """Height of a lane, in pixels."""
        return max(_THINNEST, min(_TALLEST, _HEIGHT / max(self.n_lanes, 1)))

    @property
    def height(self) -> float:
        """Height of all lanes, in pixels."""
        return self.n_lanes * self.pitch

    @property
    def are_thick(self) -> bool:
        """Whether each lane has enough space for a gap and a line of text."""
        return self.pitch >= _LINE_OF_TEXT

    def labels(self, names: Sequence[str], marks: Mapping[int, str]) -> Markup:
        """Return the labels, with as many names as possible on the left, and marks of stragglers on the right.

        Parameters
        ----------
        names : sequence of str
            Name of each lane.
        marks : mapping of int to str
            Mark of each straggler by lane.
        """
        every = round(round_step(max(1.0, _LINE_OF_TEXT / self.pitch)))
        drawn = []
        for lane, name in enumerate(names):
            if lane % every == 0 or (lane in marks and self.are_thick):
                class_ = "tick end late" if lane in marks and self.are_thick else "tick end"
                drawn.append(element("text", name, x=-8, y=self._middle(lane), dy=4, class_=class_))
        drawn.extend(self._mark(lane, text) for lane, text in marks.items())
        return together(*drawn)

    def _mark(self, lane: int, text: str) -> Markup:
        if self.are_thick:
            return element("text", f"◂ {text}", x="100%", dx=6, y=self._middle(lane), dy=4, class_="tick start late")
        return element("circle", cx="100%", cy=self._middle(lane), r=min(3.0, math.sqrt(self.pitch)), class_="late")

    def _middle(self, lane: int) -> str:
        return place_of((lane + 0.5) / self.n_lanes)


def marks_of(straggling: Sequence[Straggler], workers: Sequence[int]) -> dict[int, str]:
    """Return the marks of stragglers by lane, such as "2.1×" (times the median)."""
    marks = {straggler.rank: f"{digits(straggler.times_median)}×" for straggler in straggling}
    return {lane: marks[worker] for lane, worker in enumerate(workers) if worker in marks}
