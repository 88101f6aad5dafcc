"""Function calls on all ranks, and a barrier at which waiting ranks do not keep a core busy."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from mdreel.execution.executors.mpi.broadcast import Kind, Message, send
from mdreel.execution.executors.remote_errors import Failure

_PAUSE_SECONDS = 0.002


class RankCalls:
    """Calls functions on all ranks while the other ranks serve rank 0; see `serving_processes.Helpers`.

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
    """Call the function that a message contains on this rank, and send its return value to rank 0."""
    value, failure = None, None
    try:
        function, arguments = message.read()
        value = function(*arguments[communicator.rank])
    except Exception as error:  # noqa: BLE001 (rank 0 must know of every error)
        failure = Failure.of(error)
    meet(communicator)
    communicator.gather((value, failure))


def meet(communicator: Any) -> BaseException | None:
    """Wait for the other ranks without keeping a core busy. Return the exception if Ctrl-C was received, or None."""
    request, interrupted = communicator.Ibarrier(), None
    while not request.Test():
        try:
            time.sleep(_PAUSE_SECONDS)
        except KeyboardInterrupt as error:
            interrupted = error
    return interrupted
