"""Room for generated trajectories on a disk."""

import gc
import shutil
from collections.abc import Collection
from pathlib import Path

from mdreel.errors import UnsupportedError
from mdreel_lab.bench.records import read_json, write_json

_LIST = "generated.json"

_MOST_RESERVED = 2e9
_RESERVED_SHARE = 0.05
"""Space that remains free for records and other programs: this share of the disk, at most 2 GB."""


class Room:
    """Room for the trajectories that benchmarks generate in a folder.

    A file of this folder lists the generated files and folders in the order of their last use. Files that are not in
    the list are never removed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def use(self, path: Path, *, is_new: bool) -> None:
        """Note that a file, or a folder of segments, is used now; a new one is added to the list."""
        names = self._names()
        if path.parent == self._folder and (is_new or path.name in names):
            write_json(self._folder / _LIST, [*(one for one in names if one != path.name), path.name])

    def size(self) -> int:
        """Return the number of bytes that generated files can have: of the free ones, and of those in the list."""
        return self._free() + sum(_bytes_of(self._folder / name) for name in self._names())

    def make(self, path: Path, n_bytes: int, needed: Collection[Path] = ()) -> None:
        """Remove generated files, the least recently used one first, until a new one fits on the disk.

        Files in ``needed`` are kept. Raise an `UnsupportedError` if the new file does not fit even then; nothing is
        removed in this case.
        """
        if n_bytes <= self._free():
            return
        gc.collect()  # readers of MDAnalysis are cycles, and hold files that were removed
        kept = {one.name for one in needed}
        names = [name for name in self._names() if name not in kept and name != path.name]
        free = self._free() + sum(_bytes_of(self._folder / name) for name in names)
        if n_bytes > free:
            raise UnsupportedError(f"{path} needs {n_bytes / 1e9:,.1f} GB, but {free / 1e9:,.1f} GB are free")
        for name in names:
            if n_bytes <= self._free():
                break
            _remove(self._folder / name)

    def _names(self) -> list[str]:
        path = self._folder / _LIST
        return [str(name) for name in read_json(path) if Path(name).name == name] if path.exists() else []

    def _free(self) -> int:
        existing = next(one for one in (self._folder, *self._folder.parents) if one.exists())
        usage = shutil.disk_usage(existing)
        return usage.free - int(min(_MOST_RESERVED, _RESERVED_SHARE * usage.total))


def _bytes_of(path: Path) -> int:
    if path.is_dir():
        return sum(one.stat().st_size for one in path.iterdir() if one.is_file())
    return path.stat().st_size if path.is_file() else 0


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
