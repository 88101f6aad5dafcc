"""One TCP connection and nothing else: the floor of solutions that go through a network."""

import socket

from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.regions import Regions
from mdreel_lab.bench.exchange.solutions.side import Side
from mdreel_lab.bench.exchange.work import PATIENCE, when_there


class Sender(Side):
    """Listens, and sends."""

    def open(self) -> None:
        """Accept the connection."""
        with socket.create_server((self.work.address, self.work.port)) as server:
            server.settimeout(PATIENCE)
            self._connection = self.stack.enter_context(server.accept()[0])
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def put(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Send one."""
        with regions("write_single_buf"):
            self._connection.sendall(frame.buffer.data)


class Receiver(Side):
    """Receives into memory that is used again."""

    def open(self) -> None:
        """Connect."""
        where = (self.work.address, self.work.port)
        connection = when_there(lambda: socket.create_connection(where), OSError)
        self._connection = self.stack.enter_context(connection)

    def get(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Receive the next."""
        there = 0
        with regions("fetch"):
            while there < frame.buffer.nbytes:
                count = self._connection.recv_into(frame.buffer.data[there:])
                if not count:
                    raise EOFError("the producer has hung up")
                there += count
