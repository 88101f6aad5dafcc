"""Tests of permissions that mean something to root, too."""

import encodings.idna  # noqa: F401 - of names of hosts; who has no privilege may not read the library of Python
import os
from collections.abc import Iterator
from contextlib import contextmanager

NOBODY = 65534


@contextmanager
def without_privilege() -> Iterator[None]:
    """Let root be nobody for a while: root may read and write everything, nobody may not."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)
