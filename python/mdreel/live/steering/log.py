"""Audit log of the steering in JSON lines format."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import time

from mdreel.foundation.json_lines import JsonLinesLog

FILE = "steering.jsonl"
"""Name of the log in the directory of a channel."""

EVENTS = ("started", "fired", "acted", "failed", "dry-run", "cooling-down", "ended")


@dataclass(frozen=True)
class EventFrame:
    """Frame that an event refers to.

    Attributes
    ----------
    sequence : int
        Number of the frame, as in the tables of the analyses.
    step : int or None
        Step of the simulation.
    frame_time : float or None
        Time of the frame, in ps.
    values : dict
        Values of the columns at this frame.
    """

    sequence: int
    step: int | None
    frame_time: float | None
    values: Mapping[str, float] = field(default_factory=dict)


class AuditLog(JsonLinesLog):
    """Log file with one line per event. The line has been passed to the operating system when `write` returns.

    Parameters
    ----------
    path : Path
        The file, which is created if it does not exist.

    Raises
    ------
    OSError
        If the file cannot be written.
    """

    def write(
        self,
        event: str,
        message: str,
        *,
        rule: str | None = None,
        action: str | None = None,
        frame: EventFrame | None = None,
    ) -> None:
        """Write a line.

        Parameters
        ----------
        event : str
            One of `EVENTS`.
        message : str
            Human-readable description.
        rule, action : str, optional
            Names of the rule and of the action.
        frame : EventFrame, optional
            Frame of the event.
        """
        line = {
            "time": time(),
            "rule": rule,
            "event": event,
            "sequence": None if frame is None else frame.sequence,
            "step": None if frame is None else frame.step,
            "frame_time": None if frame is None else _number(frame.frame_time),
            "values": {} if frame is None else {name: _number(value) for name, value in frame.values.items()},
            "action": action,
            "message": message,
        }
        self.append(line)


def _number(value: float | None) -> float | None:
    """Replace NaN and infinity, which JSON does not support, by None."""
    return value if value is not None and math.isfinite(value) else None
