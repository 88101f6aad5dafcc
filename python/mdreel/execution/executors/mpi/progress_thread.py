"""Progress thread of rank 0 for one-sided communication."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_PAUSE_SECONDS = 0.0002


@contextmanager
def progress_thread(communicator: Any) -> Iterator[None]:
    """Run a thread that calls MPI, so that one-sided requests from other ranks are answered immediately.

    Notes
    -----
    This thread is not needed for networks with remote memory access. Over TCP, a request is answered only when this
    rank calls MPI. During computations, this happens every 50 ms, whereas each rank makes several requests per task.
    The thread uses about a tenth of a core.
    """
    from mpi4py import MPI

    if MPI.Query_thread() != MPI.THREAD_MULTIPLE:
        yield
        return
    is_over = threading.Event()

    def make_progress() -> None:
        while not is_over.wait(_PAUSE_SECONDS):
            communicator.Iprobe()

    thread = threading.Thread(target=make_progress, name="mdreel-mpi-progress")
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
