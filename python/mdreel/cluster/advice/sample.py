"""Cost of a frame, measured on a short sample of a trajectory."""

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
"""Stretches of one worker, spread over the trajectory, and as many of several."""

SHARE = 0.05
"""Share of the whole run's time that a sample may take, within these limits, s."""

LEAST_SECONDS, MOST_SECONDS = 1.0, 2.0

_WARM_UP_SECONDS = 0.02
_GROWTH = 4
_BLOCKS_PER_WORKER = 8
_MOST_RESULT_BYTES = 64 << 20  # of a stretch


@dataclass(frozen=True)
class FrameCost:
    """What a frame takes of a worker's time.

    Attributes
    ----------
    read, decompress, compute : float
        Time by kind, s.
    reduce : float
        Time of the caller, who merges, s; of all frames with the memory that results take.
    n_bytes : float
        Bytes brought from storage.
    """

    read: float
    decompress: float
    compute: float
    reduce: float = 0.0
    n_bytes: float = 0.0

    @property
    def io(self) -> float:
        """t_io of a frame, decompression included, s."""
        return self.read + self.decompress

    @property
    def seconds(self) -> float:
        """All that the worker does, s."""
        return self.io + self.compute

    @property
    def ratio_comp_io(self) -> float:
        """R_comp/io: compute divided by reading and decompressing; inf where nothing is read."""
        return self.compute / self.io if self.io > 0 else float("inf")


@dataclass(frozen=True)
class Sample:
    """What was measured of an analysis, and what is known of its trajectory.

    Attributes
    ----------
    n_frames : int
        Frames that are wanted in all.
    alone : FrameCost
        What a frame costs one worker that has the machine for itself.
    spread : float
        Standard deviation between stretches, as a share of the mean.
    together : FrameCost or None
        What a frame costs each of `n_together` threads; None where that was not measured.
    n_together : int
        How many worked together.
    opening : float
        Opening the trajectory, the reference, the worker's reader, s; with what the caller did before.
    concluding : float
        Results from what was merged, s a frame.
    row_bytes : int
        Bytes of result of a frame.
    file_bytes : float
        Bytes of file of a frame.
    n_atoms, n_wanted_atoms : int
        Atoms of the trajectory, and those that are read.
    format : str
        The format.
    n_files : int
        Files that it is in.
    file_system : str or None
        Where it lies, as the system calls that.
    n_stripes : int
        Targets of Lustre over which it is spread.
    cached_share : float or None
        Share of it that was in the page cache before the sample, if that is known.
    runs_python : bool
        Whether frames go through Python's interpreter, for which threads take turns.
    needs_order : bool
        Whether a transformation needs each frame after the one before.
    is_transformed : bool
        Whether frames are transformed as they are read.
    has_parallel_hdf5 : bool
        Whether an h5py for MPI is installed.
    n_sampled : int
        Frames that were looked at.
    seconds : float
        How long that took, s.
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
    seconds: float = 0.0

    @property
    def slowdown(self) -> float:
        """How many times longer a frame takes a worker when `n_together` work; never less than 1."""
        if self.together is None or self.alone.seconds <= 0:
            return 1.0
        return max(self.together.seconds / self.alone.seconds, 1.0)

    @property
    def contention(self) -> float:
        """What each further worker adds to the time of a frame, as a share of it."""
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
    """Run analyses on a few stretches of frames and measure what that costs.

    Parameters
    ----------
    analyses : sequence of Analysis
        The analyses, which keep the results that they have.
    source : Source
        Their trajectory, opened.
    selected : FrameSet
        The frames that are wanted.
    n_together : int
        How many threads the machine has; with more than one, as many stretches are run by all of them.
    files : sequence of dict
        What `files_of` said of it before.
    opening : float
        What was done before, s, which a run does as well.
    most_seconds : float
        How long all may take, s; at least one frame is looked at, however long that takes.

    Returns
    -------
    Sample
        What was measured.

    Raises
    ------
    UnsupportedError
        If time does not grow with the number of frames.
    MdreelError, OSError
        As of a run of these frames.

    Notes
    -----
    What is run first warms up (buffers, imports, large pages) and is not counted. Stretches of one worker begin at even
    distances; those of several end where the next of one begins, and are of other frames unless there are too few.
    Together they take 5 % of what the run would take one worker, but at least a second, or the whole run.
    """
    if any(isinstance(one, DistanceMatrix) for one in analyses):
        message = "compares each frame with each, of which the time of a few frames says nothing"
        raise UnsupportedError(f"no advice on a DistanceMatrix: it {message}")
    begun = perf_counter()
    job = job_of(analyses, source)
    opening += perf_counter() - begun
    numbers = selected.numbers()
    warm_up, pace = _warmed_up(job, numbers)
    if any(one.needs_order for one in source.transformations):
        n_together = 1
    crews: list[Executor] = [Serial()] if n_together == 1 else [Serial(), Threads(n_together)]
    timings: list[list[Timing]] = [[] for _ in crews]
    concluding: list[float] = []
    n_sampled = 0
    for number, outcome in _stretches(job, numbers, crews, pace, most_seconds):
        n_sampled += len(outcome.rows)
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
        seconds=perf_counter() - begun,
    )


def _warmed_up(job: Job, numbers: NDArray[np.uint64]) -> tuple[Outcome, float]:
    """Run ever more frames until it takes a while; return the first outcome, and the seconds that a frame takes."""
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
    """Run stretches with each crew, in turn, so that all meet the same moods of the machine; say which crew it was."""
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
    """Run consecutive ones of the wanted frames."""
    frames = numbers[first : first + count]
    return run(job, _frame_set(frames), crew, n_parts=min(_BLOCKS_PER_WORKER * crew.n_workers, count))


def _frame_set(frames: NDArray[np.uint64]) -> FrameSet:
    """Say frames as a range where they are one: it is read as such."""
    steps = np.unique(np.diff(frames.astype(np.int64)))
    if len(steps) > 1 or (len(steps) and steps[0] < 1):
        return FrameSet.list(frames)
    return FrameSet.range(int(frames[0]), int(steps[0]) if len(steps) else 1, len(frames))


def _cost(timings: Sequence[Timing]) -> FrameCost:
    """What a frame cost, on average."""
    n_frames = max(sum(timing.n_frames for timing in timings), 1)
    kinds = ("read", "decompress", "compute", "reduce")
    seconds = {kind: sum(timing.seconds(kind) for timing in timings) / n_frames for kind in kinds}
    return FrameCost(**seconds, n_bytes=sum(timing.n_bytes for timing in timings) / n_frames)


def _settled(spans: NDArray[np.void]) -> NDArray[np.void]:
    """Leave the first block of each worker out, where it had more: a thread that has just begun is slow for a while."""
    is_first = np.zeros(len(spans), bool)
    for worker in np.unique(spans["worker"]):
        is_own = (spans["worker"] == worker) & (spans["block"] != NO_BLOCK)
        blocks = spans["block"][is_own]
        if len(np.unique(blocks)) > 1:
            is_first |= is_own & (spans["block"] == blocks[np.argmin(spans["start_ns"][is_own])])
    return spans[~is_first]


def _concluding(analyses: Sequence[Analysis], job: Job, outcome: Outcome) -> float:
    """Conclude copies of the analyses from a stretch; return how long that took, s."""
    begun = perf_counter()
    for analysis, tally in zip(analyses, Tally.of_each(outcome, job.kernel), strict=True):
        if isinstance(analysis, AnalysisBase):
            continue  # users' code, which may do more than make results
        another = copy(analysis)
        another.results = Results()
        # From few frames some have no results, or none that numpy likes.
        with suppress(MdreelError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            another.accept(outcome, tally)
    return perf_counter() - begun


def files_of(source: Source) -> list[dict[str, Any]]:
    """Return what the environment says of the files of a trajectory; ask before they are read, as that changes it."""
    paths = [Path(str(facts["path"])) for facts in source.describe() if "path" in facts]
    here = [path for path in paths if path.is_file()]
    files: list[dict[str, Any]] = environment_of(here)["files"] if here else []
    return files


def file_system_of(files: Sequence[dict[str, Any]]) -> str | None:
    """Return the file system of the first of some files, as the system calls it."""
    return files[0]["file_system"] if files else None


def stripes_of(files: Sequence[dict[str, Any]]) -> int:
    """Return over how many targets of Lustre the first of some files is spread."""
    return int((files[0]["stripe"] or {}).get("count", 1)) if files else 1


def _cached_share(files: Sequence[dict[str, Any]]) -> float | None:
    """The share of all files that is in the page cache."""
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
