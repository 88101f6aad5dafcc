"""Result transfer through a Global Array."""

from __future__ import annotations

import atexit
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from mdreel.errors import UnsupportedError

if TYPE_CHECKING:
    from mdreel._core import Blocks, Part

_MODULE = "_global_arrays"


class GlobalArray:
    """Transfer into an array that is distributed over all ranks and has one row per frame.

    Parameters
    ----------
    blocks : Blocks
        All blocks. The frame index must be known.
    width : int
        Number of values per row.

    Notes
    -----
    The array is created collectively by all ranks that were started by the launcher. Row numbers have 64 bits.

    References
    ----------
    Nieplocha et al., Int. J. High Perform. Comput. Appl. 20, 203 (2006); https://github.com/GlobalArrays/ga.
    """

    fetches = True

    def __init__(self, blocks: Blocks, width: int) -> None:
        self._module = _module()
        self._blocks = blocks
        self._width = width
        self._array = self._module.create(max(blocks.frames_before(len(blocks)), 1), width)

    def put(self, part: Part) -> int:
        """Move the rows of a part to their positions in the array."""
        rows = np.ascontiguousarray(part.take_rows())
        self._module.put(self._array, self._blocks.frames_before(part.first), rows)
        return len(rows)

    def prepare(self) -> None:
        """Do nothing, because the rows are already in the array."""

    def settle(self) -> None:
        """Wait collectively until all rows have arrived."""
        self._module.sync()

    def get(self, part: Part, n_rows: int) -> None:
        """Return the rows to a part on rank 0."""
        rows = np.empty((n_rows, self._width))
        self._module.get(self._array, self._blocks.frames_before(part.first), rows)
        part.give_rows(rows)

    def close(self) -> None:
        """Destroy the array collectively."""
        self._module.destroy(self._array)


def check_global_arrays(communicator: Any) -> None:
    """Check that this rank can use Global Arrays.

    Raises
    ------
    UnsupportedError
        If Global Arrays are not available, or if the communicator does not contain all ranks started by the launcher.
    """
    from mpi4py import MPI

    if _MODULE not in sys.builtin_module_names:
        raise UnsupportedError(
            f"communication 'global-arrays': {sys.executable} has no Global Arrays built in: start an interpreter that "
            "has (docs/how-to/executors.md says how to build it), or use the communication 'window'"
        )
    if MPI.Comm.Compare(communicator, MPI.COMM_WORLD) not in (MPI.IDENT, MPI.CONGRUENT):
        raise UnsupportedError(
            f"communication 'global-arrays': expected all {MPI.COMM_WORLD.size} ranks in their order, got a "
            f"communicator of {communicator.size}: use the communication 'gather' or 'window'"
        )


def _module() -> Any:
    import _global_arrays

    atexit.unregister(_global_arrays.terminate)  # once, and before mpi4py ends MPI, which it does after these functions
    atexit.register(_global_arrays.terminate)
    return _global_arrays
