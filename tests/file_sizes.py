"""Sizes of files that other threads and processes may rename or remove at the same time."""

from pathlib import Path


def file_sizes(folder: Path, pattern: str = "*") -> list[int]:
    """Return the size in bytes of each file of a folder, without those that disappear meanwhile."""
    sizes = []
    for path in folder.glob(pattern):
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:
            continue
    return sizes
