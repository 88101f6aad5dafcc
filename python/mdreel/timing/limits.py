"""Limits of the machine, namely memory bandwidth and file throughput."""

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
_COPIED_BYTES = 64 * MIB  # total of all threads; larger than caches, and half of the allocated memory
_READ_BYTES = 64 * MIB
_FEWEST_BYTES = MIB  # smaller files are read too fast to measure


@dataclass(frozen=True)
class Limits:
    """Limits of the machine, measured with up to eight threads of a single process.

    Attributes
    ----------
    memory_bytes_per_s : float
        Rate at which memory is copied, in bytes/s.
    page_cache_bytes_per_s : float or None
        Rate at which the file is read from the page cache, in bytes/s, or None if it was not measured.
    storage_bytes_per_s : float or None
        Rate at which the file is read from storage, in bytes/s, or None if it was not measured.
    not_measured : str
        Reason why a rate was not measured.
    """

    memory_bytes_per_s: float
    page_cache_bytes_per_s: float | None
    storage_bytes_per_s: float | None
    not_measured: str = ""


def measure_limits(path: str | PathLike[str], seconds: float = 0.3) -> Limits:
    """Measure how fast memory is copied, and how fast a file is read from the page cache and from storage.

    Parameters
    ----------
    path : path
        The file. 64 MiB of it are read, evenly spread over the file.
    seconds : float
        Time limit for each of the three measurements, in s.

    Returns
    -------
    Limits
        The rates. No measurements are made for files on other machines and for small files. The storage rate is not
        measured if the operating system does not drop the pages of the file, or does not report whether it has dropped
        them.

    Notes
    -----
    The pages of the file are dropped from the page cache (with ``posix_fadvise``) and read again. Therefore, they are
    in the cache afterwards unless the time limit was reached. Servers and disks can have their own caches, which affect
    this measurement.
    """
    memory = memory_bandwidth(seconds)
    try:
        if not Path(path).is_file():
            return Limits(memory, None, None, "no such file on this machine")
        with Path(path).open("rb", buffering=0) as file:
            return _of_file(file.fileno(), memory, seconds)
    except OSError as error:
        return Limits(memory, None, None, error.strerror or str(error))


def memory_bandwidth(seconds: float) -> float:
    """Measure the total rate at which all threads copy memory.

    Parameters
    ----------
    seconds : float
        Time limit, in s.

    Returns
    -------
    float
        Rate at which memory is copied, in bytes/s. Each byte is read and written.
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
        # Pieces are read completely, without the bytes between them.
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    pieces = pieces_of(n_bytes, _READ_BYTES)
    are_gone = drop(file, pieces)
    storage, read = _reading(file, pieces, seconds)
    page_cache, _ = _reading(file, cycle(read), seconds)
    if are_gone:
        return Limits(memory, page_cache, storage)
    return Limits(memory, page_cache, None, "the system keeps the file in memory, or does not report whether it does")


def _reading(file: int, pieces: Iterable[Piece], seconds: float) -> tuple[float, list[Piece]]:
    """Read pieces until the time limit. Return the rate in bytes/s, and the pieces that were read."""
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
                break  # all pieces are read, or the file was truncated meanwhile
            n_bytes += n_read
            read.append(piece)
        return n_bytes

    return _rate(read_on, seconds), read


def _rate(work: Callable[[float], int], seconds: float) -> float:
    """Return the total rate of all threads in bytes/s. Each thread receives the deadline and returns its bytes."""
    with ThreadPoolExecutor(_n_threads()) as pool:
        begin = perf_counter()
        done = [pool.submit(work, begin + seconds) for _ in range(_n_threads())]
        n_bytes = sum(one.result() for one in done)
        return n_bytes / (perf_counter() - begin)


def _n_threads() -> int:
    n_processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(n_processors, _MOST_THREADS)
