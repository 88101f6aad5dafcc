"""Cost of page faults in fresh memory."""

import mmap
from time import perf_counter

import numpy as np

_BYTES = 32 << 20


def seconds_per_byte() -> float:
    """Measure the cost of a page fault, in seconds, with large pages if the kernel provides them.

    Notes
    -----
    The function measures once, because the kernel returns memory that a process has just freed faster than fresh
    memory, and a run receives fresh memory. The core requests large pages for results in the same way.
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
