"""Processes that serve the calling process, such as other MPI ranks, and objects that they keep for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from mdreel._core import FileCheck


class Kept:
    """Objects that a process keeps between calls from the process that it serves.

    Attributes
    ----------
    item : object
        Any object.
    checks_later : bool
        Whether the check of a chain's files may last longer than its opening; see `file_check`.
    check : FileCheck or None
        The check of the files, if it may still last.
    """

    def __init__(self) -> None:
        self.item: Any = None
        self.checks_later = False
        self.check: FileCheck | None = None


class Helpers(Protocol):
    """The calling process and the processes that serve it."""

    @property
    def n_processes(self) -> int:
        """Number of processes, including the calling process."""

    def call(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any] | None:
        """Call a function in every process at the same time.

        Parameters
        ----------
        function : callable
            Function that is defined in a module, so that every process can import it.
        arguments : sequence of tuple
            Arguments for each process, starting with the calling process.

        Returns
        -------
        list or None
            Return value of each process, in the same order, or None if the function raised an error in any process.
        """


_HELPERS: ContextVar[Helpers | None] = ContextVar("processes that serve this one", default=None)
_KEPT: ContextVar[Kept | None] = ContextVar("what this process keeps for the run", default=None)


def current_helpers() -> Helpers | None:
    """Return the processes that serve this process, or None if there are none."""
    return _HELPERS.get()


def current_kept() -> Kept | None:
    """Return the container for the objects that this process keeps, or None if it does not belong to a group."""
    return _KEPT.get()


@contextmanager
def among_processes(helpers: Helpers | None = None) -> Iterator[None]:
    """Keep objects during a run with several processes.

    Parameters
    ----------
    helpers : Helpers, optional
        The processes, if they serve this process. None if this process serves another process.
    """
    kept, helping = _KEPT.set(Kept()), _HELPERS.set(helpers)
    try:
        yield
    finally:
        _HELPERS.reset(helping)
        _KEPT.reset(kept)
