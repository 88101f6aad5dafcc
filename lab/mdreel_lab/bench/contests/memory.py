"""Anonymous memory of mdreel's job, which excludes the pages of mapped files.

``python -m mdreel_lab.bench.contests.memory JOB [BUDGET]`` runs one job and prints its peak memory. With a budget, such
as ``1G``, it limits the memory of the run and prints the memory of all its processes together.
"""

import json
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from mdreel_lab.bench.contests.cases import Case, Contender, read_cases
from mdreel_lab.bench.contests.contenders import Entrant, entrant_of, job_of
from mdreel_lab.bench.contests.pages import bounded
from mdreel_lab.bench.contests.rounds import Settings, launch
from mdreel_lab.bench.peers.job import Job
from mdreel_lab.bench.processes import processes_by_parent, repeated

MIB = 2**20
BOUND_MIB = 150.0
BUDGET_MIB = 1024
N_WORKERS = 4

_INTERVAL = 0.001
"""Seconds between two samples of the memory of a process."""

_FAMILY_INTERVAL = 0.01
"""Seconds between two samples of the memory of all processes."""

_THREADS = Contender(label="memory", program="mdreel", way="threads", cores=2, kind="ours")


def measure(settings: Settings) -> dict[str, Any]:
    """Measure the memory of 2 threads on short and long trajectories."""
    runs = [("xtc", settings.lengths["adk"]), ("dcd", settings.lengths["adk"])]
    if settings.is_long and not settings.is_quick:
        runs.append(("xtc", settings.long_frames("adk")))
    figures = []
    for form, n_frames in runs:
        settings.log(f"memory: {form}, {n_frames:,} frames")
        system = settings.make("adk", form, n_frames)
        job = job_of(Case(title="", format=form, contenders=()), _THREADS, system, 1)
        entrant = Entrant(_THREADS, (sys.executable, "-m", "mdreel_lab.bench.contests.memory", job.to_json()))
        for index in ("kept", "none") if form == "xtc" else ("kept",):
            with tempfile.TemporaryDirectory() as empty:
                folder = settings.cache if index == "kept" else Path(empty)
                if index == "kept":
                    launch(entrant, folder)
                found = launch(entrant, folder)
            what = f"{form.upper()}, {n_frames:,} frames" + (", first pass" if index == "none" else "")
            for mark, text in (("imported", "import mdreel"), ("ready", "MDAnalysis and the topology as well")):
                value = (found["peak_bytes"] - found[f"{mark}_bytes"]) / MIB
                figures.append(bounded(f"{what}: above `{text}`", value, BOUND_MIB, "MiB"))
    return {"title": "Peak anonymous memory of the RMSD job, 2 threads", "figures": figures}


def measure_budget(settings: Settings) -> dict[str, Any]:
    """Measure the memory that all processes of a run with a budget hold together."""
    system = settings.make("adk", "xtc", settings.long_frames("adk"))
    known, figures = read_cases().contenders["executors"], []
    for way in ("processes", "mpi", "dask"):
        settings.log(f"budget: {N_WORKERS} {way}, {2 * system.n_frames:,} frames, {BUDGET_MIB:,} MiB")
        contender = replace(known[way], workers=N_WORKERS)
        job = job_of(Case(title="", contenders=()), contender, system, 2)
        command = list(entrant_of(contender, job).command)
        command[-3:] = ["mdreel_lab.bench.contests.memory", job.to_json(), f"{BUDGET_MIB}M"]
        found = launch(Entrant(contender, tuple(command)), settings.cache)
        label = contender.label.removeprefix("mdreel, ").replace("2", str(N_WORKERS), 1)
        for key, text in (("peak_bytes", "seen from outside"), ("said_bytes", "as `timing.peak_bytes` says")):
            figures.append(bounded(f"{label}, and who called them: {text}", found[key] / MIB, BUDGET_MIB, "MiB"))
    what = f'{2 * system.n_frames:,} frames of XTC, `memory="{BUDGET_MIB}M"`'
    return {"title": f"Peak anonymous memory of all processes, {what}", "figures": figures}


def anonymous(process: str = "self") -> int:
    """Return the resident anonymous memory of a process, bytes: the kernel's RssAnon."""
    status = Path("/proc", process, "status")
    match = re.search(r"RssAnon:\s*(\d+) kB", status.read_text(encoding="utf-8"))
    if match is None:
        raise RuntimeError(f"{status} has no line RssAnon")
    return 1024 * int(match[1])


def family() -> int:
    """Return the resident anonymous memory of this process and its descendants, or of the launcher of ranks, bytes."""
    root = os.getppid() if "PMI_RANK" in os.environ else os.getpid()
    children, total, there = processes_by_parent(), 0, [str(root)]
    while there:
        process = there.pop()
        there += children.get(process, [])
        with suppress(OSError, RuntimeError):  # it may have ended
            total += anonymous(process)
    return total


def main() -> None:
    """Run the job and print its memory."""
    warnings.simplefilter("ignore")
    job = Job.of_json(sys.argv[1])
    report = _within(job, sys.argv[2]) if len(sys.argv) > 2 else _alone(job)
    if int(os.environ.get("PMI_RANK", "0")) == 0:
        print(json.dumps(report))


def _within(job: Job, budget: str) -> dict[str, Any]:
    from mdreel_lab.bench.peers.mdreel import analysis_of

    analysis = analysis_of(job)
    peak = _peak(
        lambda: analysis.run(backend=job.way, n_workers=job.n_workers, memory=budget), family, _FAMILY_INTERVAL
    )
    return peak | {"said_bytes": analysis.timing.peak_bytes, "n_frames": analysis.n_frames, "seconds": 0.0}


def _alone(job: Job) -> dict[str, Any]:
    imported = anonymous()  # of the package, which this module has imported
    from mdreel_lab.bench.peers.mdreel import prepare

    work = prepare(job)
    ready = anonymous()
    return {"imported_bytes": imported, "ready_bytes": ready, **_peak(work, anonymous, _INTERVAL)}


def _peak(work: Callable[[], object], measure: Callable[[], int], interval: float) -> dict[str, Any]:
    """Do some work; return the largest value of a measure during the work, and the number of samples."""
    found = {"peak_bytes": 0, "n_samples": 0}

    def sample() -> None:
        found["peak_bytes"] = max(found["peak_bytes"], measure())
        found["n_samples"] += 1

    with repeated(sample, interval):
        work()
    return found


if __name__ == "__main__":
    main()
