"""One TCP connection and nothing else: the floor of all that goes through a network."""

from __future__ import annotations

import socket
from typing import Any

import numpy as np

from peers.channels.work import TIME_LIMIT, Work, when_there


class Producer:
    """Listens, and sends."""

    def __init__(self, work: Work) -> None:
        with socket.create_server((work.address, work.port)) as server:
            server.settimeout(TIME_LIMIT)
            self.connection, _ = server.accept()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def publish(self, number: int, frame: np.ndarray) -> None:
        """Send one."""
        self.connection.sendall(frame)

    def close(self) -> None:
        """Hang up."""
        self.connection.close()


class Consumer:
    """Receives into memory that is used again."""

    def __init__(self, work: Work) -> None:
        where = (work.address, work.port)
        self.connection = when_there(lambda: socket.create_connection(where), OSError)
        self.frame = np.empty(work.n_bytes, np.uint8)

    def take(self) -> list[Any]:
        """Receive the next."""
        there = 0
        while there < self.frame.nbytes:
            count = self.connection.recv_into(self.frame[there:])
            if not count:
                raise EOFError("the producer has hung up")
            there += count
        return [self.frame]

    def close(self) -> None:
        """Hang up."""
        self.connection.close()
