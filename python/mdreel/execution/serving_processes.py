"""Processes that serve the calling one, such as the other MPI ranks, and the objects that they keep for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol


class Kept:
    """Place for one object, which a process keeps between calls of the process that it serves."""

    def __init__(self) -> None:
        self.item: Any = None


class Helpers(Protocol):
    """The calling process and the processes that serve it."""

    @property
    def n_processes(self) -> int:
        """Number of processes, the calling one included."""

    def call(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any] | None:
        """Call a function in every process at the same time.

        Parameters
        ----------
        function : callable
            Function of a module, which every process can import.
        arguments : sequence of tuple
            Arguments of each process; those of the calling process come first.

        Returns
        -------
        list or None
            Value of each process, in the same order; None if the function raised an error in one of them.
        """


_HELPERS: ContextVar[Helpers | None] = ContextVar("processes that serve this one", default=None)
_KEPT: ContextVar[Kept | None] = ContextVar("what this process keeps for the run", default=None)


def current_helpers() -> Helpers | None:
    """Return the processes that serve this one, or None."""
    return _HELPERS.get()


def current_kept() -> Kept | None:
    """Return the place for what this process keeps; None if it belongs to no group of processes."""
    return _KEPT.get()


@contextmanager
def among_processes(helpers: Helpers | None = None) -> Iterator[None]:
    """Keep objects for a run of several processes.

    Parameters
    ----------
    helpers : Helpers, optional
        The processes, if they serve this one. None if this process serves another.
    """
    kept, helping = _KEPT.set(Kept()), _HELPERS.set(helpers)
    try:
        yield
    finally:
        _HELPERS.reset(helping)
        _KEPT.reset(kept)
