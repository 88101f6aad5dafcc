"""Four worker processes with half a core each, of which one may have a tenth of that: a slowed node.

The kernel's quotas (control groups, as root) slow it equally for every schedule.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mdreel_lab.bench.peers.job import Job, Series, Work

GROUPS = Path("/sys/fs/cgroup/cpu")
PERIOD_US = 20_000
QUOTA_US = 10_000
SLOWED_QUOTA_US = 1_000


def prepare(job: Job) -> Work:
    """Make the Universe without a trajectory, and the executor."""
    import MDAnalysis as mda

    from mdreel.analysis.rmsd import RMSD
    from mdreel.execution.executors.local.processes import Processes

    atoms = mda.Universe(job.topology).atoms[job.indices()]
    way, _, slowed = job.way.partition("-")
    executor = Processes(job.n_workers, "static" if way == "static" else "demand")
    n_parts = 3 * job.n_workers if way == "oversubscribed" else None

    def rmsd() -> Series:
        with limited(slowed == "slowed"):
            analysis = RMSD(atoms, trajectory=[job.trajectory] * job.n_times).run(backend=executor, n_parts=n_parts)
        series: Series = analysis.results.rmsd[:, 2]
        return series

    return rmsd


@contextmanager
def limited(is_one_slowed: bool) -> Iterator[None]:
    """Give each worker process its share of a core, the first of them less, as they come."""
    ended = threading.Event()
    folders: list[Path] = []

    def watch() -> None:
        seen: set[str] = set()
        while not ended.is_set():
            for process in sorted(workers() - seen, key=int):
                quota = SLOWED_QUOTA_US if is_one_slowed and not seen else QUOTA_US
                folders.append(GROUPS / f"mdreel-{os.getpid()}-{len(seen)}")
                folders[-1].mkdir()
                (folders[-1] / "cpu.cfs_period_us").write_text(str(PERIOD_US))
                (folders[-1] / "cpu.cfs_quota_us").write_text(str(quota))
                (folders[-1] / "cgroup.procs").write_text(process)
                seen.add(process)
            time.sleep(0.005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        for folder in folders:
            for _ in range(100):
                with suppress(OSError):
                    folder.rmdir()
                    break
                time.sleep(0.01)


def workers() -> set[str]:
    """Return the worker processes of this one."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = (path / "stat").read_text().rsplit(")", 1)[1].split()[1]
            if int(parent) == os.getpid() and b"process_worker" in (path / "cmdline").read_bytes():
                found.add(path.name)
    return found
