"""A program for ranks, and what starts it: runs of RMSD, one after another, of which each rank keeps the results."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mdreel._core import FrameSet
from mdreel.execution.executors.executor import Executor
from mdreel.execution.executors.local.serial import Serial
from mdreel.execution.executors.mpi import mpiio_files
from mdreel.execution.executors.mpi.executor import Mpi
from mdreel.execution.executors.mpi.launcher import launched
from mdreel.execution.job import Outcome
from mdreel.execution.pipeline import run
from mdreel.trajectory import parallel_hdf5
from mdreel.trajectory.open import open as open_trajectory
from mixed_job import bits_of, mixed_job

if TYPE_CHECKING:
    from mpi_launcher import Launcher


@dataclass(frozen=True)
class Wanted:
    """A run: of which files, read how often, by which scheme."""

    paths: list[str]
    schedule: Any = "demand"
    communication: Any = None
    n_parts: int | None = None
    is_located: bool = True
    repeats: int = 1
    checkpoint: str | None = None
    access: Any = None
    on_error: str = "raise"
    batch_bytes: int | None = None
    window: tuple[int, int, int] | None = None
    """First frame, step and number of frames."""
    atom_step: int = 5


def compute(wanted: Wanted, executor: Executor) -> Outcome:
    source = open_trajectory(wanted.paths, index="none").with_on_error(wanted.on_error)
    atoms = np.arange(0, source.n_atoms, wanted.atom_step, dtype=np.uint32)
    frames = None
    if wanted.repeats > 1:
        frames = FrameSet.list(np.tile(np.arange(source.n_frames, dtype=np.uint64), wanted.repeats))
    elif wanted.window is not None:
        frames = FrameSet.range(*wanted.window)
    elif wanted.is_located:
        frames = FrameSet.range(0, 1, source.n_frames)
    return run(
        mixed_job(source, atoms),
        frames,
        executor,
        access=wanted.access,
        n_parts=wanted.n_parts,
        checkpoint=wanted.checkpoint,
    )


def expected_of(wanted: Wanted) -> bytes:
    """What one thread makes of it, without what a checkpoint has."""
    return bits_of(compute(replace(wanted, checkpoint=None), Serial())).tobytes()


def command(mpi: "Launcher", n_ranks: int, folder: Path, runs: Sequence[Wanted]) -> list[str]:
    return mpi.command(n_ranks, __file__, str(folder), json.dumps([asdict(wanted) for wanted in runs]))


def results_of(mpi: "Launcher", n_ranks: int, folder: Path, runs: Sequence[Wanted]) -> list[list[bytes]]:
    """The result of each run on each rank, as bytes; all by the same ranks, which start only once."""
    done = subprocess.run(
        command(mpi, n_ranks, folder, runs), capture_output=True, text=True, env=mpi.environment, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return [[np.load(kept(folder, i, rank)).tobytes() for rank in range(n_ranks)] for i in range(len(runs))]


def kept(folder: Path, run_number: int, rank: int) -> Path:
    """Where a rank keeps the result of a run."""
    return folder / f"run{run_number}.rank{rank}.npy"


def spans_of(folder: Path, run_number: int = 0) -> np.ndarray:
    """The spans of a run."""
    return np.asarray(np.load(folder / f"run{run_number}.spans.npy"))


def main() -> None:
    folder, runs = Path(sys.argv[1]), [Wanted(**one) for one in json.loads(sys.argv[2])]
    place = launched()
    assert place is not None
    for i, wanted in enumerate(runs):
        executor = Mpi(schedule=wanted.schedule, communication=wanted.communication)
        if wanted.batch_bytes is not None:
            parallel_hdf5.BATCH_BYTES = wanted.batch_bytes
        mpiio_files.AT_ONCE = wanted.batch_bytes or 1 << 30
        outcome = executor.share(lambda wanted=wanted, executor=executor: compute(wanted, executor))
        np.save(kept(folder, i, place.rank), bits_of(outcome))
        if place.rank == 0:
            np.save(folder / f"run{i}.spans.npy", outcome.spans)


if __name__ == "__main__":
    main()
