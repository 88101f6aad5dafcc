"""Reader for the head of an HTTP request, with limits on time and size."""

import socket
from collections.abc import Callable
from time import monotonic

HEAD_SECONDS = 2.0
"""Time limit for receiving the complete head of a request, in s."""
MOST_BYTES = 16 << 10
_MOST_AT_ONCE = 4096
_ENDS = (b"\r\n\r\n", b"\n\n", b"\n\r\n")


def read_head(connection: socket.socket, clock: Callable[[], float] = monotonic) -> bytes | None:
    """Read a request up to the empty line after its head, even if the client closes the connection early.

    Return None if the head is longer than `MOST_BYTES`, or if it is still incomplete after `HEAD_SECONDS`, measured
    with `clock` (in s).
    """
    until = clock() + HEAD_SECONDS
    head = b""
    while not any(end in head for end in _ENDS):
        left = until - clock()
        if left <= 0 or len(head) > MOST_BYTES:
            return None
        connection.settimeout(left)
        try:
            said = connection.recv(_MOST_AT_ONCE)
        except TimeoutError:
            return None
        if not said:
            break
        head += said
    return head if len(head) <= MOST_BYTES else None
