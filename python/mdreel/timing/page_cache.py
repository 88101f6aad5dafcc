"""Share of a file that is in the page cache, and eviction from the page cache."""

import ctypes
import mmap
import os
from os import PathLike
from pathlib import Path
from typing import TypeAlias

import numpy as np

Piece: TypeAlias = tuple[int, int]
"""Offset and length of a piece of a file, in bytes."""

PIECE_BYTES = 1 << 22

# Query at most this many bytes; the share of a larger file is estimated from a part.
_MOST_BYTES = 1 << 30

# The kernel evicts large folios only as a whole, so a few pages at the edges of a piece stay.
_DROPPED = 0.1


def pieces_of(n_bytes: int, most_bytes: int) -> list[Piece]:
    """Choose pieces of a file, each with a size of `PIECE_BYTES`.

    Parameters
    ----------
    n_bytes : int
        Size of the file, in bytes.
    most_bytes : int
        Maximum total size of the pieces, in bytes.

    Returns
    -------
    list of (int, int)
        Offset and length of each piece. If the file has at most `most_bytes`, the pieces cover the entire file.
        Otherwise, they are evenly spread over the file.
    """
    if n_bytes <= most_bytes:
        return [(start, min(PIECE_BYTES, n_bytes - start)) for start in range(0, n_bytes, PIECE_BYTES)]
    n_pieces = max(most_bytes // PIECE_BYTES, 1)
    last = n_bytes // PIECE_BYTES - 1
    return [(i * last // max(n_pieces - 1, 1) * PIECE_BYTES, PIECE_BYTES) for i in range(n_pieces)]


def cached_share(path: str | PathLike[str]) -> float | None:
    """Return the share of a file that is in memory.

    Parameters
    ----------
    path : path
        The file. The function neither reads the file nor changes its pages.

    Returns
    -------
    float or None
        The share, from 0 to 1. If the file is larger than 1 GiB, the share is estimated from evenly spread pieces. None
        if the file is missing or empty, or if the operating system does not report the share. Linux reports the share
        only for files that the process owns or can write to.
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
    """Return the share of pieces of a file that is in memory.

    Parameters
    ----------
    file : int
        The open file.
    pieces : list of (int, int)
        Offset (which must be a multiple of the page size) and length of each piece.

    Returns
    -------
    float or None
        Share of the pages, from 0 to 1, or None if the operating system does not report it.
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
            del bytes_mapped  # a map with an open view cannot be closed
        if status:
            return None
        n_resident += int((resident & 1).sum())
        n_pages += len(resident)
    return n_resident / n_pages


def drop(file: int, pieces: list[Piece]) -> bool:
    """Evict pieces of a file from the page cache, so that the next read fetches them from storage.

    Parameters
    ----------
    file : int
        The open file.
    pieces : list of (int, int)
        See `resident_share`.

    Returns
    -------
    bool
        Whether it is certain that the pieces have been evicted. Pages remain in the cache if another process has mapped
        them, or if they have not been written to storage yet. The same applies to files on tmpfs, which has no storage.
    """
    if not hasattr(os, "posix_fadvise"):
        return False
    for start, n_bytes in pieces:
        os.posix_fadvise(file, start, n_bytes, os.POSIX_FADV_DONTNEED)
    share = resident_share(file, pieces)
    return share is not None and share <= _DROPPED


def _is_told(file: int) -> bool:
    """Return whether mincore(2) reports real values. For other users' files, it reports all pages as resident."""
    if os.geteuid() in (0, os.fstat(file).st_uid):
        return True
    return os.access(f"/proc/self/fd/{file}", os.W_OK, effective_ids=os.access in os.supports_effective_ids)
