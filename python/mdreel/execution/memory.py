"""Memory limits for a run."""

import re

from mdreel.errors import MismatchError, UnsupportedError
from mdreel.execution.work import Work
from mdreel.timing.workers import anonymous_bytes

WORKER_BYTES = 64 << 20
"""Memory of a worker process before it reads any data, including its buffers."""

FRAME_BYTES = 48
"""Upper limit for the memory that each frame needs for spans, in addition to its row."""

PLACE_BYTES = 8
"""Memory of the frame index per frame, in each process."""

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def parse_memory(memory: str | int) -> int:
    """Convert text such as ``"2G"`` or ``"512 MiB"`` to bytes. All units are powers of 1024.

    Raises
    ------
    MismatchError
        If the text is invalid, or if the number is not positive.

    Examples
    --------
    >>> from mdreel.execution.memory import parse_memory
    >>> parse_memory("2G")
    2147483648
    """
    if isinstance(memory, int):
        n_bytes = memory
    else:
        found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?)(?:i?B)?\s*", memory, re.IGNORECASE)
        n_bytes = 0 if found is None else int(float(found[1]) * 2 ** _UNITS[found[2].upper()])
    if n_bytes <= 0:
        raise MismatchError(f"memory must be a number of bytes or a text such as 2G or 512M, not {memory!r}")
    return n_bytes


def check_budget(work: Work, n_processes: int) -> None:
    """Reject a run that needs more memory than its limit.

    Parameters
    ----------
    work : Work
        The run.
    n_processes : int
        Number of worker processes.

    Raises
    ------
    UnsupportedError
        If the estimated minimum memory requirement exceeds the limit.
    """
    if work.memory is None:
        return
    n_frames = work.blocks.frames_before(len(work.blocks))
    places = PLACE_BYTES * n_frames * (1 + n_processes)
    row = 8 * work.job.kernel.row_width
    results = (2 * row + FRAME_BYTES) * n_frames  # merged, and in transfer
    needed = anonymous_bytes() + n_processes * WORKER_BYTES + results + places
    if needed > work.memory:
        who = f"{n_processes} processes" if n_processes else "this process"
        asked, least = (f"{n / 2**20:,.0f} MiB" for n in (work.memory, needed))
        message = f"{asked} is not enough for {n_frames:,} frames and {who}: at least {least} is needed"
        raise UnsupportedError(f"memory: {message}")
