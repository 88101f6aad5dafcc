"""Transfer of results to rank 0: with MPI_Gather, or through a global array."""

from __future__ import annotations

import atexit
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mdreel.execution.executors.mpi.global_arrays import check_global_arrays
from mdreel.execution.span_log import SpanLog

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.float64]

N_COLUMNS = 2
"""Values of a frame: time and RMSD."""


@dataclass(frozen=True)
class Sent:
    """Times at which a rank began and ended its part of the transfer, ns.

    Attributes
    ----------
    begun_ns, ended_ns : int
        Start and end.
    waits_for_all : bool
        Whether the rank needs the results of all other ranks, as rank 0 does. Otherwise, it waits only for rank 0.
    """

    begun_ns: int
    ended_ns: int
    waits_for_all: bool

    def waited_until_ns(self, all_begun_ns: list[int]) -> int:
        """Return when the ranks that this rank needs have arrived, at most its end; the rest is the transfer."""
        needed = max(all_begun_ns) if self.waits_for_all else all_begun_ns[0]
        return min(max(self.begun_ns, needed), self.ended_ns)


class Transfer(Protocol):
    """Transfer of the rows of all ranks. Each rank has at most `n_most` rows."""

    def send(self, rows: Rows, log: SpanLog) -> Sent | None:
        """Send all rows of this rank. Return None if all spans are recorded."""

    def received(self) -> Rows:
        """Return the rows of all ranks on rank 0, shape (n_ranks, n_most, 2)."""

    def close(self) -> None:
        """Release memory, together with the other ranks."""


class Gather:
    """Transfer with MPI_Gather from buffers of equal length; the last rows of shorter blocks are 0."""

    def __init__(self, ranks: Any, n_most: int) -> None:
        self._ranks = ranks
        self._own = np.zeros((n_most, N_COLUMNS))
        self._all = np.empty((ranks.size, n_most, N_COLUMNS)) if ranks.rank == 0 else np.empty(0)

    def send(self, rows: Rows, log: SpanLog) -> Sent:
        """Send the rows of this rank; the caller records the spans, when all ranks know when the others began."""
        del log
        begun_ns = perf_counter_ns()
        self._own[: len(rows)] = rows
        self._ranks.Gather(self._own, self._all if self._ranks.rank == 0 else None, root=0)
        return Sent(begun_ns, perf_counter_ns(), self._ranks.rank == 0)

    def received(self) -> Rows:
        """Return the rows of all ranks on rank 0, shape (n_ranks, n_most, 2)."""
        return self._all

    def close(self) -> None:
        """Do nothing."""


class GlobalArray:
    """Transfer through an array that is spread over all ranks: each rank puts its rows, and rank 0 gets all of them.

    The algorithm of the papers lets rank 0 read the array without waiting. Here, rank 0 waits until all ranks have put
    their rows, because it would miss rows otherwise. Raise an `UnsupportedError` if this interpreter has no Global
    Arrays.
    """

    def __init__(self, ranks: Any, n_most: int) -> None:
        check_global_arrays(ranks)
        import _global_arrays

        atexit.unregister(_global_arrays.terminate)  # once, and before mpi4py ends MPI
        atexit.register(_global_arrays.terminate)
        self._arrays = _global_arrays
        self._ranks, self._n_most = ranks, n_most
        self._array = _global_arrays.create(n_most * ranks.size, N_COLUMNS)
        self._all = np.zeros((ranks.size, n_most, N_COLUMNS)) if ranks.rank == 0 else np.empty(0)

    def send(self, rows: Rows, log: SpanLog) -> None:
        """Put the rows of this rank. Rank 0 then waits until all ranks have put theirs, and gets them."""
        rank = self._ranks.rank
        begun_ns = perf_counter_ns()
        self._arrays.put(self._array, rank * self._n_most, np.ascontiguousarray(rows))
        put_ns = log.record("communicate", rank, begun_ns, n_frames=len(rows), n_bytes=rows.nbytes)
        # No other rank needs to know that all have put their rows, so its time ends here, as in the papers.
        self._arrays.sync()
        if rank == 0:
            synced_ns = log.record("wait", rank, put_ns)
            everything = self._all.reshape(-1, N_COLUMNS)
            self._arrays.get(self._array, 0, everything)
            log.record("communicate", rank, synced_ns, n_frames=len(everything), n_bytes=everything.nbytes)

    def received(self) -> Rows:
        """Return the rows of all ranks on rank 0, shape (n_ranks, n_most, 2)."""
        return self._all

    def close(self) -> None:
        """Destroy the array, together with the other ranks."""
        self._arrays.destroy(self._array)


def open_transfer(communication: str, ranks: Any, n_most: int) -> Transfer:
    """Create a transfer together with the other ranks."""
    return (GlobalArray if communication == "global-arrays" else Gather)(ranks, max(n_most, 1))
