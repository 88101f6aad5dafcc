"""One TCP connection and nothing else: the floor of solutions that go through a network."""

from mdreel_lab.bench.exchange.barrier import Barrier
from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.solutions.side import Side


class _Connection(Side):
    def connect(self, *, listens: bool) -> None:
        """Connect to the other side, as a barrier does, which refuses strangers."""
        self._connection = self.enter_context(Barrier(self.work, listens=listens)).socket
        self._connection.setblocking(True)


class Sender(_Connection):
    """Sends frames."""

    def open(self) -> None:
        """Accept the connection."""
        self.connect(listens=True)

    def put(self, number: int, frame: SerialisedFrame) -> None:
        """Send one."""
        with self.regions("write_single_buf"):
            self._connection.sendall(frame.buffer.data)


class Receiver(_Connection):
    """Receives into memory that is used again."""

    def open(self) -> None:
        """Connect."""
        self.connect(listens=False)

    def get(self, number: int, frame: SerialisedFrame) -> None:
        """Receive the next."""
        there = 0
        with self.regions("fetch"):
            while there < frame.buffer.nbytes:
                count = self._connection.recv_into(frame.buffer.data[there:])
                if not count:
                    raise EOFError("the producer has hung up")
                there += count
