"""Calls of functions on all ranks, and the barrier at which ranks wait without keeping a core busy."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from mdreel.execution.executors.mpi.broadcast import Kind, Message, send
from mdreel.execution.executors.remote_errors import Failure

_PAUSE_SECONDS = 0.002


class RankCalls:
    """All ranks, as rank 0 calls them while the others serve it; see `mdreel.execution.serving_processes.Helpers`.

    Parameters
    ----------
    communicator : mpi4py.MPI.Comm
        The ranks.
    """

    def __init__(self, communicator: Any) -> None:
        self._communicator = communicator

    @property
    def n_processes(self) -> int:
        """Number of ranks."""
        size: int = self._communicator.size
        return size

    def call(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any] | None:
        """Call a function on every rank; see `Helpers.call`."""
        send(self._communicator, Kind.CALL, (function, list(arguments)))
        value, failure, interrupt = None, None, None
        try:
            value = function(*arguments[0])
        except Exception as error:  # noqa: BLE001 (the other ranks wait for this rank)
            failure = Failure.of(error)
        except BaseException as error:  # noqa: BLE001 (raised after all ranks have met)
            interrupt = error
        interrupt = meet(self._communicator) or interrupt
        answers = self._communicator.gather((value, failure))
        if interrupt is not None:
            raise interrupt
        if any(failed is not None for _, failed in answers):
            return None
        return [value for value, _ in answers]


def take_part(communicator: Any, message: Message) -> None:
    """Call the function of a message on this rank, and send its value to rank 0."""
    value, failure = None, None
    try:
        function, arguments = message.read()
        value = function(*arguments[communicator.rank])
    except Exception as error:  # noqa: BLE001 (rank 0 must know of every error)
        failure = Failure.of(error)
    meet(communicator)
    communicator.gather((value, failure))


def meet(communicator: Any) -> BaseException | None:
    """Wait for the other ranks without keeping a core busy; return the interrupt that arrived, if any."""
    request, interrupted = communicator.Ibarrier(), None
    while not request.Test():
        try:
            time.sleep(_PAUSE_SECONDS)
        except KeyboardInterrupt as error:
            interrupted = error
    return interrupted
