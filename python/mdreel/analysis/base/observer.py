"""Observers of a run, which receive its progress and its results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from mdreel._core import Source
from mdreel.results.column import Column
from mdreel.timing.timing import Timing


@dataclass(frozen=True)
class ResultsView:
    """The results of an analysis, as an observer may read them while the analysis runs.

    Attributes
    ----------
    name : str
        The name of the analysis.
    columns : callable
        Returns the columns of the results so far.
    """

    name: str
    columns: Callable[[], Sequence[Column]]


class Observer(Protocol):
    """An observer of a run. A run enters it, reports to it, and leaves it."""

    def report_progress(self, n_frames: int) -> None:
        """Receive the number of frames done; called every few milliseconds."""

    def finish(self, n_frames: int, timing: Timing) -> None:
        """Receive the number of frames and the timing of a finished run, whose results are complete."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


@runtime_checkable
class Observed(Protocol):
    """A trajectory that has observers, such as a channel."""

    def observer(self, source: Source, views: Sequence[ResultsView]) -> Observer | None:
        """Return the observer of a run over an opened source, if there is one."""


def views_of(analyses: "Sequence[HasColumns]") -> list[ResultsView]:
    """Return a view of the results of each analysis."""
    return [ResultsView(type(analysis).__name__, analysis.columns) for analysis in analyses]


class HasColumns(Protocol):
    """An object whose results are a table."""

    def columns(self) -> Sequence[Column]:
        """Return the results as columns of a table."""
