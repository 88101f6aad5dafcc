"""What a point gives: how long it took, the proof that it was done, and its spans."""

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from mdreel_lab.bench.grid import Point
from mdreel_lab.bench.json_line import JsonLine
from mdreel_lab.bench.records import point_of

if TYPE_CHECKING:
    from mdreel.timing.timing import Timing


@dataclass(frozen=True)
class Order(JsonLine):
    """The order of the process of a point; ``facts`` are known before and go into the record."""

    point: Point
    folder: str
    topology: str
    reference: str
    paths: list[str]
    facts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of_json(cls, text: str) -> Self:
        """Return what `to_json` has made a line of."""
        values = json.loads(text)
        return cls(point_of(Point, values.pop("point")), **values)


@dataclass(frozen=True)
class Result:
    """The time of a point, s, a number to which all of the result contributes, its spans, and facts."""

    seconds: float
    check: float | None = None
    timing: "Timing | None" = None
    facts: dict[str, Any] = field(default_factory=dict)
