"""Meeting: a barrier of two processes, as MPI's is one of many."""

import socket
from time import monotonic, sleep
from typing import Self

from mdreel.bench.exchange.work import PATIENCE, Work

_TRY_AGAIN_SECONDS = 0.02


class Meeting:
    """A barrier between a producer and its consumer: a byte each way over TCP.

    Parameters
    ----------
    work : Work
        Says where the producer listens.
    listens : bool
        Whether this is the producer.

    Notes
    -----
    The paper has ``MPI_Barrier`` between the two. Of two ranks that is such an exchange as well; both wait in the
    kernel here, where MPI would use up a core.
    """

    def __init__(self, work: Work, *, listens: bool) -> None:
        self._socket = _accepted(work) if listens else _connected(work)
        self._socket.settimeout(PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def wait(self) -> None:
        """Return when the other is here, too.

        Raises
        ------
        RuntimeError
            If it has ended.
        """
        self._socket.sendall(b"!")
        if not self._socket.recv(1):
            raise RuntimeError("the other one of the pair has ended")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()


def _accepted(work: Work) -> socket.socket:
    with socket.create_server((work.address, work.port)) as server:
        server.settimeout(PATIENCE)
        return server.accept()[0]


def _connected(work: Work) -> socket.socket:
    until = monotonic() + PATIENCE
    while True:
        try:
            return socket.create_connection((work.address, work.port), timeout=1.0)
        except OSError:
            if monotonic() > until:
                raise
            sleep(_TRY_AGAIN_SECONDS)
