"""A program for ranks: a run through MPI-IO with a fault. Each rank stores what it has seen."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
from MDAnalysisTests.datafiles import PSF
from numpy.typing import NDArray

import mdreel
from mdreel._core import FrameSet, Pass, plan, rmsd
from mdreel.execution.executors.mpi.executor import Mpi
from mdreel.execution.executors.mpi.launcher import launched
from mdreel.execution.executors.mpi.mpiio_files import CollectiveFiles, IndependentFiles
from mdreel.execution.job import Job, Outcome
from mdreel.execution.work import Work
from mdreel.timing.spans import KINDS
from mdreel.trajectory.open import open as open_trajectory

N_READ: list[int] = []


def count_bytes(kind: Any) -> None:
    """Count the bytes that a kind of files reads."""
    read = kind.read

    def counting(self: Any, file: int, ranges: Any) -> NDArray[np.uint8]:
        found: NDArray[np.uint8] = read(self, file, ranges)
        N_READ.append(len(found))
        return found

    kind.read = counting


def fail_in_one_frame(positions: NDArray[np.float32], frame: int) -> float:
    """Fail in a frame, which only one rank has."""
    if frame == 50:
        raise ValueError("this frame fails")
    return float(len(positions))


def analyse(path: str, access: Any, executor: Any) -> None:
    """Run a function that fails on one rank."""
    atoms = MDAnalysis.Universe(PSF, path).select_atoms("name CA")
    mdreel.from_function(fail_in_one_frame, atoms).run(frames=range(98), backend=executor, access=access)


def main() -> None:
    folder, path, schedule, access, fault = sys.argv[1:]
    place = launched()
    assert place is not None
    executor: Any = Mpi(schedule=schedule)  # type: ignore[arg-type]
    count_bytes(IndependentFiles)
    count_bytes(CollectiveFiles)

    def happen(n_frames: int) -> None:
        if n_frames > 500 and fault == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
        if n_frames > 500 and fault == "shrink":
            os.truncate(path, Path(path).stat().st_size // 2)

    def compute() -> Outcome | None:
        source = open_trajectory(path, index="none")
        atoms = np.arange(source.n_atoms, dtype=np.uint32)
        reference = source.read(FrameSet.range(0, 1, 1), atoms).positions[0].astype(float)
        kernel = Pass.of(rmsd(reference, None, True))
        frames = FrameSet.list(np.tile(np.arange(98, dtype=np.uint64), 1 if fault == "none" else 300))
        blocks = plan(source, frames, executor.n_workers, executor.n_workers)
        outcome: Outcome | None = executor.run(
            Work(Job(source, atoms, kernel), blocks, monitor=happen, access=access)  # type: ignore[arg-type]
        )
        return outcome

    outcome: Outcome | None = None
    try:
        if fault == "raise":
            analyse(path, access, executor)
        else:
            outcome = executor.share(compute)
    except BaseException as error:  # noqa: BLE001 (the test compares what all ranks have seen)
        seen = f"{type(error).__name__}: {error}"
    else:
        seen = f"read: {sum(N_READ)}"
        if place.rank == 0 and outcome is not None:
            spans = outcome.spans
            np.save(Path(folder) / "n_bytes.npy", spans["n_bytes"][spans["kind"] == KINDS.index("read")].sum())
    (Path(folder) / f"rank{place.rank}.txt").write_text(seen)
    assert executor.share(lambda: "still there") == "still there"


if __name__ == "__main__":
    main()
