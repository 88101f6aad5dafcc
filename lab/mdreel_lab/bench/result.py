"""What a point gives: how long it took, the proof that it was done, and its spans."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdreel_lab.bench.grid import Point

if TYPE_CHECKING:
    from mdreel.timing.timing import Timing


@dataclass(frozen=True)
class Order:
    """The order of the process of a point; ``facts`` are known before and go into the record."""

    point: Point
    folder: Path
    topology: Path
    reference: Path
    paths: list[Path]
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """The time of a point, s, a number to which all of the result contributes, its spans, and facts."""

    seconds: float
    check: float | None = None
    timing: "Timing | None" = None
    facts: dict[str, Any] = field(default_factory=dict)
