"""Memory limits of a run."""

import re

from mdreel.errors import MismatchError, UnsupportedError
from mdreel.execution.work import Work
from mdreel.timing.workers import anonymous_bytes

WORKER_BYTES = 64 << 20
"""What a process of ours takes before it has read anything, and for what it reads at a time."""

FRAME_BYTES = 48
"""What a frame takes at the most beside its row: its share of spans, here and on their way."""

PLACE_BYTES = 8
"""What a process keeps of each frame, to find it."""

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def bytes_of(memory: str | int) -> int:
    """Return how many bytes a text such as ``"2G"`` or ``"512 MiB"`` means; units are powers of 1024.

    Raises
    ------
    MismatchError
        If it means nothing, or not a positive number.
    """
    if isinstance(memory, int):
        n_bytes = memory
    else:
        found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?)(?:i?B)?\s*", memory, re.IGNORECASE)
        n_bytes = 0 if found is None else int(float(found[1]) * 2 ** _UNITS[found[2].upper()])
    if n_bytes <= 0:
        raise MismatchError(f"memory is a number of bytes or a text such as 2G or 512M, not {memory!r}")
    return n_bytes


def check_budget(work: Work, n_processes: int) -> None:
    """Refuse a run that cannot keep to the memory it is given.

    Parameters
    ----------
    work : Work
        The run.
    n_processes : int
        How many processes it takes beside this one.

    Raises
    ------
    UnsupportedError
        If more is needed at the least.
    """
    if work.memory is None:
        return
    n_frames = work.blocks.frames_before(len(work.blocks))
    places = PLACE_BYTES * n_frames * (1 + n_processes)
    row = 8 * work.job.kernel.row_width
    results = (2 * row + FRAME_BYTES) * n_frames  # merged, and on their way
    needed = anonymous_bytes() + n_processes * WORKER_BYTES + results + places
    if needed > work.memory:
        who = f"{n_processes} processes" if n_processes else "this process"
        asked, least = (f"{n / 2**20:,.0f} MiB" for n in (work.memory, needed))
        raise UnsupportedError(f"memory of {asked} is too little for {n_frames:,} frames and {who}: {least} are needed")
