"""Base class of analyses that users write frame by frame."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, FrameSet, Source, fold
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.user.block_results import Aggregator, ConcatenatingAggregator, blocks_of, check_blocks
from mdreel.analysis.user.frames_fold import FramesFold
from mdreel.analysis.user.object_state import FrameAttribute, guard_attributes, sent
from mdreel.analysis.user.referenced_atoms import atoms_held
from mdreel.analysis.user.user_functions import value_or_raise
from mdreel.analysis.user.worker_task import Known
from mdreel.errors import FunctionError
from mdreel.execution.job import Outcome
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.results.results import Results
from mdreel.timing.spans import SPAN
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

_NOT_SENT = ("_outcome", "_trajectory", "results")
"""Attributes of an analysis that are not sent to workers."""


class AnalysisBase(Analysis):
    """Base class of analyses that compute one frame at a time, like the class of the same name in MDAnalysis.

    A subclass implements `_single_frame` and optionally `_prepare`, `_conclude` and `_get_aggregator`. It stores its
    results in ``self.results``.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms, available as ``self.atomgroup``.
    reads : MDAnalysis.AtomGroup or sequence of AtomGroup, optional
        Further atoms whose positions mdreel must read, such as ``universe.atoms`` for selections by distance. You need
        not name groups that are attributes of the analysis.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made from a topology alone is then enough.

    Attributes
    ----------
    results : Results
        Results of the subclass, after `run`.

    Raises
    ------
    SelectionError, UnsupportedError
        If the group has no atoms, or is an updating group. `run` raises `FunctionError`, which names the frame, if the
        code of the subclass fails, accesses data that was not read, or leaves no results. It raises `MismatchError` if
        the results of the blocks cannot be merged.

    Notes
    -----
    mdreel splits the trajectory into blocks. For each block, a worker copies the analysis, calls `_prepare` once and
    `_single_frame` for each frame. Then the results of all blocks are merged, and `_conclude` runs in the process that
    called `run`. These attributes are available:

    * In `_prepare` and `_single_frame`, ``self.n_frames`` is the number of frames of the block. ``self.frames`` and
      ``self.times`` are filled up to the current frame.
    * In `_single_frame`, ``self._frame_index`` is the index of the frame in the block, from 0, and ``self._ts`` is the
      MDAnalysis timestep.
    * In `_conclude`, ``self.n_frames``, ``self.frames`` and ``self.times`` describe all frames.

    In a worker, the atom groups of the analysis belong to a copy of the Universe with the same topology. mdreel reads
    the atoms of all groups, atoms, residues and bonds that are attributes (also in lists, dictionaries and sets), and
    those of `reads`. Access to the positions of any other atom raises an error. So does access to velocities and forces
    if the trajectory has them, to the time between frames, and to any frame other than the current one. The cell is
    that of the frame. In `_prepare`, all atoms have the positions that they had when `run` was called.

    Workers return only `results`. It is an error if `results` is empty, or if `_conclude` reads another attribute that
    a worker has set. A class that only has side effects, such as writing a file for each frame, sets its class
    attribute ``_has_results = False``. If a worker is lost, its block is computed again, so such code may run more than
    once for a frame.

    By default, arrays with one entry for each frame and lists of any length are concatenated. For other results,
    `_get_aggregator` returns an ``MDAnalysis.analysis.results.ResultsGroup`` that merges them. The last bits of
    floating-point sums then depend on the blocks, whose number grows with the number of workers. With a fixed
    ``run(n_parts=...)``, all executors give the same bits. Each block must have the same results.

    Memory: the size of the results, and twice that while they are merged. If the trajectory still grows, or frames
    may be left out (``on_error``), the number of frames of a block is unknown. A block is then the few frames that are
    read at a time.

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

    _has_results: ClassVar[bool] = True
    """Whether the class produces results; if so, a run without results is an error."""

    _frame_index: Any = FrameAttribute()
    _ts: Any = FrameAttribute()

    @checked_arguments
    def __init__(
        self,
        atomgroup: AtomGroup,
        *,
        reads: AtomGroup | Sequence[AtomGroup] = (),
        trajectory: Trajectory | None = None,
    ) -> None:
        super().__init__(atomgroup, trajectory)
        self._reads = reads

    def _prepare(self) -> None:
        """Prepare for the frames of a block; each worker calls this once for each block."""

    def _single_frame(self) -> None:
        """Analyse the current frame."""
        raise NotImplementedError(f"{type(self).__name__} has no _single_frame()")

    def _conclude(self) -> None:
        """Finish the merged results; called once, in the process that called `run`."""

    def _get_aggregator(self) -> Aggregator:
        """Return the aggregator that merges the results of consecutive blocks."""
        return ConcatenatingAggregator()

    @property
    def boundaries(self) -> Boundaries:
        """What the analysis requires of molecules that the cell boundary may cut; nothing by default."""
        return Boundaries("a subclass declares what it requires")

    @property
    def atoms(self) -> NDArray[np.uint32]:
        """Indices of the atoms of all groups that the analysis holds, ascending."""
        return atoms_held(vars(self), self.atomgroup.universe)

    def computation(self, source: Source) -> Computation:
        """Return the computation that calls the subclass for each frame."""
        if self._single_frame.__func__ is AnalysisBase._single_frame:  # type: ignore[attr-defined]
            self._single_frame()
        # Before such a block has been read, only the number of frames of a batch is known.
        by_batch = source.is_growing or source.on_error != "raise"
        # Reading n_frames locates all frames, which also gives the number of frames of each block.
        n_frames = None if by_batch else source.n_frames
        atoms = self.atoms
        frames = FramesFold.of(self.sent(), self.atomgroup.universe, atoms, self._known(source, n_frames), by_batch)
        frames.origin = type(self), self._state()
        return fold(frames, len(atoms), np.arange(len(atoms), dtype=np.uint32))

    def conclude(self, tally: Tally) -> None:
        """Merge the results of the blocks, then call `_conclude` of the subclass."""
        blocks = blocks_of(value_or_raise(tally.own))
        changed = frozenset().union(*(block.changed for block in blocks))
        self.results = Results()
        with guard_attributes(self, changed) if changed else nullcontext():
            aggregator = self._get_aggregator()
            check_blocks(aggregator, blocks)
            self.results.update(aggregator.merge([block.results for block in blocks]))
            if self._has_results and not self.results:
                raise FunctionError(self._left_nothing(changed))
            self._conclude()

    def _known(self, source: Source, n_frames: int | None) -> Known:
        """Return the facts about the trajectory that workers need."""
        quantities = set(source.quantities) - {"positions"}
        if quantities and n_frames is not None:  # the format may support quantities that this file lacks
            first = source.read(FrameSet.range(0, 1, 1), self.atoms[:1], sorted(quantities))
            quantities = {name for name in quantities if getattr(first, f"has_{name}").any()}
        if self._trajectory is None:  # a Universe in memory may have more quantities than the source
            ts = self.atomgroup.universe.trajectory.ts
            quantities |= {name for name in ("velocities", "forces") if getattr(ts, f"has_{name}")}
        return Known(n_frames, frozenset(quantities))

    def _left_nothing(self, changed: frozenset[str]) -> str:
        kind = type(self).__name__
        kept = ", ".join(f"self.{name}" for name in sorted(changed))
        where = f"; it has set {kept}, which stays in the workers" if kept else ""
        return (
            f"{kind}: _single_frame has left nothing in self.results{where}. Expected: "
            "self.results.values = np.zeros(self.n_frames) in _prepare, and "
            "self.results.values[self._frame_index] = ... in _single_frame. If the class only has side effects, such "
            "as writing files, set its class attribute _has_results = False"
        )

    def begun(self, n_frames: int) -> Self:
        """Return a copy that is prepared for a block of frames; called by workers."""
        begun = copy.copy(self)
        begun.make_ready(n_frames)
        return begun

    def make_ready(self, n_frames: int) -> None:
        """Prepare this copy for a block of frames; called by workers."""
        self.results = Results()
        self._outcome = Outcome(np.zeros((n_frames, 2)), np.empty(0), np.empty(0, np.uint64), (), np.empty(0, SPAN))
        self._prepare()

    def look(self, index: int, ts: Any) -> None:
        """Analyse the next frame; called by workers."""
        self._frame_index, self._ts = index, ts
        self._done().rows[index] = ts.frame, ts.time
        self._single_frame()

    def sent(self) -> bytes:
        """Return the class and state as bytes for workers, without the Universe."""
        return sent((type(self), self._state()), "the analysis", self.atomgroup.universe)

    def _state(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _NOT_SENT}
