"""Cost per frame, measured on a short sample of a trajectory."""

import importlib.util
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, pstdev
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSet, Source
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.base.one_pass import job_of
from mdreel.analysis.clustering.frame_clusters import FrameClusters
from mdreel.analysis.distance_matrix import DistanceMatrix
from mdreel.analysis.user.analysis_base import AnalysisBase
from mdreel.analysis.user.from_function import FunctionAnalysis
from mdreel.cluster.advice import page_faults
from mdreel.errors import MdreelError, UnsupportedError
from mdreel.execution.executors.executor import Executor
from mdreel.execution.executors.local.serial import Serial
from mdreel.execution.executors.local.threads import Threads
from mdreel.execution.job import Job, Outcome
from mdreel.execution.pipeline import run
from mdreel.execution.tally import Tally
from mdreel.results.results import Results
from mdreel.timing.environment import environment_of
from mdreel.timing.spans import NO_BLOCK
from mdreel.timing.timing import Timing

N_STRETCHES = 5
"""Number of stretches, spread over the trajectory, for one worker. Several workers run the same number."""

SHARE = 0.05
"""Share of the run time that a sample can take. The limits below are in s."""

LEAST_SECONDS, MOST_SECONDS = 1.0, 2.0

_WARM_UP_SECONDS = 0.02
_GROWTH = 4
_BLOCKS_PER_WORKER = 8
_MOST_RESULT_BYTES = 64 << 20  # of a stretch


@dataclass(frozen=True)
class FrameCost:
    """Mean cost per frame for a worker.

    Attributes
    ----------
    read, decompress, compute : float
        Time spent on each kind of work, in s.
    reduce : float
        Time that the caller needs to merge the results of a frame, including page faults, in s.
    n_bytes : float
        Number of bytes read from storage.
    """

    read: float
    decompress: float
    compute: float
    reduce: float = 0.0
    n_bytes: float = 0.0

    @property
    def io(self) -> float:
        """t_io of a frame, including decompression, in s."""
        return self.read + self.decompress

    @property
    def seconds(self) -> float:
        """Total time of the worker, in s."""
        return self.io + self.compute

    @property
    def ratio_comp_io(self) -> float:
        """R_comp/io, the ratio of compute time to t_io, or inf if the run does not read any data."""
        return self.compute / self.io if self.io > 0 else float("inf")


@dataclass(frozen=True)
class Sample:
    """Measured cost of an analysis, and properties of its trajectory.

    Attributes
    ----------
    n_frames : int
        Number of selected frames.
    alone : FrameCost
        Cost per frame for a worker that has the machine to itself.
    spread : float
        Standard deviation of the stretches, divided by their mean.
    together : FrameCost or None
        Cost per frame for each of `n_together` threads, or None if it was not measured.
    n_together : int
        Number of threads that ran at the same time.
    opening : float
        Time to open the trajectory, the reference and the worker's reader, in s. It includes the time that the caller
        had already spent.
    concluding : float
        Time to compute the final results, in s per frame.
    row_bytes : int
        Size of the result of a frame, in bytes.
    file_bytes : float
        Size of a frame in the file, in bytes.
    n_atoms, n_wanted_atoms : int
        Number of atoms in the trajectory, and number of atoms that the analysis reads.
    format : str
        Format of the trajectory.
    n_files : int
        Number of files of the trajectory.
    file_system : str or None
        Type of the trajectory's file system, as reported by the operating system.
    n_stripes : int
        Number of Lustre targets (stripe count) of the trajectory.
    cached_share : float or None
        Share of the trajectory that was in the page cache before the sample, or None if it is unknown.
    runs_python : bool
        Whether each frame is processed by the Python interpreter. In this case, threads have to wait for each other.
    needs_order : bool
        Whether a transformation needs all frames in order.
    is_transformed : bool
        Whether the run transforms frames.
    has_parallel_hdf5 : bool
        Whether h5py is installed with MPI support.
    n_sampled : int
        Number of frames in the sample. Frames that are read both by one worker and by several workers are counted
        twice.
    n_distinct : int
        Number of different frames in the sample.
    seconds : float
        Duration of the sample, in s.
    """

    n_frames: int
    alone: FrameCost
    spread: float = 0.0
    together: FrameCost | None = None
    n_together: int = 1
    opening: float = 0.0
    concluding: float = 0.0
    row_bytes: int = 24
    file_bytes: float = 0.0
    n_atoms: int = 0
    n_wanted_atoms: int = 0
    format: str = "XTC"
    n_files: int = 1
    file_system: str | None = None
    n_stripes: int = 1
    cached_share: float | None = None
    runs_python: bool = False
    needs_order: bool = False
    is_transformed: bool = False
    has_parallel_hdf5: bool = False
    n_sampled: int = 0
    n_distinct: int = 0
    seconds: float = 0.0

    @property
    def slowdown(self) -> float:
        """Ratio of the time per frame with `n_together` threads to the time with one thread, at least 1."""
        if self.together is None or self.alone.seconds <= 0:
            return 1.0
        return max(self.together.seconds / self.alone.seconds, 1.0)

    @property
    def contention(self) -> float:
        """Relative increase in the time per frame for each additional worker."""
        return (self.slowdown - 1) / (self.n_together - 1) if self.n_together > 1 else 0.0


def take_sample(
    analyses: Sequence[Analysis],
    source: Source,
    selected: FrameSet,
    n_together: int = 1,
    *,
    files: Sequence[dict[str, Any]] = (),
    opening: float = 0.0,
    most_seconds: float = MOST_SECONDS,
) -> Sample:
    """Run analyses on a few stretches of frames and measure the cost.

    Parameters
    ----------
    analyses : sequence of Analysis
        The analyses. Their results are not modified.
    source : Source
        The open trajectory.
    selected : FrameSet
        The selected frames.
    n_together : int
        Number of threads of the machine. If there are several, the function also runs stretches with all threads.
    files : sequence of dict
        Result of `files_of`. The caller has to call this function before it takes the sample.
    opening : float
        Time, in s, that was already spent on steps that every run has to repeat.
    most_seconds : float
        Time limit, in s. The sample always contains at least one frame, however long it takes.

    Returns
    -------
    Sample
        The measurements.

    Raises
    ------
    UnsupportedError
        If the run time does not depend on the number of frames.
    MdreelError, OSError
        See `Analysis.run`.

    Notes
    -----
    The first run warms up buffers, imports and large pages, and is not counted. The stretches of the single worker are
    evenly spaced. Each stretch of several workers ends where the next stretch of the single worker starts. Therefore,
    the frames differ unless the trajectory is too short. All stretches together take 5 % of the run time of one worker,
    but at least one second (or the entire run if it is shorter).
    """
    for one in analyses:
        if isinstance(one, DistanceMatrix | FrameClusters):
            message = "compares every frame with every other, so a sample of a few frames cannot predict its run time"
            raise UnsupportedError(f"there is no advice on a {type(one).__name__}: it {message}")
    begun = perf_counter()
    numbers = selected.numbers()
    job = job_of(analyses, source, int(numbers[0]))
    opening += perf_counter() - begun
    warm_up, pace = _warmed_up(job, numbers)
    if any(one.needs_order for one in source.transformations):
        n_together = 1
    crews: list[Executor] = [Serial()] if n_together == 1 else [Serial(), Threads(n_together)]
    timings: list[list[Timing]] = [[] for _ in crews]
    concluding: list[float] = []
    n_sampled, distinct = 0, np.empty(0)
    for number, outcome in _stretches(job, numbers, crews, pace, most_seconds):
        n_sampled += len(outcome.rows)
        distinct = np.union1d(distinct, outcome.rows[:, 0])
        timings[number].append(Timing(outcome.spans if number == 0 else _settled(outcome.spans)))
        if number == 0:
            concluding.append(_concluding(analyses, job, outcome) / len(outcome.rows))
    costs = [_cost(of_crew) for of_crew in timings]
    each = [_cost([timing]).seconds for timing in timings[0]]
    return Sample(
        n_frames=len(numbers),
        alone=replace(costs[0], reduce=costs[0].reduce + 8 * job.kernel.row_width * page_faults.seconds_per_byte()),
        spread=pstdev(each) / fmean(each) if fmean(each) > 0 else 0.0,
        together=costs[1] if len(costs) > 1 else None,
        n_together=n_together,
        opening=opening + Timing(warm_up.spans).seconds("open"),
        concluding=min(concluding),
        row_bytes=8 * job.kernel.row_width,
        file_bytes=source.n_bytes / max(source.n_frames, 1),
        n_atoms=source.n_atoms,
        n_wanted_atoms=len(job.atoms),
        format=str(source.describe()[0].get("format", source.format)),
        n_files=source.n_segments,
        file_system=file_system_of(files),
        n_stripes=stripes_of(files),
        cached_share=_cached_share(files),
        runs_python=_runs_python(analyses, source),
        needs_order=any(one.needs_order for one in source.transformations),
        is_transformed=bool(source.transformations),
        has_parallel_hdf5=_has_parallel_hdf5(),
        n_sampled=n_sampled,
        n_distinct=len(distinct),
        seconds=perf_counter() - begun,
    )


def _warmed_up(job: Job, numbers: NDArray[np.uint64]) -> tuple[Outcome, float]:
    """Run more and more frames until the time is measurable. Return the first outcome and the time per frame, in s."""
    first, n_frames = None, 1
    while True:
        outcome = _run(job, numbers, 0, n_frames, Serial())
        first = first or outcome
        taken = _cost([Timing(outcome.spans)]).seconds
        if taken * n_frames >= _WARM_UP_SECONDS or n_frames >= len(numbers):
            return first, max(taken, 1e-9)
        n_frames = min(_GROWTH * n_frames, len(numbers))


def _stretches(
    job: Job, numbers: NDArray[np.uint64], crews: Sequence[Executor], pace: float, most_seconds: float
) -> Iterator[tuple[int, Outcome]]:
    """Run stretches with each executor in turn, so that noise affects all executors equally."""
    wanted = min(max(SHARE * len(numbers) * pace, LEAST_SECONDS), most_seconds) / len(crews)
    n_stretches = min(N_STRETCHES, max(int(wanted / pace), 1), len(numbers))
    distance = len(numbers) // n_stretches
    length = min(max(int(wanted / n_stretches / pace), 1), max(_MOST_RESULT_BYTES // (8 * job.kernel.row_width), 1))
    for number in range(n_stretches):
        for which, crew in enumerate(crews):
            count = min(length * crew.n_workers, distance)
            at = number * distance + (0 if crew.n_workers == 1 else distance - count)
            yield which, _run(job, numbers, at, count, crew)


def _run(job: Job, numbers: NDArray[np.uint64], first: int, count: int, crew: Executor) -> Outcome:
    """Run consecutive selected frames."""
    frames = numbers[first : first + count]
    return run(job, _frame_set(frames), crew, n_parts=min(_BLOCKS_PER_WORKER * crew.n_workers, count))


def _frame_set(frames: NDArray[np.uint64]) -> FrameSet:
    """Convert evenly spaced frames to a range, which can be read faster."""
    steps = np.unique(np.diff(frames.astype(np.int64)))
    if len(steps) > 1 or (len(steps) and steps[0] < 1):
        return FrameSet.list(frames)
    return FrameSet.range(int(frames[0]), int(steps[0]) if len(steps) else 1, len(frames))


def _cost(timings: Sequence[Timing]) -> FrameCost:
    """Return the mean cost per frame."""
    n_frames = max(sum(timing.n_frames for timing in timings), 1)
    kinds = ("read", "decompress", "compute", "reduce")
    seconds = {kind: sum(timing.seconds(kind) for timing in timings) / n_frames for kind in kinds}
    return FrameCost(**seconds, n_bytes=sum(timing.n_bytes for timing in timings) / n_frames)


def _settled(spans: NDArray[np.void]) -> NDArray[np.void]:
    """Remove the first block of each worker that has several blocks, because new threads start slowly."""
    is_first = np.zeros(len(spans), bool)
    for worker in np.unique(spans["worker"]):
        is_own = (spans["worker"] == worker) & (spans["block"] != NO_BLOCK)
        blocks = spans["block"][is_own]
        if len(np.unique(blocks)) > 1:
            is_first |= is_own & (spans["block"] == blocks[np.argmin(spans["start_ns"][is_own])])
    return spans[~is_first]


def _concluding(analyses: Sequence[Analysis], job: Job, outcome: Outcome) -> float:
    """Compute the final results of a stretch in copies of the analyses, and return the time in s."""
    begun = perf_counter()
    for analysis, tally in zip(analyses, Tally.of_each(outcome, job.kernel), strict=True):
        if isinstance(analysis, AnalysisBase):
            continue  # code of users can have side effects
        another = copy(analysis)
        another.results = Results()
        # With few frames, some analyses have no results, and NumPy warns.
        with suppress(MdreelError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            another.accept(outcome, tally)
    return perf_counter() - begun


def files_of(source: Source) -> list[dict[str, Any]]:
    """Return the environment's file entries. Call this before reading, because reading changes the page cache."""
    paths = [Path(str(facts["path"])) for facts in source.describe() if "path" in facts]
    here = [path for path in paths if path.is_file()]
    files: list[dict[str, Any]] = environment_of(here)["files"] if here else []
    return files


def file_system_of(files: Sequence[dict[str, Any]]) -> str | None:
    """Return the name of the file system of the first file."""
    return files[0]["file_system"] if files else None


def stripes_of(files: Sequence[dict[str, Any]]) -> int:
    """Return the Lustre stripe count of the first file."""
    return int((files[0]["stripe"] or {}).get("count", 1)) if files else 1


def _cached_share(files: Sequence[dict[str, Any]]) -> float | None:
    """Return the share of the files that is in the page cache."""
    known = [(one["n_bytes"], one["cached_share"]) for one in files if one["cached_share"] is not None]
    total = sum(n_bytes for n_bytes, _ in known)
    return sum(n_bytes * share for n_bytes, share in known) / total if total else None


def _runs_python(analyses: Sequence[Analysis], source: Source) -> bool:
    if any(isinstance(one, AnalysisBase | FunctionAnalysis) for one in analyses):
        return True
    return any(str(facts.get("read by", "")).startswith("MDAnalysis") for facts in source.describe())


def _has_parallel_hdf5() -> bool:
    if importlib.util.find_spec("h5py") is None:
        return False
    import h5py

    return bool(h5py.get_config().mpi)
