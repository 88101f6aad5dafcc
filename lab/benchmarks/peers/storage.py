"""Programs that write trajectories, timed from their start until what they wrote is on the disk."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from peers.job import ANGSTROM_PER_NM, Job, Read, Work, measure

N_SEGMENTS = 16


def _mdreel(job: Job) -> list[str]:
    program = [sys.executable, "-m", "mdreel.cli", job.what, "-f", job.trajectory, "-q", "-o", "out.xtc"]
    return program + (["-nt", str(job.n_workers)] if job.what == "convert" else ["-n", str(N_SEGMENTS)])


def _trjconv(job: Job) -> list[str]:
    program = ["gmx", "-quiet", "-nobackup", "trjconv", "-f", job.trajectory, "-s", job.reference, "-o", "out.xtc"]
    if job.what == "convert":
        return program
    # It splits by time: frames are 1 ps apart, and there is one more than intervals.
    return [*program, "-split", str(_n_frames(Path(job.trajectory)) // N_SEGMENTS)]


COMMANDS: dict[str, Callable[[Job], list[str]]] = {
    "mdreel": _mdreel,
    "mdconvert": lambda job: ["mdconvert", job.trajectory, "-o", "out.xtc"],
    "trjconv": _trjconv,
    "cp": lambda job: ["cp", job.trajectory, "out.xtc"],
}
"""The command line of each program."""


def _n_frames(path: Path) -> int:
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    with XTCFile(str(path)) as file:
        return len(file)


def prepare(job: Job) -> Work:
    """Make a folder for the output on the disk of the input."""
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    folder = tempfile.TemporaryDirectory(dir=Path(job.trajectory).parent)
    command = COMMANDS[job.way](job)

    def proof() -> Read:
        with folder:
            paths = sorted(Path(folder.name).glob("*.xtc"), key=lambda path: path.stat().st_mtime_ns)
            n_frames = sum(map(_n_frames, paths))
            with XTCFile(str(paths[-1])) as file:
                file.seek(len(file) - 1)
                return Read.of(n_frames, file.read().x, ANGSTROM_PER_NM)

    def write() -> Callable[[], Read]:
        done = subprocess.run(command, input="0\n", text=True, check=False, capture_output=True, cwd=folder.name)
        if done.returncode:
            raise RuntimeError(done.stderr[-500:])
        for path in Path(folder.name).glob("*.xtc"):
            with path.open("rb") as file:
                os.fsync(file.fileno())
        return proof

    return write


if __name__ == "__main__":
    measure(prepare)
