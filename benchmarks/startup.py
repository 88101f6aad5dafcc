"""How long mdreel takes to be there: ``import mdreel`` beyond numpy, and ``mdreel --help``."""

from __future__ import annotations

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
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        _run([str(program), "--help"])
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def _run(command: list[str]) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:2])}: {done.stderr.strip()[-500:]}")
    return done.stdout
