"""Windows of MPI: memory of a rank that other ranks access with one-sided communication."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mdreel.errors import UnsupportedError


class NoWindowError(UnsupportedError):
    """The MPI library has no one-sided communication between the ranks; all ranks raise this error together."""


def new_window(allocate: Callable[..., Any], n_bytes: int, communicator: Any) -> Any:
    """Return a new window of 8-byte numbers, which all ranks create collectively.

    Parameters
    ----------
    allocate : callable
        ``MPI.Win.Allocate`` or ``MPI.Win.Allocate_shared``.
    n_bytes : int
        Size of the memory of this rank, bytes.
    communicator : mpi4py.MPI.Comm
        The ranks.

    Raises
    ------
    NoWindowError
        If the MPI library has no one-sided communication between these ranks.
    """
    from mpi4py import MPI

    try:
        return allocate(n_bytes, 8, comm=communicator)
    except MPI.Exception as error:
        library = MPI.Get_library_version().split(",")[0].strip("\0\n ")
        remedy = ""
        if MPI.Query_thread() == MPI.THREAD_MULTIPLE:  # Open MPI 4 between hosts without remote memory access
            remedy = "; if the ranks run on several hosts, set MPI4PY_RC_THREAD_LEVEL=serialized on all of them"
        raise NoWindowError(
            f"{library} cannot create a window for one-sided communication: {error.Get_error_string()}{remedy}"
        ) from error
