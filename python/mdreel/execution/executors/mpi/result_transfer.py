"""Transfer of result rows to rank 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from mdreel.execution.choices import Communication
from mdreel.execution.executors.mpi.global_arrays import GlobalArray, check_global_arrays
from mdreel.execution.executors.mpi.windows import new_window

if TYPE_CHECKING:
    from mdreel._core import Blocks, Part


class ResultTransfer(Protocol):
    """Interface of the classes that transfer the result rows of parts to rank 0.

    Attributes
    ----------
    fetches : bool
        Whether `get` fetches the rows from other ranks.
    """

    fetches: bool

    def put(self, part: Part) -> int:
        """Take the rows of a part on the rank that has computed the part, and return their number."""

    def prepare(self) -> None:
        """Prepare the transfer before all ranks meet, as far as this is possible without other ranks."""

    def settle(self) -> None:
        """Complete the transfer collectively, after all ranks have met."""

    def get(self, part: Part, n_rows: int) -> None:
        """Return the rows to a part on rank 0, after `settle`."""

    def close(self) -> None:
        """Release the resources of the transfer collectively."""


class Gather:
    """Transfer that gathers all rows at the end of the round, without copying them first.

    Parameters
    ----------
    communicator : mpi4py.MPI.Comm
        The ranks.
    width : int
        Number of values per row.
    """

    fetches = False

    def __init__(self, communicator: Any, width: int) -> None:
        self._communicator = communicator
        self._width = width
        self._rows: list[NDArray[np.float64]] = []
        self._others = np.empty((0, width))
        self._row: Any = None
        self._scattered: Any = None
        self._n_given = 0

    def put(self, part: Part) -> int:
        """Take the rows of a part."""
        self._rows.append(np.ascontiguousarray(part.take_rows()))
        return len(self._rows[-1])

    def prepare(self) -> None:
        """Describe the rows in place, because a contiguous copy would double the required memory."""
        from mpi4py import MPI

        self._row = MPI.DOUBLE.Create_contiguous(self._width)
        self._row.Commit()
        if self._communicator.rank != 0:
            lengths, places = [len(rows) for rows in self._rows], [MPI.Get_address(rows) for rows in self._rows]
            self._scattered = self._row.Create_hindexed(lengths, places)
            self._scattered.Commit()

    def settle(self) -> None:
        """Gather the rows of all ranks except rank 0, which already has its own rows."""
        from mpi4py import MPI

        ranks, row = self._communicator, self._row
        counts = ranks.gather(sum(map(len, self._rows)))
        if ranks.rank == 0:
            counts[0] = 0
            self._others = np.empty((sum(counts), self._width))
            ranks.Gatherv([np.empty(0), 0, row], [self._others, counts, row])
        else:
            # Without rows, send no element: the receiver expects none.
            ranks.Gatherv([MPI.BOTTOM, 1 if any(map(len, self._rows)) else 0, self._scattered], None)
            self._scattered.Free()
            self._rows.clear()
        row.Free()

    def get(self, part: Part, n_rows: int) -> None:
        """Return the rows to a part on rank 0. Call this for the parts of all ranks in order, starting with rank 0."""
        if self._rows:
            part.give_rows(self._rows.pop(0))
        else:
            part.give_rows(self._others[self._n_given : self._n_given + n_rows])
            self._n_given += n_rows

    def close(self) -> None:
        """Do nothing, because there are no resources to release."""


class Window:
    """Transfer into an array in the memory of rank 0, which has one row per frame.

    Ranks on the same node as rank 0 write to its memory directly. The other ranks put rows through the network (MPI-3
    one-sided communication).

    Parameters
    ----------
    communicator : mpi4py.MPI.Comm
        The ranks, which create the window collectively.
    blocks : Blocks
        All blocks. The frame index must be known.
    width : int
        Number of values per row.
    """

    fetches = False

    def __init__(self, communicator: Any, blocks: Blocks, width: int) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self._blocks = blocks
        self._width = width
        n_rows = blocks.frames_before(len(blocks)) if communicator.rank == 0 else 0
        row_bytes = 8 * width
        node = communicator.Split_type(MPI.COMM_TYPE_SHARED)
        is_one_node = node.size == communicator.size
        node.Free()
        allocate = MPI.Win.Allocate_shared if is_one_node else MPI.Win.Allocate
        self._window = new_window(allocate, row_bytes * n_rows, communicator)
        self._rows: NDArray[np.float64] | None = None
        if is_one_node:
            memory, _ = self._window.Shared_query(0)
            self._rows = np.frombuffer(cast("Any", memory), np.float64).reshape(-1, width)
        elif communicator.rank == 0:
            self._rows = np.frombuffer(cast("Any", self._window.tomemory()), np.float64).reshape(-1, width)
        self._window.Lock_all()

    def put(self, part: Part) -> int:
        """Move the rows of a part to their positions in the array."""
        rows, at = part.take_rows(), self._blocks.frames_before(part.first)
        if self._rows is None:
            flat = np.ascontiguousarray(rows).reshape(-1)
            self._window.Put([flat, self._mpi.DOUBLE], 0, [self._width * at, len(flat), self._mpi.DOUBLE])
            self._window.Flush(0)
        else:
            self._rows[at : at + len(rows)] = rows
            self._window.Sync()
        return len(rows)

    def prepare(self) -> None:
        """Do nothing, because the rows are already in the array."""

    def settle(self) -> None:
        """Make the rows of all ranks visible to this rank."""
        self._window.Sync()

    def get(self, part: Part, n_rows: int) -> None:
        """Return the rows to a part on rank 0, after `settle`."""
        assert self._rows is not None, "rank 0 has the window"
        at = self._blocks.frames_before(part.first)
        part.give_rows(self._rows[at : at + n_rows])

    def close(self) -> None:
        """Free the window collectively."""
        self._rows = None
        self._window.Unlock_all()
        self._window.Free()


def suitable_communication(hosts: Sequence[str], blocks: Blocks) -> Communication:
    """Return "window" if all ranks share memory and the frame index is known, and "gather" otherwise."""
    return "window" if len(set(hosts)) == 1 and not blocks.are_of_bytes else "gather"


def check_communication(communication: Communication | None, communicator: Any) -> None:
    """Raise `UnsupportedError` if this rank does not support the communication method."""
    if communication == "global-arrays":
        check_global_arrays(communicator)


@contextmanager
def open_transfer(
    communication: Communication, communicator: Any, blocks: Blocks, width: int
) -> Iterator[ResultTransfer]:
    """Create the transfer for a round collectively. Each row has `width` values."""
    if communication == "gather":
        transfer: ResultTransfer = Gather(communicator, width)
    elif communication == "window":
        transfer = Window(communicator, blocks, width)
    else:
        transfer = GlobalArray(blocks, width)
    try:
        yield transfer
    finally:
        transfer.close()
