"""The state of the page cache before a run."""

import mmap
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_CHUNK_BYTES = 1 << 22


@contextmanager
def prepared(paths: Sequence[Path], state: str) -> Iterator[tuple[list[Path], str]]:
    """Bring files into a state of the page cache.

    Parameters
    ----------
    paths : sequence of Path
        The files.
    state : {"warm", "cold", "copy"}
        Read once, in order; dropped from the cache; or a fresh copy, which is dropped as well.

    Yields
    ------
    list of Path, str
        The files to be read, and a description of the state. The function removes copies at the end.
    """
    copies: list[Path] = []
    try:
        if state == "copy":
            for path in paths:
                copies.append(path.with_name(f"copy-{os.getpid()}-{path.name}"))
                shutil.copyfile(path, copies[-1])
        yield copies or list(paths), _said(copies or paths, state)
    finally:
        for path in copies:
            for made in path.parent.glob(f"*{path.name}*"):  # also files that readers have written beside it
                made.unlink(missing_ok=True)


def refresh(paths: Sequence[Path], state: str) -> None:
    """Restore the state of the page cache after the harness has read parts of the files."""
    for path in paths:
        (_read if state == "warm" else _drop)(path)


@contextmanager
def held_in_memory(path: Path) -> Iterator[None]:
    """Hold a file in the page cache in the state after reading it in order.

    The function reads the file again, because the size of its pages depends on how they entered the cache: written,
    read in order, or read in random order. Large pages cost less to map. A memory map keeps the system from dropping
    the pages.
    """
    _drop(path)
    _read(path)
    flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ):
        yield


def _said(paths: Sequence[Path], state: str) -> str:
    if state == "warm":
        return "warm: each file was read once, in order"
    if not hasattr(os, "posix_fadvise"):
        return "unknown: this system cannot be asked to give up pages"
    what = "a fresh copy, whose" if state == "copy" else "its"
    return f"cold: {what} pages were given up (posix_fadvise), {len(paths)} file{'s' if len(paths) > 1 else ''}"


def _drop(path: Path) -> None:
    """Write the pages of a file to the disk and drop them from the cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _read(path: Path) -> None:
    buffer = bytearray(_CHUNK_BYTES)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
