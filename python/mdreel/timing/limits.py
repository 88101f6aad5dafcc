"""Limits of the machine: memory bandwidth and file throughput."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle
from os import PathLike
from pathlib import Path
from threading import Lock
from time import perf_counter

import numpy as np

from mdreel.timing.page_cache import PIECE_BYTES, Piece, drop, pieces_of

MIB = 1 << 20

_MOST_THREADS = 8
_COPIED_BYTES = 64 * MIB  # by all threads in a turn: more than caches hold, and half of what is taken
_READ_BYTES = 64 * MIB  # of the file
_FEWEST_BYTES = MIB  # what is less is read faster than anything could be told from it


@dataclass(frozen=True)
class Limits:
    """What a run cannot outdo, measured with up to eight threads of one process.

    Attributes
    ----------
    memory_bytes_per_s : float
        Bytes copied from memory to memory, a second.
    page_cache_bytes_per_s : float or None
        Bytes of the file read where it is in memory, a second; None where that was not measured.
    storage_bytes_per_s : float or None
        Bytes of the file read where it is not; None where that was not measured.
    not_measured : str
        Why not, if it was not.
    """

    memory_bytes_per_s: float
    page_cache_bytes_per_s: float | None
    storage_bytes_per_s: float | None
    not_measured: str = ""


def measure_limits(path: str | PathLike[str], seconds: float = 0.3) -> Limits:
    """Measure how fast memory is, and how fast a file comes from memory and from storage.

    Parameters
    ----------
    path : path
        The file; 64 MiB of it are read, spread evenly over it.
    seconds : float
        How long each of the three may take, s.

    Returns
    -------
    Limits
        What was measured. Nothing is said of a file that is no file of this machine or too small, and nothing of
        storage where the system does not drop the file's pages, or does not say whether it has.

    Notes
    -----
    Pages of the file are dropped from memory (``posix_fadvise``) and read again, so that they are there afterwards
    unless the time was over. The system behind it, of a server or a disk, may hold them in memories of its own: what is
    measured is how fast they come, not why.
    """
    memory = memory_bandwidth(seconds)
    try:
        if not Path(path).is_file():
            return Limits(memory, None, None, "there is no such file on this machine")
        with Path(path).open("rb", buffering=0) as file:
            return _of_file(file.fileno(), memory, seconds)
    except OSError as error:
        return Limits(memory, None, None, error.strerror or str(error))


def memory_bandwidth(seconds: float) -> float:
    """Measure how fast memory is copied by all threads together.

    Parameters
    ----------
    seconds : float
        How long it may take, s.

    Returns
    -------
    float
        Bytes copied, each of which is read and written, a second.
    """
    each = _COPIED_BYTES // _n_threads()
    lock = Lock()
    waiting = [(np.ones(each, np.uint8), np.ones(each, np.uint8)) for _ in range(_n_threads())]

    def copy(end: float) -> int:
        with lock:
            source, target = waiting.pop()
        n_bytes = 0
        while not n_bytes or perf_counter() < end:
            np.copyto(target, source)
            n_bytes += each
        return n_bytes

    return _rate(copy, seconds)


def _of_file(file: int, memory: float, seconds: float) -> Limits:
    n_bytes = os.fstat(file).st_size
    if n_bytes < _FEWEST_BYTES:
        return Limits(memory, None, None, f"the file is too small: {n_bytes:,} bytes")
    if hasattr(os, "posix_fadvise"):
        # Pieces are read whole, and nothing that lies between them.
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    pieces = pieces_of(n_bytes, _READ_BYTES)
    are_gone = drop(file, pieces)
    storage, read = _reading(file, pieces, seconds)
    page_cache, _ = _reading(file, cycle(read), seconds)
    if are_gone:
        return Limits(memory, page_cache, storage)
    return Limits(memory, page_cache, None, "the system keeps the file in memory, or does not say whether it does")


def _reading(file: int, pieces: Iterable[Piece], seconds: float) -> tuple[float, list[Piece]]:
    """Read pieces until there are no more, or the time is over; return bytes a second, and what was read."""
    lock = Lock()
    waiting = iter(pieces)
    buffers = [bytearray(b"1") * PIECE_BYTES for _ in range(_n_threads())]
    read: list[Piece] = []

    def read_on(end: float) -> int:
        n_bytes = 0
        with lock:
            buffer = buffers.pop()
        while not n_bytes or perf_counter() < end:
            with lock:
                piece = next(waiting, None)
            n_read = 0 if piece is None else os.preadv(file, [memoryview(buffer)[: piece[1]]], piece[0])
            if piece is None or not n_read:
                break  # of all, or of a file that was cut meanwhile
            n_bytes += n_read
            read.append(piece)
        return n_bytes

    return _rate(read_on, seconds), read


def _rate(work: Callable[[float], int], seconds: float) -> float:
    """Bytes a second of what all threads do, each of which is told when the time is over and returns its bytes."""
    with ThreadPoolExecutor(_n_threads()) as pool:
        begin = perf_counter()
        done = [pool.submit(work, begin + seconds) for _ in range(_n_threads())]
        n_bytes = sum(one.result() for one in done)
        return n_bytes / (perf_counter() - begin)


def _n_threads() -> int:
    n_processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(n_processors, _MOST_THREADS)
