"""Four worker processes with half a core each, one of which may get a tenth of that, like a slow node.

The kernel's quotas (control groups, as root) slow it equally for every schedule.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mdreel_lab.bench.peers.job import Job, Work
from mdreel_lab.bench.processes import processes_by_parent, repeated

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

    def rmsd() -> Any:
        with limited(slowed == "slowed"):
            analysis = RMSD(atoms, trajectory=[job.trajectory] * job.n_times).run(backend=executor, n_parts=n_parts)
        return analysis.results.rmsd[:, 2]

    return rmsd


@contextmanager
def limited(is_one_slowed: bool) -> Iterator[None]:
    """Limit each new worker process to its share of a core, and the first to less."""
    folders: dict[str, Path] = {}

    def limit() -> None:
        for process in sorted(workers() - {*folders}, key=int):
            quota = SLOWED_QUOTA_US if is_one_slowed and not folders else QUOTA_US
            folder = folders[process] = GROUPS / f"mdreel-{os.getpid()}-{len(folders)}"
            folder.mkdir()
            (folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (folder / "cpu.cfs_quota_us").write_text(str(quota))
            (folder / "cgroup.procs").write_text(process)

    try:
        with repeated(limit, 0.005):
            yield
    finally:
        for folder in folders.values():
            for _ in range(100):
                with suppress(OSError):
                    folder.rmdir()
                    break
                time.sleep(0.01)


def workers() -> set[str]:
    """Return the worker processes of this one."""
    found = set()
    for process in processes_by_parent().get(str(os.getpid()), ()):
        with suppress(OSError):
            if b"process_worker" in Path("/proc", process, "cmdline").read_bytes():
                found.add(process)
    return found
