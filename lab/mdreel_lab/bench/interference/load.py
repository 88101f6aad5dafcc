"""Another job that reads a file as fast as its link allows: ``python -m mdreel_lab.bench.interference.load``."""

import os
import sys
import time
from pathlib import Path

_PIECE_BYTES = 1 << 20
_LOOK_AGAIN_SECONDS = 0.02


def read_while(marker: Path, path: Path) -> None:
    """Read a file again and again while a marker exists; wait for the marker otherwise, and never return.

    The pages are dropped from the cache after each piece, so that every byte comes through the link.
    """
    size, at = path.stat().st_size, 0
    with path.open("rb") as file:
        descriptor = file.fileno()
        while True:
            if not marker.exists():
                time.sleep(_LOOK_AGAIN_SECONDS)
                continue
            os.pread(descriptor, _PIECE_BYTES, at)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            at = (at + _PIECE_BYTES) % size


if __name__ == "__main__":
    read_while(Path(sys.argv[1]), Path(sys.argv[2]))
