"""A barrier of two processes."""

import hmac
import os
import secrets
import socket
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Self

from mdreel_lab.bench.exchange.work import PATIENCE, Work, when_there

_TOKEN_SECONDS = 2.0
_TOKEN_BYTES = 32
_TOKEN_FILE = "barrier.token"  # noqa: S105 - its name
"""Name of a private file in the folder that both see. The barrier refuses a process that does not send its content."""


class Barrier:
    """A barrier between a producer, which listens, and its consumer: a byte each way over TCP.

    Notes
    -----
    The paper uses ``MPI_Barrier``, which is a similar exchange for two ranks. Here both processes wait in the kernel,
    whereas MPI would keep a core busy.
    """

    def __init__(self, work: Work, *, listens: bool, port: int = 0) -> None:
        self.socket = (_accepted if listens else _connected)(work, port or work.port)
        self.socket.settimeout(PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def wait(self) -> None:
        """Wait until the other process has reached the barrier; raise a `RuntimeError` if it has ended."""
        self.tell()
        self.hear()

    def tell(self) -> None:
        """Notify the other process without waiting for it."""
        self.socket.sendall(b"!")

    def hear(self) -> None:
        """Wait for a notification of the other process; raise a `RuntimeError` if it has ended."""
        if not self.socket.recv(1):
            raise RuntimeError("the other one of the pair has ended")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()


def _accepted(work: Work, port: int) -> socket.socket:
    token = _made(work.folder / _TOKEN_FILE)
    until = monotonic() + PATIENCE
    with socket.create_server((work.address, port)) as server:
        while True:
            server.settimeout(max(0.0, until - monotonic()))
            connection, _ = server.accept()
            if _shows(connection, token):
                return connection
            connection.close()


def _made(path: Path) -> bytes:
    """Create a token, and the file that contains it."""
    path.unlink(missing_ok=True)
    token = secrets.token_bytes(_TOKEN_BYTES)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.write(token)
    return token


def _shows(connection: socket.socket, token: bytes) -> bool:
    """Return whether the connected process sends the whole token before the timeout."""
    shown = b""
    until = monotonic() + _TOKEN_SECONDS
    with suppress(OSError):
        while len(shown) < len(token):
            left = until - monotonic()
            if left <= 0:
                break
            connection.settimeout(left)
            said = connection.recv(len(token) - len(shown))
            if not said:
                break
            shown += said
    return hmac.compare_digest(shown, token)


def _connected(work: Work, port: int) -> socket.socket:
    def connect() -> socket.socket:
        connection = socket.create_connection((work.address, port), timeout=1.0)
        connection.sendall((work.folder / _TOKEN_FILE).read_bytes())
        return connection

    return when_there(connect, OSError)
