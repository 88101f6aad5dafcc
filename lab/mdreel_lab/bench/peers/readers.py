"""Programs with one job only: chemfiles, which reads whole frames, and ``cpptraj``, run as a program."""

import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from mdreel_lab.bench.peers.job import Job, Read, Work


def prepare_chemfiles(job: Job) -> Work:
    """Import chemfiles."""
    import chemfiles

    chosen = job.indices() if job.what == "read-selected" else slice(None)

    def read_array() -> Read:
        with chemfiles.Trajectory(job.trajectory) as trajectory:
            positions = [np.asarray(frame.positions, np.float32)[chosen] for frame in trajectory]
            array = np.stack(positions)
            return Read.of(len(array), array[-1])

    def read() -> Read:
        with chemfiles.Trajectory(job.trajectory) as trajectory:
            n_frames = 0
            for frame in trajectory:
                last = np.asarray(frame.positions)[chosen]
                n_frames += 1
            return Read.of(n_frames, last)

    return read_array if job.way == "array" else read


def prepare_cpptraj(job: Job) -> Work:
    """Write the input file; start-up and the reading of the topology count."""
    folder = tempfile.TemporaryDirectory()
    script, output = Path(folder.name, "rmsd.in"), Path(folder.name, "rmsd.dat")
    atoms = ",".join(str(number + 1) for number in job.indices())
    script.write_text(f"parm {job.reference}\ntrajin {job.trajectory}\nrms first @{atoms} out {output} noheader\nrun\n")

    def rmsd() -> Any:
        with folder:
            subprocess.run(["cpptraj", "-i", str(script)], check=True, capture_output=True)
            return np.loadtxt(output)[:, 1]

    return rmsd
