"""Executors of mdreel as backends for MDAnalysis analyses."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np
from MDAnalysis.analysis.backends import BackendBase, BackendMultiprocessing
from numpy.typing import NDArray

from mdreel._core import FrameSet, Pass, fold
from mdreel.analysis.user.user_functions import (
    Batch,
    Failed,
    Fold,
    describe_error,
    function_name,
    pickle_by_value,
    value_or_raise,
)
from mdreel.errors import FunctionError, UnsupportedError
from mdreel.execution.executors.executor import Executor
from mdreel.execution.executors.resolve_executor import EXECUTORS, executor_class, find_executor
from mdreel.execution.job import Job, Outcome
from mdreel.execution.pipeline import run
from mdreel.foundation.arguments import checked_arguments
from mdreel.mdanalysis.accelerate import accelerate, is_replaced
from mdreel.timing.spans import NO_BLOCK
from mdreel.timing.timing import Timing
from mdreel.trajectory.frame_counter import counted_source
from mdreel.trajectory.selection_parser import separate_selection_parsers

if TYPE_CHECKING:
    from typing import Self

    Groups = Sequence[NDArray[np.integer]]


class Backend(BackendBase):  # type: ignore[misc]
    """MDAnalysis backend that runs on an mdreel executor; see `backend`.

    Parameters
    ----------
    executor : Executor
        The executor.

    Attributes
    ----------
    executor : Executor
        The executor.
    n_workers : int
        Number of workers.
    timing : Timing or None
        Timing of the last run, where blocks are groups of frames. Reading is included in the compute time, because
        MDAnalysis analyses read their frames themselves.
    """

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self.timing: Timing | None = None
        super().__init__(int(executor.n_workers))

    def apply(self, func: Callable[[NDArray[np.integer]], Any], computations: Groups) -> list[Any]:
        """Call a function for each group of frames in the workers, and return the values in order.

        Raises
        ------
        FunctionError
            When your function raises an exception (the message states the frame), or the analysis did not store
            anything except None in its results. Note that values outside the results are not returned from the workers.
        UnsupportedError
            When the analysis cannot be pickled.
        """
        n_groups = len(computations)

        def compute() -> Outcome:
            groups = _Groups(_sent(func), [np.asarray(group) for group in computations])
            kernel = Pass.of(fold(groups, 1, np.zeros(1, np.uint32)))
            job = Job(counted_source(n_groups), np.zeros(1, np.uint32), kernel)
            return run(job, FrameSet.range(0, 1, n_groups), self.executor, n_parts=n_groups)

        outcome = self.executor.share(compute)
        self.timing = Timing(_with_frames_of_groups(outcome.spans, computations), outcome.crew, outcome.tasks)
        (done,) = outcome.own
        found: list[_Done] = value_or_raise(done)
        _check_left(func, found)
        return found

    def __eq__(self, other: object) -> bool:
        # MDAnalysis compares the backend with those that an analysis supports. This backend works like multiprocessing:
        # workers get a copy of the analysis and return frames, times and results.
        return other is self or other is BackendMultiprocessing

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<Backend {self.executor!r}>"


def _with_frames_of_groups(spans: NDArray[np.void], groups: Groups) -> NDArray[np.void]:
    """Set the number of frames in the spans of each group, because the core counts a group as a single frame."""
    sizes = np.array([len(group) for group in groups], np.uint64)
    counted = spans.copy()
    has_frames = counted["n_frames"] > 0
    is_of_block = has_frames & (counted["block"] != NO_BLOCK)
    counted["n_frames"][is_of_block] = sizes[counted["block"][is_of_block]]
    counted["n_frames"][has_frames & ~is_of_block] = sizes.sum()
    return counted


@checked_arguments
def backend(name: str | Executor, n_workers: int | None = None, **options: Any) -> Backend:
    """Return a backend that runs MDAnalysis analyses on an mdreel executor.

    Parameters
    ----------
    name : {"serial", "threads", "processes", "dask", "mpi"} or Executor
        The executor.
    n_workers : int, optional
        Number of workers. By default, there is one per processor or rank.
    **options
        Further arguments of the executor, such as ``client`` for Dask, or ``communication`` for MPI.

    Returns
    -------
    Backend
        A backend that you can pass to ``run(backend=...)`` of an MDAnalysis analysis.

    Raises
    ------
    UnsupportedError
        If the executor is unknown or not installed.
    MismatchError
        If the executor does not support this number of workers.

    Notes
    -----
    You can use this backend for all analyses that MDAnalysis can run with its backend ``"multiprocessing"``. For other
    analyses, MDAnalysis will raise a ``ValueError``. Frames are divided into ``n_parts`` groups (by default, one per
    worker), and each idle worker processes the next group. Workers always use the readers of mdreel, as after
    `accelerate`. When you use MPI, you need to call ``run`` on all ranks, which will then all receive the results.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysis.analysis.dihedrals import Ramachandran
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> protein = mda.Universe(PSF, DCD).select_atoms("protein")
    >>> backend = mdreel.mdanalysis.backend("threads", n_workers=2)
    >>> Ramachandran(protein).run(backend=backend, n_parts=8).results.angles.shape
    (98, 212, 2)
    """
    if not isinstance(name, str):
        if options:
            raise UnsupportedError(f"{', '.join(options)}: give options to the executor, {name!r}")
        return Backend(find_executor(name, n_workers))
    if name in EXECUTORS and options:
        return Backend(executor_class(name)(n_workers, **options))
    return Backend(find_executor(name, n_workers))


@dataclass(frozen=True)
class _Done:
    """Result of an analysis for a group of frames, in the form that MDAnalysis expects."""

    frames: NDArray[np.integer]
    times: NDArray[np.floating]
    results: Any


@dataclass(frozen=True)
class _Groups(Fold):
    """Fold that calls a function for each group of frames. The "frames" of this fold are numbers of groups.

    Attributes
    ----------
    function : bytes
        Pickled method of an MDAnalysis analysis, including the analysis.
    groups : sequence of ndarray, shape (n_frames, 2)
        Frames of each group, as provided by MDAnalysis.
    """

    function: bytes
    groups: Groups

    def added(self, value: list[_Done] | None, batch: Batch) -> list[_Done] | Failed:
        """Call the function for each group. Each call stores its results in a new copy of the analysis."""
        separate_selection_parsers()  # other threads of this process may be workers, too
        done = value or []
        for number in batch.frames.tolist():
            function = pickle.loads(self.function)  # noqa: S301 (from our own process)
            try:
                found = function(self.groups[number])
            except Exception as error:  # noqa: BLE001 (an analysis can raise any error)
                return Failed(f"{_where(function)}{describe_error(error)}")
            done.append(_Done(found.frames, found.times, found.results))
        return done

    def merged(self, value: list[_Done], following: list[_Done]) -> list[_Done]:
        """Concatenate the results of two blocks."""
        return value + following

    def __reduce__(self) -> tuple[type[Self], tuple[bytes, Groups]]:
        return type(self), (self.function, self.groups)


def _check_left(function: Any, done: Sequence[_Done]) -> None:
    """Raise an error if an analysis has not stored any values, because its results would be empty or None."""
    analysis = _analysis_of(function)
    if not getattr(analysis, "_has_results", True) or not any(len(one.frames) for one in done):
        return
    if not any(one.results for one in done):
        raise FunctionError(
            f"{type(analysis).__name__}: _single_frame has stored nothing in self.results. Other attributes stay in "
            "the workers: store values in self.results, and merge them with an aggregator from _get_aggregator. If "
            "the class only has side effects, such as writing files, set its class attribute _has_results = False"
        )
    for name in done[0].results:
        parts = [one.results.get(name) for one in done]
        entries = [entry for part in parts if isinstance(part, list) for entry in part]
        if entries and all(isinstance(part, list) for part in parts) and all(entry is None for entry in entries):
            what = function_name(analysis.function) if hasattr(analysis, "function") else type(analysis).__name__
            raise FunctionError(f"{what} returned nothing (None) for every frame in results.{name}: return a value")


def _analysis_of(function: Any) -> Any:
    return getattr(getattr(function, "func", function), "__self__", None)


def _where(function: Any) -> str:
    """Return the file, the analysis and the frame of a method that was called, for a message."""
    analysis = _analysis_of(function)
    reader = getattr(analysis, "_trajectory", None)
    return "" if reader is None else f"{reader.filename}: {type(analysis).__name__}: frame {reader.ts.frame}: "


def _sent(function: Callable[..., Any]) -> bytes:
    """Pickle a function, replacing the readers of MDAnalysis by those of mdreel."""
    made = []  # keeps copies alive, because pickle identifies objects by address

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, what: Any) -> Any:
            if not is_replaced(type(what)):
                return super().reducer_override(what)
            with accelerate():
                made.append(what.copy())
            _, of_kind, state, *_ = made[-1].__reduce_ex__(pickle.HIGHEST_PROTOCOL)
            return _made_of, of_kind, state

    return pickle_by_value(function, "the analysis", Pickler)


def _made_of(kind: Any) -> Any:
    """Create an object without state, because ``copyreg.__newobj__`` accepts only the class of the pickled object."""
    return kind.__new__(kind)
