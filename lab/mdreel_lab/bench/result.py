"""What a point gives: how long it took, the proof that it was done, and its spans."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdreel_lab.bench.grid import Point

if TYPE_CHECKING:
    from mdreel.timing.timing import Timing


@dataclass(frozen=True)
class Order:
    """What the process of a point is told.

    Attributes
    ----------
    point : Point
        What is to be done.
    folder : Path
        The folder of the benchmark, for the record.
    topology, reference : Path
        Topology that MDAnalysis reads, and the first frame as a PDB file.
    paths : list of Path
        The trajectory.
    facts : dict
        What is known already and goes into the record.
    """

    point: Point
    folder: Path
    topology: Path
    reference: Path
    paths: list[Path]
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """What came of it.

    Attributes
    ----------
    seconds : float
        How long all of it took, s.
    check : float or None
        A number in which all of the result takes part, the same for whoever does it.
    timing : Timing or None
        Its spans.
    facts : dict
        What else there is to say.
    """

    seconds: float
    check: float | None = None
    timing: "Timing | None" = None
    facts: dict[str, Any] = field(default_factory=dict)
