"""Progress thread of rank 0 for one-sided communication."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_PAUSE_SECONDS = 0.0002


@contextmanager
def attending(communicator: Any) -> Iterator[None]:
    """Have a thread of this rank look, all the time, at what other ranks ask of its memory.

    Notes
    -----
    Networks that read and write memory by themselves need none. Over TCP a rank is answered when this one calls MPI,
    which is every 50 ms while it computes; a rank asks several times for each ticket, and some libraries make several
    questions of one. The thread takes about a tenth of a core.
    """
    from mpi4py import MPI

    if MPI.Query_thread() != MPI.THREAD_MULTIPLE:
        yield
        return
    is_over = threading.Event()

    def attend() -> None:
        while not is_over.wait(_PAUSE_SECONDS):
            communicator.Iprobe()

    thread = threading.Thread(target=attend, name="mdreel-attendant")
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
