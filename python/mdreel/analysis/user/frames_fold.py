"""Fold that calls a user analysis for each frame, with a separate Universe for each worker."""

from __future__ import annotations

import pickle
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mdreel.analysis.user.block_results import Block, FinishableBlock, blocks_of
from mdreel.analysis.user.object_state import Fingerprints, received, sent
from mdreel.analysis.user.user_functions import Batch, Fold, FrameError, describe_error, pickle_by_value
from mdreel.analysis.user.worker_task import Start, Task
from mdreel.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from MDAnalysis import Universe
    from numpy.typing import NDArray

    from mdreel.analysis.user.worker_task import Known
    from mdreel.results.results import Results

_OURS = frozenset(
    {"_atomgroup", "_selection", "_reads", "_trajectory", "_given_trajectory", "_outcome", "results"}
    | {"_reader", "_frame_index", "_ts"}
)
"""Attributes that are set by mdreel and not by user code."""


class OwnAnalysis(Protocol):
    """The interface of a user analysis for workers."""

    results: Results

    def begun(self, n_frames: int) -> Self:
        """Return a copy that is prepared for a block of frames."""

    def look(self, index: int, ts: Any) -> None:
        """Analyse the next frame."""


class _Worker:
    """The analysis of a worker, with its own Universe."""

    def __init__(self, task: Task) -> None:
        from mdreel.analysis.user.worker_universe import universe_of

        self._task = task
        self._universe = universe_of(pickle.loads(task.topology), task.atoms, task.known)  # noqa: S301 (ours)
        self.trajectory = self._universe.trajectory
        self._analysis: OwnAnalysis
        self._receive()

    def begun(self, n_frames: int) -> OwnAnalysis:
        """Return a copy of the analysis that is prepared for a block of frames."""
        self._check()
        self.trajectory.show_start(self._task.start)
        return self._analysis.begun(n_frames)

    def look(self, analysis: OwnAnalysis, n_done: int, batch: Batch) -> None:
        """Let an analysis process the frames of a batch after `n_done` earlier frames of the block."""
        show, ts = self.trajectory.show, self.trajectory.ts
        for i, cell in enumerate(batch.cells):
            has_cell = not np.isnan(cell).any()
            show(int(batch.frames[i]), float(batch.times[i]), cell if has_cell else None, batch.positions[i])
            try:
                analysis.look(n_done + i, ts)
                self._check()
            except Exception as error:
                raise FrameError(i, describe_error(error)) from error

    def finished(self, analysis: OwnAnalysis, n_frames: int) -> Block:
        """Return the attributes that a copy of the analysis set, and restore the state shared with later copies."""
        state = _state_of(analysis)
        names, is_stale = self._fingerprints.compared(state)
        kept = {name: self._kept(state[name]) for name in names} if self._task.is_in_order else {}
        if is_stale:
            self._receive()
        return Block(analysis.results, n_frames, names, kept)

    def _kept(self, value: Any) -> Any:
        """Return an attribute as bytes without the Universe, or unchanged if it cannot be pickled."""
        try:
            return sent(value, "an attribute", self._universe)
        except UnsupportedError:
            return value

    def _receive(self) -> None:
        kind, state = received(self._task.analysis, self._universe)
        self._analysis = kind.__new__(kind)
        vars(self._analysis).update(state, _trajectory=self.trajectory)
        self._fingerprints = Fingerprints(_state_of(self._analysis))

    def _check(self) -> None:
        if self._universe.trajectory is not self.trajectory:
            raise RuntimeError("the trajectory of a worker's Universe was replaced: make another Universe for that")


def _state_of(analysis: Any) -> Mapping[str, Any]:
    return {name: value for name, value in vars(analysis).items() if name not in _OURS}


@dataclass(frozen=True)
class _UnfinishedBlock:
    """An analysis of a block that is not complete yet."""

    worker: _Worker
    analysis: OwnAnalysis
    n_frames: int

    def finished(self) -> Block:
        """Return the block with the results of the frames analysed so far."""
        return self.worker.finished(self.analysis, self.n_frames)

    def __reduce__(self) -> tuple[Any, ...]:
        done = self.finished()
        return Block, (done.results, done.n_frames, done.changed, done.kept)


class FramesFold(Fold):
    """A fold that calls a user analysis for each frame.

    Parameters
    ----------
    task : Task
        The task that workers receive.

    Attributes
    ----------
    origin : object
        Class and state of the analysis. This attribute is set only in the calling process.
    """

    origin: object = None

    def __init__(self, task: Task) -> None:
        self._task = task
        # By thread. A threading.local would be lost whenever a thread of the core leaves Python.
        self._workers: dict[int, _Worker] = {}

    @classmethod
    def of(
        cls,
        analysis: bytes,
        universe: Universe,
        atoms: NDArray[np.uint32],
        known: Known,
        by_batch: bool,
        is_in_order: bool,
    ) -> Self:
        """Return the fold that calls a pickled analysis on copies of a Universe. See `Task`."""
        # MDAnalysis has no public name for the topology of a Universe.
        topology = pickle_by_value(universe._topology, "the topology")  # noqa: SLF001
        return cls(Task(analysis, topology, Start.of(universe), atoms, known, by_batch, is_in_order))

    def digested(self) -> object:
        """Return the inputs that determine the results for checkpoint digests, because class pickles are not stable."""
        task = self._task
        return self.origin, task.start, task.atoms, task.known, task.by_batch

    def added(self, value: Sequence[FinishableBlock] | None, batch: Batch) -> list[FinishableBlock]:
        """Process the frames of a batch."""
        done = [*(value or ())]
        n_frames = len(batch.frames) if self._task.by_batch else batch.n_block_frames
        under_way = done.pop() if done and isinstance(done[-1], _UnfinishedBlock) else self._begun(n_frames)
        assert isinstance(under_way, _UnfinishedBlock)
        under_way.worker.look(under_way.analysis, under_way.n_frames, batch)
        under_way = _UnfinishedBlock(under_way.worker, under_way.analysis, under_way.n_frames + len(batch.frames))
        return [*done, under_way.finished() if under_way.n_frames == n_frames else under_way]

    def merged(self, value: Sequence[FinishableBlock], following: Sequence[FinishableBlock]) -> list[Block]:
        """Return the finished blocks in frame order."""
        return blocks_of([*value, *following])

    def _begun(self, n_frames: int) -> _UnfinishedBlock:
        worker = self._worker()
        try:
            return _UnfinishedBlock(worker, worker.begun(n_frames), 0)
        except Exception as error:
            raise FrameError(0, f"_prepare: {describe_error(error)}") from error

    def _worker(self) -> _Worker:
        """Return the worker of this thread."""
        thread = threading.get_ident()
        if thread not in self._workers:
            self._workers[thread] = _Worker(self._task)
        return self._workers[thread]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._task,)
