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
    """What a scheduler says of the tasks of a run.

    Attributes
    ----------
    tasks : list of (str, str, float, float)
        Key, address of the worker, start and stop by the clock of the scheduler, s.
    now_ns : int
        What that clock says.
    """

    tasks: list[tuple[str, str, float, float]] = field(default_factory=list)
    now_ns: int = field(default_factory=time_ns)


class TaskPlugin(SchedulerPlugin):
    """Records the tasks of a run.

    Parameters
    ----------
    name : str
        What the keys of the run's tasks begin with.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.tasks: list[tuple[str, str, float, float]] = []

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        """Be told that a task goes from one state to another."""
        if not isinstance(key, str) or not key.startswith(self.name):
            return
        for stretch in kwargs.get("startstops") or ():
            if stretch["action"] == "compute":
                self.tasks.append((key, kwargs.get("worker", ""), stretch["start"], stretch["stop"]))
        del start, finish, args


def record_of(name: str, dask_scheduler: Scheduler) -> Record:
    """Return what was recorded of a run, on the scheduler."""
    plugin = dask_scheduler.plugins[name]
    assert isinstance(plugin, TaskPlugin)
    return Record(plugin.tasks)
