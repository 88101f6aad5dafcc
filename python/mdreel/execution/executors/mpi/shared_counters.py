"""Counters on rank 0 that are updated by all ranks through one-sided communication.

The counters contain the next block, the current task of each rank, and a flag for each complete block. All ranks,
including rank 0, use them in the same way.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from mdreel.execution.executors.mpi.windows import new_window

_NEXT, _END, _STOP, _N_WORDS = range(4)
_FIRST, _LAST, _SINCE, _FRAMES, _N_FACTS = range(5)
_NO_END = np.int64(2**62)


class SharedCounters:
    """Counters for a round, which all ranks share.

    Parameters
    ----------
    communicator : mpi4py.MPI.Comm
        The ranks, which create the counters collectively.
    n_blocks : int
        Number of blocks in the round.
    """

    def __init__(self, communicator: Any, n_blocks: int) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self._rank = communicator.rank
        self._size = communicator.size
        self._n_blocks = n_blocks
        length = _N_WORDS + _N_FACTS * self._size + n_blocks
        self._window = new_window(MPI.Win.Allocate, 8 * length if self._rank == 0 else 0, communicator)
        if self._rank == 0:
            words = np.frombuffer(cast("Any", self._window.tomemory()), np.int64)
            words[:] = 0
            words[_END] = _NO_END
        communicator.Barrier()
        self._window.Lock_all()
        if self._rank == 0:
            self._window.Sync()

    def take(self, n: int) -> int:
        """Take the next ``n`` blocks. Return the first of them, which can be beyond the last block."""
        number, before = np.array([n], np.int64), np.zeros(1, np.int64)
        self._window.Fetch_and_op(number, before, 0, _NEXT, self._mpi.SUM)
        self._window.Flush(0)
        return int(before[0])

    def next(self) -> int:
        """Return the first block that has not been taken by any rank."""
        return int(self._read(_NEXT, 1)[0])

    def end_at(self, block: int) -> None:
        """Cancel this block and all following blocks."""
        self._write(_END, np.array([block], np.int64), self._mpi.MIN)

    def end(self) -> int:
        """Return the first cancelled block, or a large number if no blocks are cancelled."""
        return int(self._read(_END, 1)[0])

    def stop(self) -> None:
        """Ask all ranks to stop."""
        self._write(_STOP, np.ones(1, np.int64), self._mpi.MAX)

    def is_stopped(self) -> bool:
        """Return whether any rank has called `stop`."""
        return bool(self._read(_STOP, 1)[0])

    def begin(self, first: int, end: int, since_ns: int) -> None:
        """Record the blocks that this rank computes and their start time. Use 0, 0 if there are no blocks."""
        self._write(self._facts_at(self._rank), np.array([first, end, since_ns], np.int64), self._mpi.REPLACE)

    def report(self, n_frames: int) -> None:
        """Record the total number of frames that this rank has analysed."""
        at = self._facts_at(self._rank) + _FRAMES
        self._write(at, np.array([n_frames], np.int64), self._mpi.REPLACE)

    def n_frames(self) -> int:
        """Return the total number of frames that all ranks have analysed."""
        return int(self._table()[:, _FRAMES].sum())

    def under_way(self) -> NDArray[np.int64]:
        """Return the first block, the end and the start time (ns) of each other rank's current task, shape (n, 3)."""
        table = self._table()
        table[self._rank, _LAST] = 0
        return table[table[:, _LAST] > 0, : _SINCE + 1]

    def finish(self, first: int, end: int) -> None:
        """Record that blocks are complete."""
        at = _N_WORDS + _N_FACTS * self._size + first
        self._write(at, np.ones(end - first, np.int64), self._mpi.REPLACE)

    def is_finished(self, block: int) -> bool:
        """Return whether a block is complete."""
        return bool(self._read(_N_WORDS + _N_FACTS * self._size + block, 1)[0])

    def are_finished(self, n: int) -> bool:
        """Return whether the first ``n`` blocks are complete."""
        return bool(self._read(_N_WORDS + _N_FACTS * self._size, n).all())

    def close(self) -> None:
        """Free the counters collectively."""
        self._window.Unlock_all()
        self._window.Free()

    def _facts_at(self, rank: int) -> int:
        return _N_WORDS + _N_FACTS * rank

    def _table(self) -> NDArray[np.int64]:
        return self._read(_N_WORDS, _N_FACTS * self._size).reshape(self._size, _N_FACTS)

    def _read(self, at: int, n: int) -> NDArray[np.int64]:
        # An accumulation without effect reads each number atomically.
        nothing, found = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self._window.Get_accumulate(nothing, found, 0, at, self._mpi.NO_OP)
        self._window.Flush(0)
        return found

    def _write(self, at: int, values: NDArray[np.int64], operation: Any) -> None:
        self._window.Accumulate(values, 0, at, op=operation)
        self._window.Flush(0)
