"""Records of runs: timing, environment and limits of the machine."""

from dataclasses import dataclass
from typing import Any

from mdreel.timing.limits import Limits
from mdreel.timing.run_description import RunDescription
from mdreel.timing.timing import Timing


@dataclass(frozen=True)
class Record:
    """The timing of a run with the environment in which it ran.

    Attributes
    ----------
    timing : Timing
        Spans, processes and tasks.
    environment : dict
        See `environment_of`; empty if not recorded.
    limits : Limits or None
        Limits of the machine, if measured.
    title : str
        Title of the run.
    run : RunDescription or None
        Description of the run, if recorded.
    """

    timing: Timing
    environment: dict[str, Any]
    limits: Limits | None
    title: str
    run: RunDescription | None = None
