"""``cpptraj`` run as a program: its start-up and its reading of the topology count."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np

from peers.job import Job, Series, Work, measure


def prepare(job: Job) -> Work:
    """Write the input file."""
    folder = tempfile.TemporaryDirectory()
    script = Path(folder.name, "rmsd.in")
    output = Path(folder.name, "rmsd.dat")
    atoms = ",".join(str(number + 1) for number in job.indices())
    script.write_text(f"parm {job.reference}\ntrajin {job.trajectory}\nrms first @{atoms} out {output} noheader\nrun\n")

    def rmsd() -> Series:
        with folder:
            subprocess.run(["cpptraj", "-i", str(script)], check=True, capture_output=True)
            series: Series = np.loadtxt(output)[:, 1]
            return series

    return rmsd


if __name__ == "__main__":
    measure(prepare)
