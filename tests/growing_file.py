"""A simulation for tests: a process of its own that lets a file grow, in bursts that tear frames.

``python growing_file.py pieces PATTERN OUTPUT STOP_FILE`` appends the bytes of a file in pieces of odd sizes;
``python growing_file.py xtc N_FRAMES OUTPUT`` has MDAnalysis write frames, as buffers of the C library fill.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

N_ATOMS = 20


def grow(*arguments: str | Path | int) -> "subprocess.Popen[bytes]":
    """Start a process that lets a file grow."""
    return subprocess.Popen([sys.executable, __file__, *map(str, arguments)])


def positions(frame: int) -> np.ndarray:
    """Positions of a frame, shape (20, 3), float32, nm; they change from frame to frame."""
    atoms = np.arange(3 * N_ATOMS, dtype=np.float64)
    return (2 + np.sin(atoms * atoms + 0.01 * frame * (1 + atoms % 7))).reshape(N_ATOMS, 3).astype(np.float32)


def write_pieces(pattern: Path, output: Path, stop_file: Path) -> None:
    """Append pieces from 1 byte to some kB, none of which ends with a frame but by chance."""
    content = pattern.read_bytes()
    sizes = np.random.default_rng(7).integers(1, 9001, len(content))
    at = 0
    with output.open("ab", buffering=0) as file:
        for size in sizes:
            if at >= len(content):
                break
            file.write(content[at : at + size])
            at += int(size)
    stop_file.touch()


def write_xtc(n_frames: int, output: Path) -> None:
    """Write frames as MDAnalysis does."""
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    box = np.eye(3, dtype=np.float32) * 5
    with XTCFile(str(output), "w") as file:
        for frame in range(n_frames):
            file.write(positions(frame), box, frame, float(frame), 1000)


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    if kind == "pieces":
        write_pieces(*map(Path, arguments))
    else:
        write_xtc(int(arguments[0]), Path(arguments[1]))
    sys.stdout.flush()
    os._exit(0)  # at once: nothing is left to be written
