"""Cost of page faults in fresh memory."""

import mmap
from time import perf_counter

import numpy as np

_BYTES = 32 << 20


def seconds_per_byte() -> float:
    """Measure it once, with large pages where there are any, as the core asks for them for results, s.

    Notes
    -----
    It is measured once, and not as the best of several times: what was given back comes at once, and a run gets what it
    did not have before.
    """
    with mmap.mmap(-1, _BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
        array = np.frombuffer(memory, np.uint8)
        begun = perf_counter()
        array[:] = 1
        taken = perf_counter() - begun
        del array  # the map cannot be closed while somebody looks at it
    return taken / _BYTES
