"""Reader for the body of an HTTP request, with limits on time and size."""

import socket
from collections.abc import Callable
from time import monotonic

BODY_SECONDS = 5.0
"""Time limit for receiving the complete body of a request, in s."""
MOST_BODY_BYTES = 64 << 10
"""Maximum size of a body, in bytes."""
_MOST_AT_ONCE = 16 << 10


def body_length(given: str | None) -> int | None:
    """Return the value of the header ``Content-Length``, or None if it is missing or is not a number."""
    return int(given) if given is not None and given.isascii() and given.isdigit() and len(given) < 16 else None


def read_body(
    connection: socket.socket, begun: bytes, n_bytes: int, clock: Callable[[], float] = monotonic
) -> bytes | None:
    """Read a body of `n_bytes` bytes. Its first bytes, `begun`, have arrived together with the head of the request.

    Return None if the body is longer than `MOST_BODY_BYTES`, or if it is still incomplete after `BODY_SECONDS`,
    measured with `clock` (in s).
    """
    if not 0 <= n_bytes <= MOST_BODY_BYTES:
        return None
    until = clock() + BODY_SECONDS
    body = begun
    while len(body) < n_bytes:
        left = until - clock()
        if left <= 0:
            return None
        connection.settimeout(left)
        try:
            said = connection.recv(min(_MOST_AT_ONCE, n_bytes - len(body)))
        except TimeoutError:
            return None
        if not said:
            return None
        body += said
    return body[:n_bytes]
