"""Cost of page faults in newly allocated memory."""

import mmap
from time import perf_counter

import numpy as np

_BYTES = 32 << 20


def seconds_per_byte() -> float:
    """Measure the cost of page faults, in seconds per byte, with large pages if the kernel provides them.

    Notes
    -----
    The function takes only one measurement. If it were repeated, the kernel would return the memory that has just been
    freed, which is faster than the new memory that a run receives. The core requests large pages for results in the
    same way.
    """
    with mmap.mmap(-1, _BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
        array = np.frombuffer(memory, np.uint8)
        begun = perf_counter()
        array[:] = 1
        taken = perf_counter() - begun
        del array  # a map with an exported view cannot be closed
    return taken / _BYTES
