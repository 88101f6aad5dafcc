"""Analyses that operators add to channels on the page."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

from mdreel.errors import MismatchError
from mdreel.live.watch.analysis_process import AnalysisProcess

MOST_ANALYSES = 16
"""Maximum number of analyses of a page. Each analysis is a process with its own topology."""

_END_SECONDS = 5.0
"""Time that all processes have to end after Ctrl-C, in s."""


@dataclass(frozen=True)
class AnalysisTypes:
    """Types of analyses that can be added on the page.

    Attributes
    ----------
    schema : dict
        JSON schema of each type, by name.
    check : callable
        Function that raises MismatchError if the settings of an analysis are invalid. The settings are a dict with a
        ``type``, as in a recipe.
    command : tuple of str
        Program that runs an analysis; see `AnalysisProcess`.
    task : dict
        Part of the task that all analyses share, such as the topology.
    """

    schema: Mapping[str, Any]
    check: Callable[[Mapping[str, Any]], None]
    command: tuple[str, ...]
    task: Mapping[str, Any]


@dataclass(frozen=True)
class ManagedAnalysis:
    """An analysis of the page.

    Attributes
    ----------
    number : int
        Number of the analysis on the page.
    channel : Path
        Directory of its channel.
    settings : dict
        Its type and its settings, as in a recipe.
    name : str or None
        Its name, if it is not the default name.
    process : AnalysisProcess
        Process that runs it.
    """

    number: int
    channel: Path
    settings: dict[str, Any]
    name: str | None
    process: AnalysisProcess

    def to_json(self) -> dict[str, Any]:
        """Return the JSON representation for the page."""
        return {
            "id": self.number,
            "name": self.name,
            "settings": self.settings,
            "process": self.process.number,
            "state": self.process.state,
            "reason": self.process.reason,
        }


class ManagedAnalyses:
    """Analyses that operators have added. All methods can be called from any thread.

    Parameters
    ----------
    types : AnalysisTypes
        Types of analyses that can be added.
    """

    def __init__(self, types: AnalysisTypes) -> None:
        self.types = types
        self._lock = Lock()
        self._each: dict[int, ManagedAnalysis] = {}
        self._ending: list[AnalysisProcess] = []
        self._n_added = 0

    def of_channel(self, channel: Path) -> list[ManagedAnalysis]:
        """Return the analyses of a channel in the order in which they were added."""
        with self._lock:
            return [one for one in self._each.values() if one.channel == channel]

    def add(self, channel: Path, settings: dict[str, Any], name: str | None) -> int:
        """Start an analysis and return its number.

        Raises
        ------
        MismatchError
            If the settings are invalid, or if there are too many analyses.
        """
        self.types.check(settings)
        with self._lock:
            if len(self._each) >= MOST_ANALYSES:
                raise MismatchError(f"this page already runs {MOST_ANALYSES} analyses: remove one of them first")
            self._n_added += 1
            process = self._start(channel, settings, name)
            self._each[self._n_added] = ManagedAnalysis(self._n_added, channel, settings, name, process)
            return self._n_added

    def change(self, number: int, settings: dict[str, Any], name: str | None) -> None:
        """Restart an analysis with other settings. Its earlier results are removed.

        Raises
        ------
        MismatchError
            If the settings are invalid, or if there is no such analysis. In this case, the analysis is not changed.
        """
        self.types.check(settings)
        with self._lock:
            one = self._find(number)
            self._end(one)
            process = self._start(one.channel, settings, name)
            self._each[number] = replace(one, settings=settings, name=name, process=process)

    def remove(self, number: int) -> None:
        """Stop an analysis, and remove its results from the page."""
        with self._lock:
            self._end(self._find(number))
            del self._each[number]

    def pause(self, number: int) -> None:
        """Let an analysis leave frames out until it is resumed. The simulation does not wait for it."""
        with self._lock:
            self._find(number).process.pause()

    def resume(self, number: int) -> None:
        """Let an analysis continue with the frames that are published from now on."""
        with self._lock:
            self._find(number).process.resume()

    def find(self, number: int) -> ManagedAnalysis:
        """Return the analysis with a number. Raise MismatchError if no analysis has this number."""
        with self._lock:
            return self._find(number)

    def close(self) -> None:
        """End all analyses. Their notices remain, so that watchers still show their results."""
        with self._lock:
            processes = [*self._ending, *(one.process for one in self._each.values())]
            for one in self._each.values():
                one.process.stop()
            self._each.clear()
        until = monotonic() + _END_SECONDS
        for process in processes:
            if not process.wait(max(0.0, until - monotonic())):
                with suppress(OSError):
                    process.kill()

    def _start(self, channel: Path, settings: Mapping[str, Any], name: str | None) -> AnalysisProcess:
        task = {**self.types.task, "channel": str(channel), "settings": dict(settings), "name": name}
        return AnalysisProcess(self.types.command, channel, task)

    def _end(self, one: ManagedAnalysis) -> None:
        one.process.stop(removes_notice=True)
        self._ending = [process for process in self._ending if not process.wait(0.0)]
        self._ending.append(one.process)

    def _find(self, number: int) -> ManagedAnalysis:
        if (found := self._each.get(number)) is None:
            raise MismatchError(f"there is no analysis {number} on this page; it may have been removed")
        return found


def managed_to_json(managed: Sequence[ManagedAnalysis]) -> list[dict[str, Any]]:
    """Return the JSON representation of the analyses of a channel."""
    return [one.to_json() for one in managed]
