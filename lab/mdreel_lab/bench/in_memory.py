"""Frames in memory: a run without reading, also where workers are other processes.

A trajectory in memory is sent to each worker with the job. Here each process makes its own when it is first given the
job, and keeps it for the next: in a run that is not timed, as Khoshlessan et al. (2019) did.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSet, Source
from mdreel.execution.job import Job, Outcome
from mdreel.trajectory.open import open as open_trajectory

if TYPE_CHECKING:
    from mdreel._core import Pass
    from mdreel.execution.choices import Schedule
    from mdreel.execution.executors.executor import Executor
    from mdreel.execution.work import Work

T = TypeVar("T")


def load_frames(paths: Sequence[str], atoms: NDArray[np.uint32]) -> Source:
    """Read some atoms of a trajectory, given by ascending indices, into memory, with 12 bytes per atom and frame."""
    file = open_trajectory(list(paths))
    frames = file.read(FrameSet.range(0, 1, file.n_frames), atoms)
    return Source.memory(frames.positions, frames.times)


@dataclass(frozen=True)
class JobInMemory(Job):
    """A job over frames in memory; a process that unpickles it reads the chosen atoms of the files first."""

    paths: tuple[str, ...] = ()
    chosen: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))

    def __reduce__(self) -> tuple[Any, ...]:
        return _job_elsewhere, (self.paths, self.chosen, self.atoms, self.kernel)


class InMemory:
    """An executor that runs jobs over the chosen atoms of files in memory, with the workers of another executor."""

    def __init__(self, executor: Executor, paths: Sequence[str], chosen: NDArray[np.uint32]) -> None:
        self._executor = executor
        self._paths = tuple(paths)
        self._chosen = chosen

    # These attributes are written out: since Python 3.12, isinstance(x, Executor) does not find those of __getattr__.

    @property
    def name(self) -> str:
        """See `Executor.name`."""
        return self._executor.name

    @property
    def n_workers(self) -> int:
        """See `Executor.n_workers`."""
        return self._executor.n_workers

    @property
    def schedule(self) -> Schedule:
        """See `Executor.schedule`."""
        return self._executor.schedule

    def share(self, compute: Callable[[], T]) -> T:
        """See `Executor.share`."""
        return self._executor.share(compute)

    def run(self, work: Work) -> Outcome | None:
        """Run all blocks; see `Executor.run`."""
        job = JobInMemory(work.job.source, work.job.atoms, work.job.kernel, paths=self._paths, chosen=self._chosen)
        return self._executor.run(replace(work, job=job))


def _job_elsewhere(paths: tuple[str, ...], chosen: NDArray[np.uint32], atoms: NDArray[np.uint32], kernel: Pass) -> Job:
    return Job(_frames_of(paths, chosen.tobytes()), atoms, kernel)


@lru_cache(maxsize=1)
def _frames_of(paths: tuple[str, ...], chosen: bytes) -> Source:
    """Read the frames of a process, once."""
    return load_frames(paths, np.frombuffer(chosen, np.uint32))
