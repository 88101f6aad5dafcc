"""``gmx rms`` run as a program: its start-up counts, as it does for whoever calls it."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np

from peers.job import ANGSTROM_PER_NM, Job, Series, Work, measure


def prepare(job: Job) -> Work:
    """Write the index file."""
    folder = tempfile.TemporaryDirectory()
    index = Path(folder.name, "selection.ndx")
    output = Path(folder.name, "rmsd.xvg")
    index.write_text("[ selection ]\n" + "".join(f"{number + 1}\n" for number in job.indices()))
    command = ["gmx", "-quiet", "-nobackup", "rms", "-s", job.reference, "-f", job.trajectory, "-n", str(index)]
    # Without -nopbc it would look for molecules broken over the box; -mw no gives every atom the same weight.
    command += ["-o", str(output), "-xvg", "none", "-fit", "rot+trans", "-mw", "no", "-nopbc"]

    def rmsd() -> Series:
        with folder:
            subprocess.run(command, input="0\n0\n", text=True, check=True, capture_output=True)
            return np.loadtxt(output)[:, 1] * ANGSTROM_PER_NM

    return rmsd


if __name__ == "__main__":
    measure(prepare)
