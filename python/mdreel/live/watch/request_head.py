"""Reading of HTTP request heads within limits of time and size."""

import socket
from collections.abc import Callable
from time import monotonic

HEAD_SECONDS = 2.0
"""So long a request may take to come, all of its lines together."""
MOST_BYTES = 16 << 10
_MOST_AT_ONCE = 4096
_ENDS = (b"\r\n\r\n", b"\n\n", b"\n\r\n")


def read_head(connection: socket.socket, clock: Callable[[], float] = monotonic) -> bytes | None:
    """Read a request up to the empty line behind its head.

    Parameters
    ----------
    connection : socket
        The connection.
    clock : callable
        Returns the monotonic time, s.

    Returns
    -------
    bytes or None
        What was said, also where the other side says no more before the end of its head. None if the head has not come
        within `HEAD_SECONDS`, however often a part of it came, or has more than `MOST_BYTES`.
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
