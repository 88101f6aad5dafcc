"""How long mdreel takes to be there: ``import mdreel`` beyond numpy, ``mdreel --help``, and runs with workers."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

REPEATS = 20

IMPORT = """
import time
import numpy
begin = time.perf_counter()
import mdreel
print(time.perf_counter() - begin)
"""


def import_seconds() -> float:
    """Return what ``import mdreel`` takes after numpy has been imported, s: median of 20 fresh processes."""
    return statistics.median(float(_run([sys.executable, "-c", IMPORT])) for _ in range(REPEATS))


def help_seconds() -> float:
    """Return what ``mdreel --help`` takes from start to exit, s: median of 20."""
    program = Path(sys.executable).with_name("mdreel")
    if not program.exists():
        raise RuntimeError(f"{program} is not installed")
    return statistics.median(_timed([str(program), "--help"]) for _ in range(REPEATS))


def workers_seconds() -> dict[str, float]:
    """Return what whole runs of the command on a small file take longer with workers than without, s.

    Returns
    -------
    dict of str to float
        By what the workers are: medians of 20 differences, each of two runs one after the other.
    """
    from MDAnalysisTests.datafiles import DCD, PSF

    folder = Path(sys.executable).parent
    alone = [str(folder / "mdreel"), "rmsd", "-s", PSF, "-f", DCD, "-q", "--backend", "serial"]
    ways = {
        "2 processes": [*alone[:-1], "processes", "-nt", "2"],
        "2 ranks of MPI": [str(folder / "mpiexec"), "-n", "2", *alone[:-2]],
    }
    taken: dict[str, list[float]] = {text: [] for text in ways}
    for _ in range(REPEATS):
        serial = _timed(alone)
        for text, command in ways.items():
            taken[text].append(_timed(command) - serial)
    return {text: statistics.median(seconds) for text, seconds in taken.items()}


def _timed(command: list[str]) -> float:
    begin = time.perf_counter()
    _run(command)
    return time.perf_counter() - begin


def _run(command: list[str]) -> str:
    # Modules are compiled once, as when a package is installed, whatever this environment thinks of that.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:2])}: {done.stderr.strip()[-500:]}")
    return done.stdout
