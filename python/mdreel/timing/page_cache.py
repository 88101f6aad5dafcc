"""Share of a file in the page cache, and its eviction."""

import ctypes
import mmap
import os
from os import PathLike
from pathlib import Path
from typing import TypeAlias

import numpy as np

Piece: TypeAlias = tuple[int, int]
"""Where a piece of a file begins, and how many bytes it has."""

PIECE_BYTES = 1 << 22

# Pages of this many bytes are asked for at most: of more, a part stands for the whole.
_MOST_BYTES = 1 << 30

# The kernel drops large folios as a whole, so that at the edges of what is dropped a few pages stay.
_DROPPED = 0.1


def pieces_of(n_bytes: int, most_bytes: int) -> list[Piece]:
    """Cut a file into pieces of `PIECE_BYTES`.

    Parameters
    ----------
    n_bytes : int
        Bytes of the file.
    most_bytes : int
        Bytes of all pieces together.

    Returns
    -------
    list of (int, int)
        Begin and bytes of each. They cover the file, or lie evenly over it where that has more than `most_bytes`.
    """
    if n_bytes <= most_bytes:
        return [(start, min(PIECE_BYTES, n_bytes - start)) for start in range(0, n_bytes, PIECE_BYTES)]
    n_pieces = max(most_bytes // PIECE_BYTES, 1)
    last = n_bytes // PIECE_BYTES - 1
    return [(i * last // max(n_pieces - 1, 1) * PIECE_BYTES, PIECE_BYTES) for i in range(n_pieces)]


def cached_share(path: str | PathLike[str]) -> float | None:
    """Say how much of a file is in memory.

    Parameters
    ----------
    path : path
        The file. It is not read, and its pages stay as they are.

    Returns
    -------
    float or None
        From 0 to 1; of a file of more than 1 GiB, that of pieces spread evenly over it. None where there is no such
        file, nothing is in it, or the system does not say: of files that a process neither owns nor may write, Linux
        keeps it secret.
    """
    try:
        if not Path(path).is_file():
            return None
        with Path(path).open("rb", buffering=0) as file:
            n_bytes = os.fstat(file.fileno()).st_size
            return resident_share(file.fileno(), pieces_of(n_bytes, _MOST_BYTES))
    except OSError:
        return None


def resident_share(file: int, pieces: list[Piece]) -> float | None:
    """Say how much of some pieces of a file is in memory.

    Parameters
    ----------
    file : int
        The open file.
    pieces : list of (int, int)
        Begin, a multiple of a page's size, and bytes of each.

    Returns
    -------
    float or None
        From 0 to 1, of pages; None where the system does not say.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if not pieces or not hasattr(libc, "mincore") or not _is_told(file):
        return None
    n_resident = n_pages = 0
    for start, n_bytes in pieces:
        resident = np.zeros(-(-n_bytes // mmap.PAGESIZE), np.uint8)
        with mmap.mmap(file, n_bytes, mmap.MAP_SHARED, mmap.PROT_READ, offset=start) as mapped:
            bytes_mapped = np.frombuffer(mapped, np.uint8)
            arguments = (
                ctypes.c_void_p(bytes_mapped.ctypes.data),
                ctypes.c_size_t(n_bytes),
                ctypes.c_void_p(resident.ctypes.data),
            )
            status = libc.mincore(*arguments)
            del bytes_mapped  # a map that somebody looks at cannot be closed
        if status:
            return None
        n_resident += int((resident & 1).sum())
        n_pages += len(resident)
    return n_resident / n_pages


def drop(file: int, pieces: list[Piece]) -> bool:
    """Have the system forget pieces of a file, so that they must be brought from storage again.

    Parameters
    ----------
    file : int
        The open file.
    pieces : list of (int, int)
        As of `resident_share`.

    Returns
    -------
    bool
        Whether they are known to be gone. Pages stay that others have mapped, that were not written to storage yet, or
        that have no other place, as on tmpfs.
    """
    if not hasattr(os, "posix_fadvise"):
        return False
    for start, n_bytes in pieces:
        os.posix_fadvise(file, start, n_bytes, os.POSIX_FADV_DONTNEED)
    share = resident_share(file, pieces)
    return share is not None and share <= _DROPPED


def _is_told(file: int) -> bool:
    """Whether the system says the truth: of other files all pages are said to be in memory (mincore(2))."""
    if os.geteuid() in (0, os.fstat(file).st_uid):
        return True
    return os.access(f"/proc/self/fd/{file}", os.W_OK, effective_ids=os.access in os.supports_effective_ids)
