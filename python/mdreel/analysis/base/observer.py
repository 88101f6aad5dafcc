"""Observers that receive the progress and the results of a run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from mdreel._core import Source
from mdreel.results.column import Column
from mdreel.timing.timing import Timing


@dataclass(frozen=True)
class ResultsView:
    """A view through which an observer can read the results of an analysis while it runs.

    Attributes
    ----------
    name : str
        The name of the analysis.
    columns : callable
        Function that returns the columns of the results so far.
    """

    name: str
    columns: Callable[[], Sequence[Column]]


class Observer(Protocol):
    """An observer of a run. The run uses it as a context manager and calls its methods."""

    def report_progress(self, n_frames: int) -> None:
        """Receive the number of frames analysed so far. This method is called every few milliseconds."""

    def finish(self, n_frames: int, timing: Timing) -> None:
        """Receive the number of frames and the timing of a finished run. The results are then complete."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


@runtime_checkable
class Observed(Protocol):
    """A trajectory that has observers, such as a channel."""

    def observer(self, source: Source, views: Sequence[ResultsView]) -> Observer | None:
        """Return the observer for a run over an open source, if there is one."""


def views_of(analyses: "Sequence[HasColumns]") -> list[ResultsView]:
    """Return a view of the results of each analysis."""
    return [ResultsView(type(analysis).__name__, analysis.watched_columns) for analysis in analyses]


class HasColumns(Protocol):
    """An object whose results can be shown while it runs."""

    def watched_columns(self) -> Sequence[Column]:
        """Return the results that are shown as columns of a table."""
