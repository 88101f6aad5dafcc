"""A program that reads a chain of many files with one executor, for those who count what its processes open."""

import json
import sys
from pathlib import Path

import numpy as np

from mdreel import Dask, Processes, Threads
from mdreel._core import Pass, rmsd
from mdreel.errors import MdreelError
from mdreel.execution.blocks import select_frames
from mdreel.execution.executors.executor import Executor
from mdreel.execution.executors.mpi.executor import Mpi
from mdreel.execution.file_check import with_later_check
from mdreel.execution.job import Job, Outcome
from mdreel.execution.pipeline import run
from mdreel.trajectory.open import open as open_trajectory


def compute(paths: list[str], executor: Executor, is_located: bool, index: str = "none") -> Outcome:
    """Read all frames, by their numbers or by their bytes."""
    source = open_trajectory(paths, index=index)
    atoms = np.arange(source.n_atoms, dtype=np.uint32)
    frames = select_frames(source, stop=10**9 if is_located else None)
    reference = np.arange(3.0 * source.n_atoms).reshape(-1, 3)
    job = Job(source, atoms, Pass(len(atoms), [(rmsd(reference, None, True), None)]))
    return run(job, frames, executor)


def main() -> None:
    """Read the files of a folder; rank 0 writes the rows. If there is an error, each rank writes it."""
    folder, name, is_located, out = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]), Path(sys.argv[4])
    index = sys.argv[5] if len(sys.argv) > 5 else "none"
    paths = sorted(str(path) for path in folder.resolve().iterdir())
    if name == "mpi":
        ranks = Mpi(schedule="static")
        rank = ranks._communicator.rank
        try:
            outcome = ranks.share(lambda: with_later_check(lambda: compute(paths, ranks, is_located, index)))
        except (MdreelError, OSError) as error:
            out.with_suffix(f".{rank}").write_text(f"{type(error).__name__}: {error}")
            return
        if rank != 0:
            return
    elif name == "dask":
        from distributed import LocalCluster

        with LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster:
            outcome = compute(paths, Dask(client=cluster.scheduler_address, schedule="static"), is_located)
    else:
        executor = Processes(4, "static") if name == "processes" else Threads(4, "static")
        outcome = compute(paths, executor, is_located)
    np.save(out, outcome.rows)


if __name__ == "__main__":
    main()
