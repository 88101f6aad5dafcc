"""Start-up times: ``import mdreel`` beyond numpy, ``mdreel --help``, and runs with workers."""

import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from mdreel_lab.bench.contests.pages import bounded
from mdreel_lab.bench.contests.rounds import Settings
from mdreel_lab.bench.processes import ProcessError, run_process

REPEATS = 20
IMPORT_BOUND, HELP_BOUND, WORKERS_BOUND = 0.15, 0.3, 1.5
_LIMIT = 120.0

_IMPORT = """
import time
import numpy
begin = time.perf_counter()
import mdreel
print(time.perf_counter() - begin)
"""


def measure(settings: Settings) -> dict[str, Any]:
    """Measure how long mdreel takes to start, in fresh processes."""
    repeats = 2 if settings.is_quick else REPEATS
    program = Path(sys.executable).with_name("mdreel")
    if not program.exists():
        raise ProcessError(f"{program} is not installed")
    imported = [float(_run([sys.executable, "-c", _IMPORT])) for _ in range(repeats)]
    helped = [_timed([str(program), "--help"]) for _ in range(repeats)]
    found = [
        ("`import mdreel` beyond numpy", statistics.median(imported), IMPORT_BOUND),
        ("`mdreel --help`", statistics.median(helped), HELP_BOUND),
    ]
    for text, seconds in _workers_seconds(repeats).items():
        found.append((f"`mdreel rmsd` of 98 frames, {text} beyond serial", seconds, WORKERS_BOUND))
    figures = [bounded(text, value, bound, "s") for text, value, bound in found]
    return {"title": f"Start-up, medians of {repeats}", "figures": figures}


def _workers_seconds(repeats: int) -> dict[str, float]:
    """Return the additional time of a run on a small file with workers: medians of differences, s."""
    from MDAnalysisTests.datafiles import DCD, PSF

    folder = Path(sys.executable).parent
    alone = [str(folder / "mdreel"), "rmsd", "-s", PSF, "-f", DCD, "-q", "--backend", "serial"]
    ways = {
        "2 processes": [*alone[:-1], "processes", "-nt", "2"],
        "2 ranks of MPI": [str(folder / "mpiexec"), "-n", "2", *alone[:-2]],
    }
    taken: dict[str, list[float]] = {text: [] for text in ways}
    for _ in range(repeats):
        serial = _timed(alone)
        for text, command in ways.items():
            taken[text].append(_timed(command) - serial)
    return {text: statistics.median(seconds) for text, seconds in taken.items()}


def _timed(command: list[str]) -> float:
    begin = time.perf_counter()
    _run(command)
    return time.perf_counter() - begin


def _run(command: list[str]) -> str:
    # Compile modules once, as an installation does, whatever the settings of this environment.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return run_process(command, environment, _LIMIT)
