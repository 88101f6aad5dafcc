"""Number of cores available to this process."""

import os
import sys


def available_processors() -> int:
    """Return the number of processors available to this process, which can be limited by a batch system."""
    if sys.version_info >= (3, 13):
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
