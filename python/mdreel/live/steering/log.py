"""Audit log of steering as JSON lines."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import time

from mdreel.foundation.json_lines import JsonLinesLog

FILE = "steering.jsonl"
"""What it is called in the directory of a channel."""

EVENTS = ("started", "fired", "acted", "failed", "dry-run", "cooling-down", "ended")


@dataclass(frozen=True)
class Moment:
    """The frame that something is about.

    Attributes
    ----------
    sequence : int
        Its number, as in the tables of the analyses.
    step : int or None
        Step of the simulation.
    frame_time : float or None
        Its time, ps.
    values : dict
        Values of columns at it.
    """

    sequence: int
    step: int | None
    frame_time: float | None
    values: Mapping[str, float] = field(default_factory=dict)


class AuditLog(JsonLinesLog):
    """A file behind which each event goes as one line, which is on the disk when `write` returns.

    Parameters
    ----------
    path : Path
        The file; it is made if it is not there.

    Raises
    ------
    OSError
        If it cannot be written.
    """

    def write(
        self,
        event: str,
        message: str,
        *,
        rule: str | None = None,
        action: str | None = None,
        moment: Moment | None = None,
    ) -> None:
        """Write a line.

        Parameters
        ----------
        event : str
            One of `EVENTS`.
        message : str
            What happened, in words.
        rule, action : str, optional
            By which rule, and which action.
        moment : Moment, optional
            At which frame.
        """
        line = {
            "time": time(),
            "rule": rule,
            "event": event,
            "sequence": None if moment is None else moment.sequence,
            "step": None if moment is None else moment.step,
            "frame_time": None if moment is None else _number(moment.frame_time),
            "values": {} if moment is None else {name: _number(value) for name, value in moment.values.items()},
            "action": action,
            "message": message,
        }
        self.append(line)


def _number(value: float | None) -> float | None:
    """JSON has no word for what is no number."""
    return value if value is not None and math.isfinite(value) else None
