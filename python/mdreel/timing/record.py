"""Records of runs: timing, environment and limits of the machine."""

from dataclasses import dataclass
from typing import Any

from mdreel.timing.limits import Limits
from mdreel.timing.timing import Timing


@dataclass(frozen=True)
class Record:
    """The timing of a run with the environment in which it ran.

    Attributes
    ----------
    timing : Timing
        Its spans, crew and tasks.
    environment : dict
        As of `environment_of`; empty where nobody has looked.
    limits : Limits or None
        What the machine can do, if that was measured.
    title : str
        What was run.
    """

    timing: Timing
    environment: dict[str, Any]
    limits: Limits | None
    title: str
