"""Jobs that are run by executors, and their outcomes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Blocks, Part, Pass, Source, map_blocks
from mdreel._core import run as run_core
from mdreel.execution.choices import Schedule
from mdreel.execution.damage import DamagedFrame, damaged_frames
from mdreel.timing.spans import TASK, spans_from_columns
from mdreel.timing.workers import Member

Monitor: TypeAlias = Callable[[int], object]
"""Function that is called with the number of analysed frames. If it raises an exception, the run is stopped."""


@dataclass(frozen=True)
class Outcome:
    """Merged results of all blocks.

    Attributes
    ----------
    rows : ndarray, shape (n_frames, row_width), float64
        Frame number, time (in ps) and values for each frame, in the units of the kernel.
    sums : ndarray, shape (n_sums,), float64
        Sums over all frames.
    counts : ndarray, shape (n_counts,), uint64
        Counts over all frames.
    records : tuple of ndarray, shape (n_records, 1 + n_values), float64
        Frame number and values of each event, with one array per computation that records events.
    spans : ndarray, shape (n_spans,), SPAN
        Spans of the run.
    damage : tuple of DamagedFrame
        Frames that were skipped.
    crew : dict of int to Member
        Process of each worker, and of `COORDINATOR`.
    tasks : ndarray, shape (n_tasks,), TASK
        Tasks that were recorded by an external scheduler.
    own : tuple
        Values computed in Python, with one value per computation.
    on_error : {"raise", "stop", "skip"}
        How damaged frames were handled.
    call : str
        Python call that ran the analyses.
    n_missed : int
        Number of frames of a running simulation that the run missed.
    n_requested : int
        Number of workers that the user requested, or 0 for the default.
    """

    rows: NDArray[np.float64]
    sums: NDArray[np.float64]
    counts: NDArray[np.uint64]
    records: tuple[NDArray[np.float64], ...]
    spans: NDArray[np.void]
    damage: tuple[DamagedFrame, ...] = ()
    crew: dict[int, Member] = field(default_factory=dict)
    tasks: NDArray[np.void] = field(default_factory=lambda: np.empty(0, TASK))
    own: tuple[Any, ...] = ()
    on_error: str = "raise"
    call: str = ""
    n_missed: int = 0
    n_requested: int = 0

    @classmethod
    def of(cls, results: tuple[Any, Any, Any]) -> Self:
        """Return the outcome for results from the core."""
        (rows, sums, counts, records, own), columns, damage = results
        left = damaged_frames(damage)
        return cls(rows, sums, counts, tuple(records), spans_from_columns(columns), left, own=tuple(own))

    @property
    def frames(self) -> NDArray[np.uint64]:
        """Frame numbers, shape (n_frames,)."""
        return self.rows[:, 0].astype(np.uint64)

    @property
    def times(self) -> NDArray[np.float64]:
        """Times, shape (n_frames,), in ps."""
        return self.rows[:, 1].copy()


class FileTogether(Protocol):
    """Frame positions in a file that all MPI ranks open together. Rank 0 sends this object to the other ranks."""

    def check(self) -> None:
        """Raise an error if this process cannot open the file together with other processes."""

    def open(self, atoms: NDArray[np.uint32], communicator: Any, is_collective: bool) -> Any:
        """Open the file together with all other ranks of a communicator."""


@dataclass(frozen=True)
class Job:
    """A kernel, and the source that it reads. Executors use only `run` and `map`.

    A pickled job contains all information about the trajectory that is known to the process that opened it. This
    includes the size, the atoms and the quantities of each file, the structure of HDF5 files, and the known part of the
    frame index. If a process unpickles a job with a single file, it opens the file immediately. If there are several
    files, it opens each file when it reads the first frame of the file. It raises a `FormatError` if the file differs
    from the file that was opened originally.

    Attributes
    ----------
    source : Source
        The trajectory.
    atoms : ndarray, shape (n_atoms,), uint32
        The atoms of the kernel, in ascending order.
    kernel : Pass
        The computations.
    together : callable, optional
        Function that returns the file that all MPI ranks open together. Its arguments are the source, and whether ranks
        read collectively. Only rank 0 needs this function.
    """

    source: Source
    atoms: NDArray[np.uint32]
    kernel: Pass
    together: Callable[[Source, bool], FileTogether] | None = None

    def run(
        self, blocks: Blocks, n_threads: int, monitor: Monitor | None = None, schedule: Schedule = "demand"
    ) -> Outcome | None:
        """Run blocks in this process.

        Parameters
        ----------
        blocks : Blocks
            The blocks.
        n_threads : int
            Number of threads. If it is 1, all computations are carried out on the calling thread.
        monitor : callable, optional
            Function that is called with the number of analysed frames about every 50 ms, on the calling thread.
        schedule : {"demand", "static"}
            How blocks are assigned to threads.

        Returns
        -------
        Outcome or None
            The outcome, or None if any block of bytes did not begin at a frame. In the latter case, the frames have to
            be located first.
        """
        results = run_core(self.source, self.atoms, self.kernel, blocks, n_threads, monitor, schedule)
        return None if results is None else Outcome.of(results)

    def map(
        self,
        blocks: Blocks,
        first: int,
        end: int,
        *,
        n_threads: int = 1,
        monitor: Monitor | None = None,
        schedule: Schedule = "demand",
        worker: int = 0,
    ) -> Part:
        """Run some of the blocks in this process.

        Parameters
        ----------
        blocks : Blocks
            All blocks.
        first, end : int
            First block to run, and end of the range.
        n_threads, monitor, schedule
            As in `run`.
        worker : int
            Number of the first thread in the spans.

        Returns
        -------
        Part
            Result of the blocks. Its spans begin at 0.
        """
        return map_blocks(
            self.source, self.atoms, self.kernel, blocks, first, end, n_threads, monitor, schedule, worker
        )

    def finish(self, whole: Part) -> Outcome | None:
        """Return the outcome, given the merged part of all blocks; see `run`."""
        results = whole.finish(self.source)
        return None if results is None else Outcome.of(results)

    def __reduce__(self) -> tuple[Any, ...]:
        return _job_elsewhere, (self.source.for_workers(), self.source.places(), self.atoms, self.kernel)


def _job_elsewhere(source: Source, places: NDArray[np.uint8], atoms: NDArray[np.uint32], kernel: Pass) -> Job:
    source.take_places(places)
    if source.n_segments == 1:
        source.ensure_open()
    return Job(source, atoms, kernel)
