"""Programs that write trajectories, timed until their output is on the disk; and the RMSD of many segments."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mdreel_lab.bench.peers.job import ANGSTROM_PER_NM, Job, Read, Series, Work

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


def prepare_writing(job: Job) -> Work:
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


def prepare_chain(job: Job) -> Work:
    """Cut the trajectory into segments, make the Universe, and have the frames of the segments located."""
    import MDAnalysis as mda

    from mdreel.trajectory.split import split

    folder = tempfile.TemporaryDirectory(dir=Path(job.trajectory).parent)
    indices = job.indices()
    written = split(job.trajectory, Path(folder.name, "part.xtc"), n_parts=job.n_workers)
    segments = [str(path) for path in written.paths]
    atoms = mda.Universe(job.topology).atoms[indices]

    def mdreel() -> Any:
        from mdreel.analysis.rmsd import RMSD

        files = job.trajectory if job.way == "mdreel-file" else segments
        return RMSD(atoms, trajectory=files).run(n_workers=1).results.rmsd[:, 2]

    def mdanalysis() -> Any:
        from MDAnalysis.analysis.rms import RMSD

        atoms.universe.load_new(segments)
        return RMSD(atoms).run().results.rmsd[:, 2]

    def mdtraj() -> Series:
        import mdtraj

        trajectory = mdtraj.load(segments, top=job.reference, atom_indices=indices)
        return np.asarray(mdtraj.rmsd(trajectory, trajectory, 0), dtype=np.float64) * ANGSTROM_PER_NM

    work = {"mdreel": mdreel, "mdreel-file": mdreel, "mdanalysis": mdanalysis, "mdtraj": mdtraj}[job.way]
    if job.way == "mdanalysis":
        atoms.universe.load_new(segments)
    elif job.way.startswith("mdreel"):
        mdreel()

    def removed() -> Any:
        with folder:
            return work()

    return removed
