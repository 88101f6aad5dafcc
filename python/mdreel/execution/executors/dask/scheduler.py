"""Scheduler plug-in that records the tasks of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import time_ns
from typing import TYPE_CHECKING, Any

from distributed import SchedulerPlugin

if TYPE_CHECKING:
    from distributed import Scheduler


@dataclass(frozen=True)
class Record:
    """Record of the tasks of a run on the scheduler.

    Attributes
    ----------
    tasks : list of (str, str, float, float)
        Key, address of the worker, and start and stop times according to the scheduler's clock, in s.
    now_ns : int
        Current time of this clock, in ns.
    """

    tasks: list[tuple[str, str, float, float]] = field(default_factory=list)
    now_ns: int = field(default_factory=time_ns)


class TaskPlugin(SchedulerPlugin):
    """Scheduler plug-in that records the tasks of a run.

    Parameters
    ----------
    name : str
        Prefix of the task keys.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.tasks: list[tuple[str, str, float, float]] = []

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        """Record the computation of a task. Dask calls this method when the state of a task changes."""
        if not isinstance(key, str) or not key.startswith(self.name):
            return
        for stretch in kwargs.get("startstops") or ():
            if stretch["action"] == "compute":
                self.tasks.append((key, kwargs.get("worker", ""), stretch["start"], stretch["stop"]))
        del start, finish, args


def record_of(name: str, dask_scheduler: Scheduler) -> Record:
    """Return the record of a run. This function is executed on the scheduler."""
    plugin = dask_scheduler.plugins[name]
    assert isinstance(plugin, TaskPlugin)
    return Record(plugin.tasks)
