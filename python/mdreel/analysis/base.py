"""Analyses that users write frame by frame, as subclasses, with an AtomGroup of the worker's."""

import copy
import io
import pickle
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, Source, fold
from mdreel.analysis.analysis import Analysis, Trajectory
from mdreel.analysis.own_code import Batch, Fold, FrameError, packed, said, whole_of
from mdreel.analysis.tally import Tally
from mdreel.errors import MismatchError, UnsupportedError
from mdreel.executors.job import Outcome
from mdreel.results.results import Results
from mdreel.spans import SPAN

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe

_STAYS = ("_outcome", "_trajectory", "results")
"""What of an analysis is not sent to workers."""


class Aggregator(Protocol):
    """Makes one of the results of consecutive frames, as MDAnalysis's ``ResultsGroup`` does."""

    def merge(self, objects: Sequence[Any]) -> Any:
        """Return the results of all, in the order of the frames."""


class AnalysisBase(Analysis):
    """An analysis that a subclass computes frame by frame, as with MDAnalysis's class of this name.

    A subclass has `_single_frame`, and may have `_prepare`, `_conclude` and `_get_aggregator`. What it keeps is in
    ``self.results``.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms, which are ``self.atomgroup`` there.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made of a topology alone is enough then.

    Attributes
    ----------
    results : Results
        What the subclass has left, after `run`.

    Raises
    ------
    SelectionError, UnsupportedError
        If the group has no atoms, or its atoms change.

    Notes
    -----
    The trajectory is cut into blocks. For each, a worker makes a copy of the analysis, calls `_prepare`, and
    `_single_frame` for each frame; then results of all blocks become one, and `_conclude` is called where `run` was.
    Meanwhile there is

    * in `_prepare` and `_single_frame` ``self.n_frames``: frames of the block, and ``self._frame_index``: which of them
      it is, from 0; ``self.frames`` and ``self.times``, as far as they have come; ``self._ts``, MDAnalysis's timestep;
    * in `_conclude` ``self.n_frames``, ``self.frames`` and ``self.times`` of all.

    Groups of atoms that the analysis holds, also in lists and dictionaries, are of a Universe of the worker's, which
    has the topology. Positions and cell are those of the frame, as mdreel reads them: of the atoms of all these groups;
    others have NaN. In `_prepare` all are where they were when `run` was called. Velocities and forces there are none.

    By default arrays and lists with an entry for each frame are put behind one another, and any other lists, too. For
    whatever else, `_get_aggregator` says how parts become one, by ``MDAnalysis.analysis.results.ResultsGroup``. Sums of
    floats then depend, in their last bits, on the blocks, of which there are more with more workers:
    ``run(n_parts=...)`` fixes them, and all executors give the same bits. Memory: that of the results, twice while they
    become one. Where frames are still to come, or may be left out (``on_error``), nobody knows how many a block has:
    then a block is the few frames that are read at a time.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import numpy as np
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> class EndToEnd(mdreel.AnalysisBase):
    ...     def _prepare(self):
    ...         self.results.distance = np.zeros(self.n_frames)
    ...
    ...     def _single_frame(self):
    ...         first, last = self.atomgroup.positions[[0, -1]]
    ...         self.results.distance[self._frame_index] = np.linalg.norm(last - first)
    >>> ends = EndToEnd(mda.Universe(PSF, DCD).select_atoms("name CA")).run(step=10)
    >>> ends.results.distance.shape
    (10,)
    """

    _frame_index: int
    _ts: Any

    def __init__(self, atomgroup: "AtomGroup", *, trajectory: Trajectory | None = None) -> None:
        super().__init__(atomgroup, trajectory)

    def _prepare(self) -> None:
        """Make ready for some frames; called by each worker, for each block."""

    def _single_frame(self) -> None:
        """Look at a frame."""
        raise NotImplementedError(f"{type(self).__name__} has no _single_frame()")

    def _conclude(self) -> None:
        """Finish the results of all frames; called once, where `run` was."""

    def _get_aggregator(self) -> Aggregator:
        """Return what makes one of the results of consecutive frames."""
        return _Joined()

    @property
    def atoms(self) -> NDArray[np.uint32]:
        """The atoms that workers are given: those of all groups that the analysis holds, ascending."""
        groups = [*_groups_in(vars(self))]
        for group in groups:
            if "UpdatingAtomGroup" in {kind.__name__ for kind in type(group).__mro__}:
                raise UnsupportedError(
                    "an UpdatingAtomGroup needs all atoms of each frame: select without updating=True"
                )
        own = [group.atoms.ix for group in groups if group.universe is self.atomgroup.universe]
        return np.unique(np.concatenate(own)).astype(np.uint32)

    def computation(self, source: Source) -> Computation:
        """Return what calls the subclass for each frame."""
        if self._single_frame.__func__ is AnalysisBase._single_frame:  # type: ignore[attr-defined]
            self._single_frame()
        # Of a block nobody knows how many frames come, or can be read; of those that are handed over at once, one does.
        by_batch = source.is_growing or source.on_error != "raise"
        if not by_batch:
            _ = source.n_frames  # whoever knows where frames are knows how many a block has
        return fold(_Frames.of(self, by_batch), len(self.atoms), np.arange(len(self.atoms), dtype=np.uint32))

    def conclude(self, tally: Tally) -> None:
        """Put results of blocks together, and have the subclass conclude."""
        blocks: list[_Block | _UnderWay] = whole_of(tally.own)
        self.results = Results()
        self.results.update(self._get_aggregator().merge([_results_of(block) for block in blocks]))
        self._conclude()

    def begun(self, n_frames: int) -> Self:
        """Return a copy that is prepared for some frames; called by workers."""
        begun = copy.copy(self)
        begun.make_ready(n_frames)
        return begun

    def make_ready(self, n_frames: int) -> None:
        """Make room for some frames; called by workers."""
        self.results = Results()
        self._outcome = Outcome(np.zeros((n_frames, 2)), np.empty(0), np.empty(0, np.uint64), (), np.empty(0, SPAN))
        self._prepare()

    def look(self, index: int, ts: Any) -> None:
        """Look at the next frame; called by workers."""
        self._frame_index, self._ts = index, ts
        self._done().rows[index] = ts.frame, ts.time
        self._single_frame()

    def sent(self) -> bytes:
        """Return what a worker needs of it, without its Universe."""
        state = {name: value for name, value in vars(self).items() if name not in _STAYS}
        return packed((type(self), state), "the analysis", _without(self.atomgroup.universe))

    @classmethod
    def received(cls, content: bytes, universe: "Universe") -> "AnalysisBase":
        """Return what was sent, over a Universe of the worker's."""

        class Unpickler(pickle.Unpickler):
            def persistent_load(self, _: object) -> Any:
                return universe

        kind, state = Unpickler(io.BytesIO(content)).load()
        analysis: AnalysisBase = kind.__new__(kind)
        vars(analysis).update(state, _trajectory=universe.trajectory)
        return analysis


def _without(universe: "Universe") -> type:
    """Return what pickles something without a Universe."""
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def persistent_id(self, one: object) -> str | None:
            return "the Universe" if one is universe else None

    return Pickler


@dataclass(frozen=True)
class _Block:
    """What an analysis has left of the frames of a block."""

    results: Results


@dataclass(frozen=True)
class _UnderWay:
    """An analysis of the frames of a block, of which some may be to come."""

    analysis: AnalysisBase
    n_frames: int

    def __reduce__(self) -> tuple[Any, ...]:
        return _Block, (self.analysis.results,)


def _results_of(block: _Block | _UnderWay) -> Results:
    return block.results if isinstance(block, _Block) else block.analysis.results


class _Frames(Fold):
    """Calls an analysis for each frame.

    Parameters
    ----------
    analysis : bytes
        The analysis, as it is sent.
    topology : bytes
        The topology of its Universe.
    positions : ndarray, shape (n_atoms, 3), float32
        Where all atoms are before the first frame, Å.
    atoms : ndarray, shape (n_given,), uint32
        Which of them frames say.
    by_batch : bool
        Whether the frames of each batch have an analysis of their own, and not those of a block.
    """

    def __init__(
        self,
        analysis: bytes,
        topology: bytes,
        positions: NDArray[np.float32],
        atoms: NDArray[np.uint32],
        by_batch: bool,
    ) -> None:
        self._given = analysis, topology, positions, atoms, by_batch
        self._analysis: AnalysisBase | None = None
        # Of each thread. What Python keeps for a thread of the core (threading.local) ends whenever that leaves Python.
        self._workers: dict[int, AnalysisBase] = {}

    @classmethod
    def of(cls, analysis: AnalysisBase, by_batch: bool) -> Self:
        """Return what calls copies of an analysis."""
        universe = analysis.atomgroup.universe
        positions = np.full((len(universe.atoms), 3), np.nan, np.float32)
        ts = getattr(getattr(universe, "trajectory", None), "ts", None)
        if ts is not None and ts.has_positions:
            positions[:] = ts.positions
        # MDAnalysis has no public name for it; it is what a Universe is made of.
        topology = packed(universe._topology, "the topology")  # noqa: SLF001
        made = cls(analysis.sent(), topology, positions, analysis.atoms, by_batch)
        made._analysis = analysis
        return made

    def digested(self) -> Any:
        """Return what decides the results, for the digest of a checkpoint: pickles of classes differ each time."""
        state = {name: value for name, value in vars(self._analysis).items() if name not in _STAYS}
        return type(self._analysis), state, *self._given[2:]

    def added(self, value: list[_Block | _UnderWay] | None, batch: Batch) -> list[_Block | _UnderWay]:
        """Look at the frames of a batch."""
        if self._given[4]:
            analysis = self._begun(len(batch.frames))
            self._look(analysis, 0, batch)
            return [*(value or ()), _Block(analysis.results)]
        under_way = value[0] if value else None
        if not isinstance(under_way, _UnderWay):
            under_way = _UnderWay(self._begun(batch.n_block_frames), 0)
        self._look(under_way.analysis, under_way.n_frames, batch)
        return [_UnderWay(under_way.analysis, under_way.n_frames + len(batch.frames))]

    def _look(self, analysis: AnalysisBase, n_done: int, batch: Batch) -> None:
        """Have an analysis look at the frames of a batch, behind those that it has seen."""
        atoms = self._given[3]
        ts = analysis.atomgroup.universe.trajectory.ts
        if not n_done:
            ts.positions = np.float32(np.nan)
        for i, cell in enumerate(batch.cells):
            ts.positions[atoms] = batch.positions[i]
            ts.frame, ts.time = int(batch.frames[i]), float(batch.times[i])
            ts.dimensions = None if np.isnan(cell).any() else cell
            try:
                analysis.look(n_done + i, ts)
            except Exception as error:
                raise FrameError(i, said(error)) from error

    def merged(self, value: list[_Block | _UnderWay], following: list[_Block | _UnderWay]) -> list[_Block]:
        """Keep what is left of each block, in their order."""
        return [_Block(_results_of(one)) for one in (*value, *following)]

    def _begun(self, n_frames: int) -> AnalysisBase:
        worker = self._worker()
        worker.atomgroup.universe.trajectory.ts.positions = self._given[2]
        try:
            return worker.begun(n_frames)
        except Exception as error:
            raise FrameError(0, f"_prepare: {said(error)}") from error

    def _worker(self) -> AnalysisBase:
        """Return the analysis of this thread, over a Universe of its own."""
        thread = threading.get_ident()
        if thread not in self._workers:
            import MDAnalysis as mda
            from MDAnalysis.coordinates.memory import MemoryReader

            content, topology, positions, *_ = self._given
            universe = mda.Universe(pickle.loads(topology), positions[np.newaxis].copy(), format=MemoryReader)  # noqa: S301
            self._workers[thread] = AnalysisBase.received(content, universe)
        return self._workers[thread]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._given


class _Joined:
    """Puts what has an entry for each frame, and lists, behind one another."""

    def merge(self, objects: Sequence[Results]) -> Results:
        """Return the results of all."""
        if len(objects) == 1:
            return objects[0]
        return Results(**{name: self._joined(name, [one[name] for one in objects]) for name in objects[0]})

    def _joined(self, name: str, parts: list[Any]) -> Any:
        if all(isinstance(part, list) for part in parts):
            return [*chain.from_iterable(parts)]
        if not all(isinstance(part, np.ndarray) and part.ndim for part in parts):
            kind = type(parts[0]).__name__
            raise MismatchError(
                f"results.{name} is of {kind}: _get_aggregator must say how those of several blocks become one"
            )
        shapes = sorted({part.shape[1:] for part in parts})
        if len(shapes) > 1:
            raise MismatchError(f"results.{name} has entries of different shapes: {', '.join(map(str, shapes))}")
        return np.concatenate(parts)


def _groups_in(value: Any) -> Iterator[Any]:
    """Find groups of atoms, residues or segments in what an analysis holds."""
    if isinstance(value, dict):
        yield from chain.from_iterable(map(_groups_in, value.values()))
    elif isinstance(value, (list, tuple)):
        yield from chain.from_iterable(map(_groups_in, value))
    elif "GroupBase" in {kind.__name__ for kind in type(value).__mro__}:
        yield value
