"""Base class of analyses that users write frame by frame."""

import copy
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, FrameSet, Source, fold
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.user.block_results import Aggregator, Joined, blocks_of, check_blocks
from mdreel.analysis.user.frames_fold import FramesFold
from mdreel.analysis.user.object_state import OfFrame, raising_for, sent
from mdreel.analysis.user.referenced_atoms import atoms_held
from mdreel.analysis.user.user_functions import whole_of
from mdreel.analysis.user.worker_task import Known
from mdreel.errors import FunctionError
from mdreel.execution.job import Outcome
from mdreel.execution.tally import Tally
from mdreel.results.results import Results
from mdreel.timing.spans import SPAN
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

_STAYS = ("_outcome", "_trajectory", "results")
"""What of an analysis is not sent to workers."""


class AnalysisBase(Analysis):
    """An analysis that a subclass computes frame by frame, as with MDAnalysis's class of this name.

    A subclass has `_single_frame`, and may have `_prepare`, `_conclude` and `_get_aggregator`. What it keeps is in
    ``self.results``.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms, which are ``self.atomgroup`` there.
    reads : MDAnalysis.AtomGroup or sequence of AtomGroup, optional
        Further atoms that frames are looked at for, such as ``universe.atoms`` where atoms are selected by where they
        are. Groups that the analysis holds need not be named.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made of a topology alone is enough then.

    Attributes
    ----------
    results : Results
        What the subclass has left, after `run`.

    Raises
    ------
    SelectionError, UnsupportedError
        If the group has no atoms, or its atoms change. When it is run: `FunctionError`, which names the frame, if code
        of the subclass raises, as it does where it looks at what was not read, or if it leaves nothing; `MismatchError`
        if the results of blocks cannot become one.

    Notes
    -----
    The trajectory is cut into blocks. For each, a worker makes a copy of the analysis, calls `_prepare`, and
    `_single_frame` for each frame; then results of all blocks become one, and `_conclude` is called where `run` was.
    Meanwhile there is

    * in `_prepare` and `_single_frame` ``self.n_frames``: frames of the block, and ``self._frame_index``: which of them
      it is, from 0; ``self.frames`` and ``self.times``, as far as they have come; ``self._ts``, MDAnalysis's timestep;
    * in `_conclude` ``self.n_frames``, ``self.frames`` and ``self.times`` of all.

    Groups of atoms that the analysis holds are of a Universe of the worker's, which has the topology. mdreel reads the
    atoms of all groups, atoms, residues and bonds that are attributes, also in lists, dictionaries and sets, and those
    of `reads`. Positions of any other atom raise, whichever way they are looked at, as do velocities and forces if the
    trajectory has some, the time between frames, and any other frame than the one at hand. The cell is that of the
    frame. In `_prepare` all atoms are where they were when `run` was called.

    Only `results` comes back from workers: it is an error if that is empty, and if `_conclude` reads another attribute
    that a worker has set. A class that only has side effects, such as writing a file for each frame, sets its class
    attribute ``_has_results = False``; a block that a worker has lost is done again, so such code may be called more
    than once for a frame.

    By default arrays and lists with an entry for each frame are put behind one another, and any other lists, too. For
    whatever else, `_get_aggregator` says how parts become one, by ``MDAnalysis.analysis.results.ResultsGroup``. Sums of
    floats then depend, in their last bits, on the blocks, of which there are more with more workers:
    ``run(n_parts=...)`` fixes them, and all executors give the same bits. Each block must have the same results.
    Memory: that of the results, twice while they become one. Where frames are still to come, or may be left out
    (``on_error``), nobody knows how many a block has: then a block is the few frames that are read at a time.

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
    """Whether frames leave something in `results`; a run that leaves nothing is an error then."""

    _frame_index: Any = OfFrame()
    _ts: Any = OfFrame()

    def __init__(
        self,
        atomgroup: "AtomGroup",
        *,
        reads: "AtomGroup | Sequence[AtomGroup]" = (),
        trajectory: Trajectory | None = None,
    ) -> None:
        super().__init__(atomgroup, trajectory)
        self._reads = reads

    def _prepare(self) -> None:
        """Make ready for some frames; called by each worker, for each block."""

    def _single_frame(self) -> None:
        """Look at a frame."""
        raise NotImplementedError(f"{type(self).__name__} has no _single_frame()")

    def _conclude(self) -> None:
        """Finish the results of all frames; called once, where `run` was."""

    def _get_aggregator(self) -> Aggregator:
        """Return what makes one of the results of consecutive frames."""
        return Joined()

    @property
    def boundaries(self) -> Boundaries:
        """What it requires of molecules that the cell may cut: nothing, unless a subclass declares it."""
        return Boundaries("a subclass declares what it requires")

    @property
    def atoms(self) -> NDArray[np.uint32]:
        """The atoms that workers are given: those of all groups that the analysis holds, ascending."""
        return atoms_held(vars(self), self.atomgroup.universe)

    def computation(self, source: Source) -> Computation:
        """Return what calls the subclass for each frame."""
        if self._single_frame.__func__ is AnalysisBase._single_frame:  # type: ignore[attr-defined]
            self._single_frame()
        # The number of frames of such a block is unknown before it has been read; that of a batch is known.
        by_batch = source.is_growing or source.on_error != "raise"
        # Locating all frames also tells how many each block has.
        n_frames = None if by_batch else source.n_frames
        atoms = self.atoms
        frames = FramesFold.of(self.sent(), self.atomgroup.universe, atoms, self._known(source, n_frames), by_batch)
        frames.origin = type(self), self._state()
        return fold(frames, len(atoms), np.arange(len(atoms), dtype=np.uint32))

    def conclude(self, tally: Tally) -> None:
        """Put results of blocks together, and have the subclass conclude."""
        blocks = blocks_of(whole_of(tally.own))
        changed = frozenset().union(*(block.changed for block in blocks))
        self.results = Results()
        with raising_for(self, changed) if changed else nullcontext():
            aggregator = self._get_aggregator()
            check_blocks(aggregator, blocks)
            self.results.update(aggregator.merge([block.results for block in blocks]))
            if self._has_results and not self.results:
                raise FunctionError(self._left_nothing(changed))
            self._conclude()

    def _known(self, source: Source, n_frames: int | None) -> Known:
        """Return what workers are told of the trajectory."""
        quantities = set(source.quantities) - {"positions"}
        if quantities and n_frames is not None:  # a format may have what the file does not
            first = source.read(FrameSet.range(0, 1, 1), self.atoms[:1], sorted(quantities))
            quantities = {name for name in quantities if getattr(first, f"has_{name}").any()}
        if self._trajectory is None:  # in memory, the Universe may have more than the source
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
        return sent((type(self), self._state()), "the analysis", self.atomgroup.universe)

    def _state(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _STAYS}
