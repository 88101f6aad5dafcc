"""One TCP connection and nothing else: the floor of solutions that go through a network."""

import socket
from typing import Self

from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.regions import Regions
from mdreel_lab.bench.exchange.work import PATIENCE, Work, when_there


def missing(work: Work) -> str:
    """Say what is missing."""
    del work
    return ""


class Sender:
    """Listens, and sends."""

    def __init__(self, work: Work) -> None:
        with socket.create_server((work.address, work.port)) as server:
            server.settimeout(PATIENCE)
            self._connection, _ = server.accept()
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def put(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Send one."""
        del number
        with regions("write_single_buf"):
            self._connection.sendall(frame.buffer.data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()


class Receiver:
    """Receives into memory that is used again."""

    def __init__(self, work: Work) -> None:
        where = (work.address, work.port)
        self._connection = when_there(lambda: socket.create_connection(where), OSError)

    def get(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Receive the next."""
        del number
        there = 0
        with regions("fetch"):
            while there < frame.buffer.nbytes:
                count = self._connection.recv_into(frame.buffer.data[there:])
                if not count:
                    raise EOFError("the producer has hung up")
                there += count

    def done(self, regions: Regions) -> None:
        """Nobody waits for it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
