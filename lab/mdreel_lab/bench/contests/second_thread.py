"""Gain by a second thread in a warm process: reading into arrays, and analyses that keep all positions.

``python -m mdreel_lab.bench.contests.second_thread JOB REPEATS`` runs one job with one and with two threads in turn.
The gain is measured twice: with the allocator's defaults, which return the memory of every result to the system, and
with an allocator that keeps it. The difference is the price of new memory, which threads pay together. Two floors are
measured beside it. Two processes that share nothing, with one thread and half of the frames each, show what the machine
allows. For formats without compression, NumPy copies as many numbers from the mapped file to a new array.
"""

import json
import multiprocessing
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from mdreel_lab.bench.cache_state import held_in_memory
from mdreel_lab.bench.contests.cases import Case, Contender
from mdreel_lab.bench.contests.contenders import job_of
from mdreel_lab.bench.contests.pages import bounded
from mdreel_lab.bench.contests.rounds import TIME_LIMIT, Settings
from mdreel_lab.bench.data import FORMS, SYSTEMS
from mdreel_lab.bench.peers.job import Job
from mdreel_lab.bench.peers.mdreel import prepare as prepare_job
from mdreel_lab.bench.processes import child_environment, run_process

N_WORKERS = 2

READING_BOUND, ANALYSIS_BOUND = 1.8, 1.6
"""The gains aimed at, of reading and of analyses."""

_KEEPING = {name: str(2**32) for name in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")} | {
    "MALLOC_TOP_PAD_": str(2**28)
}
"""Settings of the GNU C library by which a process keeps memory that it frees."""

_QUANTITIES = {"read": "all atoms", "read-selected": "Cα atoms"}
_ANALYSES = {
    "dihedrals": ("adk", "Ramachandran angles, AdK in vacuum"),
    "msd-protein": ("adk", "mean square displacement of Cα atoms, AdK in vacuum"),
    "msd": ("water", "mean square displacement of water oxygens"),
}
_FIXED_SIZE = (".trr", ".dcd", ".nc")
"""Endings of formats whose frames have the same size and are not compressed."""

_FLOOR_PARTS = 32

_SHORT_STEP = 25
"""Stride of the short run of an analysis."""


def measure(settings: Settings) -> dict[str, Any]:
    """Measure all jobs, or a few if quick."""
    figures = []
    for system in list(SYSTEMS)[:1] if settings.is_quick else SYSTEMS:
        for form in ("xtc", "dcd") if settings.is_quick else FORMS:
            for what, atoms in _QUANTITIES.items():
                text = f"reading {form.upper()} of {system}, {atoms}"
                case = Case(title="", what=what, format=form, systems=(system,), contenders=())
                figures += _gains(text, case, "arrays", READING_BOUND, settings)
    for what, (system, text) in _ANALYSES.items():
        for step in (1, _SHORT_STEP) if what == "msd-protein" else (1,):
            case = Case(title="", what=what, systems=(system,), step=step, contenders=())
            figures += _gains(text, case, "threads", ANALYSIS_BOUND, settings)
    title = f"What the second thread gains in a warm process, medians of {_repeats(settings)}"
    return {"title": title, "figures": figures}


def _repeats(settings: Settings) -> int:
    return 1 if settings.is_quick else 2 * settings.rounds + 1


def _gains(text: str, case: Case, way: str, bound: float, settings: Settings) -> list[dict[str, Any]]:
    """Return the gain with the allocator's defaults, and with memory that the process keeps."""
    system = settings.make(case.system, case.format)
    contender = Contender(label="mdreel", program="mdreel", way=way, kind="ours", cores=N_WORKERS)
    job = job_of(case, contender, system, 1)
    figures = []
    for name, variables in (("defaults", {}), ("memory kept", _KEEPING)):
        command = [sys.executable, "-m", __name__, job.to_json(), str(_repeats(settings))]
        with held_in_memory(system.trajectory(case.format)):
            printed = run_process(command, child_environment(settings.cache, N_WORKERS, variables), TIME_LIMIT)
        report = json.loads(printed.splitlines()[-1])
        one, two = (statistics.median(report[key]) for key in ("one", "two"))
        said = f"{text}, {report['n_frames']:,} frames, {name}: {1e3 * one:.3g} and {1e3 * two:.3g} ms"
        apart = statistics.median(report["halves"])
        said += f"; two processes with half of the frames each: {1e3 * apart:.3g} ms ({one / apart:.2f})"
        if "first" in report:
            said += f"; the first frame takes {1e3 * statistics.median(report['first']):.2g} ms"
        if "floor_one" in report:
            alone, both = (statistics.median(report[key]) for key in ("floor_one", "floor_two"))
            said += f"; floor {1e3 * alone:.3g} and {1e3 * both:.3g} ms ({alone / both:.2f})"
        figures.append(bounded(said, one / two, bound, "x", at_least=True) | {"report": report})
        settings.log(f"  {said}: {one / two:.2f}")
    return figures


def main() -> None:
    """Run the job named on the command line and print its times."""
    warnings.simplefilter("ignore")
    job, repeats = Job.of_json(sys.argv[1]), int(sys.argv[2])
    works: dict[str, Callable[[], Any]] = {
        key: prepare_job(replace(job, n_workers=n_workers)) for key, n_workers in (("one", 1), ("two", N_WORKERS))
    }
    works["halves"] = _halves(job, works["one"]().n_frames)
    if job.way == "arrays":
        works["first"] = _first_frame(job)
        if job.trajectory.endswith(_FIXED_SIZE):
            n_frames = works["one"]().n_frames
            works |= {"floor_one": _floor(job, n_frames, 1), "floor_two": _floor(job, n_frames, N_WORKERS)}
    report: dict[str, Any] = {key: [] for key in works}
    for number in range(repeats + 1):
        for key, work in works.items():
            begin = time.perf_counter()
            found = work()
            seconds = time.perf_counter() - begin
            if key == "one":
                report["n_frames"] = found.n_frames
            if number:  # the first round warms the process
                report[key].append(seconds)
            del found
    print(json.dumps(report))


def _first_frame(job: Job) -> Callable[[], Any]:
    """Return work that reads the first frame of a trajectory."""
    from mdreel import read

    chosen = None if job.what == "read" else job.indices()
    return lambda: read(job.trajectory, chosen, stop=1, n_workers=1)


def _halves(job: Job, n_frames: int) -> Callable[[], None]:
    """Return work that does one half of a job here and the other half in another process, with one thread each."""
    middle = n_frames // 2 * job.step
    here = prepare_job(replace(job, n_workers=1, stop=middle))
    context = multiprocessing.get_context("spawn")
    near, far = context.Pipe()
    context.Process(target=_serve, args=(replace(job, n_workers=1, start=middle).to_json(), far), daemon=True).start()
    near.recv()

    def work() -> None:
        near.send(True)
        here()
        near.recv()

    return work


def _serve(job: str, requests: Connection) -> None:
    """Do a job on each request."""
    warnings.simplefilter("ignore")
    work = prepare_job(Job.of_json(job))
    while True:
        requests.send(True)
        requests.recv()
        work()


def _floor(job: Job, n_frames: int, n_threads: int) -> Callable[[], None]:
    """Return work that copies as many numbers as a job reads, from where they are about, with NumPy."""
    n_words = Path(job.trajectory).stat().st_size // n_frames // 4
    chosen = None if job.what == "read" else (3 * job.indices()[:, None] + np.arange(3)).ravel()
    width = n_words if chosen is None else len(chosen)
    edges = np.linspace(0, n_frames, _FLOOR_PARTS + 1).astype(int)

    def work() -> None:
        mapped = np.memmap(job.trajectory, np.uint32, "r", shape=(n_frames, n_words))
        rows = np.empty((n_frames, width), np.uint32)

        def part(number: int) -> None:
            some = slice(edges[number], edges[number + 1])
            if chosen is None:
                np.copyto(rows[some], mapped[some])
            else:
                np.take(mapped[some], chosen, axis=1, out=rows[some], mode="clip")

        with ThreadPoolExecutor(n_threads) as threads:
            list(threads.map(part, range(_FLOOR_PARTS)))

    return work


if __name__ == "__main__":
    main()
