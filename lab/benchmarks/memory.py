"""Anonymous memory of mdreel's job: what stays when the pages of mapped files are given back.

Run as a program with a job (``peers.job.Job``) as its argument, it does that job once and prints what it held; with a
budget as well, such as ``1G``, it gives it to the run, and prints what all its processes held together.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable

    from peers.job import Job

INTERVAL = 0.001
"""Seconds between two looks at the memory of a process."""

FAMILY_INTERVAL = 0.01
"""Seconds between two looks at the memory of all processes."""


class Peak:
    """The largest anonymous memory of this process, or of its whole family, while the context is open.

    Parameters
    ----------
    measure
        Returns how much there is, bytes; called by a thread.
    interval
        Seconds between two calls.
    """

    def __init__(self, measure: Callable[[], int], interval: float) -> None:
        self._measure = measure
        self._interval = interval
        self.bytes = 0
        self.n_samples = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _sample(self) -> None:
        while True:
            self.bytes = max(self.bytes, self._measure())
            self.n_samples += 1
            if self._done.wait(self._interval):
                return


def anonymous(process: str = "self") -> int:
    """Return the resident anonymous memory of a process, bytes: the kernel's RssAnon."""
    status = Path("/proc", process, "status")
    match = re.search(r"RssAnon:\s*(\d+) kB", status.read_text())
    if match is None:
        raise RuntimeError(f"{status} has no line RssAnon")
    return 1024 * int(match[1])


def family() -> int:
    """Return the resident anonymous memory of all processes of the run, bytes: of this one and those that come from it.

    Ranks of MPI come from their launcher.
    """
    root = os.getppid() if "PMI_RANK" in os.environ else os.getpid()
    parents: dict[str, list[str]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents.setdefault((path / "stat").read_text().rsplit(")", 1)[1].split()[1], []).append(path.name)
    total, there = 0, [str(root)]
    while there:
        process = there.pop()
        there += parents.get(process, [])
        with suppress(OSError, RuntimeError):  # it may have ended
            total += anonymous(process)
    return total


def main() -> None:
    """Do the job and print what it held."""
    warnings.simplefilter("ignore")
    from peers.job import Job

    job = Job(**json.loads(sys.argv[1]))
    report = within(job, sys.argv[2]) if len(sys.argv) > 2 else alone(job)
    if int(os.environ.get("PMI_RANK", "0")) == 0:
        print(json.dumps(report))


def within(job: Job, budget: str) -> dict[str, Any]:
    """Do a job with several workers and a budget."""
    import MDAnalysis as mda

    import mdreel

    atoms = mda.Universe(job.topology).atoms[job.indices()]
    analysis = mdreel.RMSD(atoms, trajectory=[job.trajectory] * job.n_times)
    with Peak(family, FAMILY_INTERVAL) as peak:
        analysis.run(backend=job.way, n_workers=job.n_workers, memory=budget)
    report = {"peak_bytes": peak.bytes, "said_bytes": analysis.timing.peak_bytes}
    return report | {"n_frames": analysis.n_frames, "n_samples": peak.n_samples, "seconds": 0.0}


def alone(job: Job) -> dict[str, Any]:
    """Do a job in this process."""
    import mdreel  # noqa: F401

    imported = anonymous()
    from peers.job import Read
    from peers.mdreel import prepare

    work = prepare(job)
    ready = anonymous()
    begin = time.perf_counter()
    with Peak(anonymous, INTERVAL) as peak:
        result = work()
    seconds = time.perf_counter() - begin
    return {
        "imported_bytes": imported,
        "ready_bytes": ready,
        "peak_bytes": peak.bytes,
        "n_samples": peak.n_samples,
        "n_frames": result.n_frames if isinstance(result, Read) else len(result),
        "seconds": seconds,
    }


if __name__ == "__main__":
    main()
