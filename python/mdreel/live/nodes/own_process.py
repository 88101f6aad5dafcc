"""Description of this process for other nodes."""

import os
import socket
from pathlib import Path

from mdreel.foundation.printable import printable

_MOST_HOST = 40
_MOST_COMMAND = 90
"""Maximum numbers of characters, as in the descriptions that processes provide when they join a channel."""


def describe_own_process() -> str:
    """Return the process ID, the command line and the host in words, like a `Participant`."""
    words = Path("/proc/self/cmdline").read_bytes().decode(errors="replace").split("\0")
    command, host = _cut(" ".join(words), _MOST_COMMAND), _cut(socket.gethostname(), _MOST_HOST)
    return f"process {os.getpid()} ({command}) on {host}"


def _cut(text: str, most: int) -> str:
    shown = printable(text)
    return shown if len(shown) <= most else f"{shown[:most]}…"
