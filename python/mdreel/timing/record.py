"""Records of runs, which contain the timing, the environment and the limits of the machine."""

from dataclasses import dataclass
from typing import Any

from mdreel.timing.limits import Limits
from mdreel.timing.run_description import RunDescription
from mdreel.timing.timing import Timing


@dataclass(frozen=True)
class Record:
    """The timing of a run, together with the environment in which it was run.

    Attributes
    ----------
    timing : Timing
        Spans, processes and tasks.
    environment : dict
        See `environment_of`. It is empty if the environment was not recorded.
    limits : Limits or None
        Limits of the machine, if they were measured.
    title : str
        Title of the run.
    run : RunDescription or None
        Description of the run, if it was recorded.
    """

    timing: Timing
    environment: dict[str, Any]
    limits: Limits | None
    title: str
    run: RunDescription | None = None
