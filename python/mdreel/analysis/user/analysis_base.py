"""Base class for user-defined analyses that process one frame at a time."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import takewhile
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, FrameSet, Source, fold
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.user.block_results import Aggregator, Block, ConcatenatingAggregator, blocks_of, check_blocks
from mdreel.analysis.user.frames_fold import FramesFold
from mdreel.analysis.user.object_state import FrameAttribute, guard_attributes, received, sent
from mdreel.analysis.user.referenced_atoms import atoms_held, is_reader, universe_held
from mdreel.analysis.user.user_functions import value_or_raise
from mdreel.analysis.user.worker_task import Known
from mdreel.errors import FunctionError, MismatchError, UnsupportedError
from mdreel.execution.job import Outcome
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments_but
from mdreel.results.results import Results
from mdreel.timing.spans import SPAN
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe
    from MDAnalysis.coordinates.base import ProtoReader

_NOT_SENT = ("_outcome", "_trajectory", "_given_trajectory", "results")
"""Attributes of an analysis that are not sent to workers."""

_PARALLELIZABLE = "_analysis_algorithm_is_parallelizable"
"""Attribute with which an MDAnalysis class declares that its frames may be analysed in any order."""


class AnalysisBase(Analysis):
    """Base class for analyses that process one frame at a time, like the class of the same name in MDAnalysis.

    To write an analysis, implement `_single_frame` and optionally `_prepare`, `_conclude` and `_get_aggregator` in a
    subclass. You can store your results in ``self.results``.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup, or MDAnalysis.coordinates.base.ProtoReader
        The atoms, available as ``self.atomgroup``. You can use an UpdatingAtomGroup here. As with MDAnalysis's class,
        you can also pass the trajectory of a Universe. See the notes.
    verbose : bool
        Whether `run` shows a progress bar by default.
    reads : MDAnalysis.AtomGroup or sequence of AtomGroup, optional
        Additional atoms whose positions are needed, such as ``universe.atoms`` for selections by distance. You do not
        need to list groups that are attributes of the analysis.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.

    Attributes
    ----------
    results : Results
        Results of the subclass, after `run`.

    Raises
    ------
    SelectionError
        When the group has no atoms.
    MismatchError
        When you pass `reads` or `trajectory` together with a trajectory instead of a group. In `run`, when the results
        of the blocks cannot be merged, or your analysis of a trajectory has no atoms of its Universe as attributes.
    UnsupportedError
        When the selection of an updating group cannot be evaluated. In `run`, when your class needs all frames in
        order, but this is not possible with the arguments of `run`.
    FunctionError
        In `run`, when your code fails, accesses data that was not read, or does not store any results. You will find
        the frame in the message.

    Notes
    -----
    The trajectory is split into blocks. For each block, a worker copies the analysis, calls `_prepare` once, and then
    calls `_single_frame` for each frame. Finally, the results of all blocks are merged, and `_conclude` runs in the
    process that called `run`. You can use these attributes:

    * In `_prepare` and `_single_frame`, ``self.n_frames`` is the number of frames of the block. ``self.frames`` and
      ``self.times`` are filled up to the current frame.
    * In `_single_frame`, ``self._frame_index`` is the index of the frame in the block, starting from 0, and
      ``self._ts`` is the MDAnalysis timestep.
    * In `_conclude`, ``self.n_frames``, ``self.frames`` and ``self.times`` describe all frames.

    In a worker, the atom groups of your analysis belong to a copy of the Universe with the same topology. The atoms in
    `reads` will be read, together with those of all groups, atoms, residues and bonds that are attributes, including
    those in lists, dictionaries and sets. If your code accesses the positions of any other atom, an error is raised.
    Likewise, it cannot access velocities and forces (if the trajectory has them), the time between frames, or any frame
    other than the current one. The cell is always that of the current frame. In `_prepare`, you can access the
    positions that all atoms had when `run` was called. However, updating groups cannot be used yet. The atoms of an
    updating group are selected in each frame by MDAnalysis. To make this possible, all atoms of the group to which the
    selection is applied will be read.

    If you have written a subclass for MDAnalysis that calls ``super().__init__(atomgroup.universe.trajectory)``, you
    can run it unchanged. Its Universe is found using the groups that are attributes, and all atoms of this Universe are
    read. MDAnalysis runs such a class serially unless it declares ``_analysis_algorithm_is_parallelizable = True``.
    Without this declaration, mdreel also analyses all frames in order in one block, and keeps all attributes that the
    class sets. You should then use ``"serial"`` or the default executor.

    Workers only return the contents of `results`. An error is raised if `results` is empty, or `_conclude` reads any
    other attribute that a worker has set. If your class only has side effects, such as writing a file per frame, set
    its class attribute ``_has_results = False``. Note that your code may run more than once for a frame, since the
    blocks of a lost worker have to be computed again.

    By default, arrays with one entry per frame and lists of any length are concatenated. For other results, you can
    return an ``MDAnalysis.analysis.results.ResultsGroup`` that merges them from `_get_aggregator`. Note that
    floating-point sums can then differ in their last bits, because the number of blocks grows with the number of
    workers. To obtain bitwise identical results for all executors, you can fix the number of blocks using
    ``run(n_parts=...)``. All blocks must store results under the same names.

    You will need enough memory for the results, and twice as much while they are merged. If the trajectory is still
    growing, or frames may be skipped (``on_error``), the number of frames in a block is unknown. A block then consists
    of the few frames that are read at a time.

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
    """Whether the class produces results. If so, a run without results raises an error."""

    _may_change = True
    needs_frame_numbers = True  # a subclass can always read `ts.frame`

    _frame_index: Any = FrameAttribute()
    _ts: Any = FrameAttribute()

    @checked_arguments_but("atomgroup")
    def __init__(
        self,
        atomgroup: AtomGroup | ProtoReader,
        verbose: bool = False,
        *,
        reads: AtomGroup | Sequence[AtomGroup] = (),
        trajectory: Trajectory | None = None,
    ) -> None:
        self._reader = atomgroup if is_reader(atomgroup) else None
        if self._reader is None:
            super().__init__(atomgroup, trajectory, verbose=verbose)
            self._reads = reads
            return
        if len(reads) or trajectory is not None:
            raise MismatchError("reads and trajectory need an AtomGroup: pass it instead of the trajectory")
        self._trajectory = self._reader
        self._given_trajectory = self._outcome = None
        self.is_verbose = self._verbose = verbose
        self.results = Results()

    def _prepare(self) -> None:
        """Prepare for the frames of a block. Workers call this method once for each block."""

    def _single_frame(self) -> None:
        """Analyse the current frame."""
        raise NotImplementedError(f"{type(self).__name__} has no _single_frame()")

    def _conclude(self) -> None:
        """Finish the merged results. This method is called once, in the process that called `run`."""

    def _get_aggregator(self) -> Aggregator:
        """Return the aggregator that merges the results of consecutive blocks."""
        return ConcatenatingAggregator()

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary. By default, there are none."""
        return Boundaries("a subclass declares its requirements")

    # A subclass that is written for MDAnalysis may give these names to attributes of its own.
    @property
    def atomgroup(self) -> AtomGroup:
        """The group that was passed, or all atoms of the Universe if a trajectory was passed."""
        if "atomgroup" in vars(self):
            return vars(self)["atomgroup"]
        return self._atomgroup if self._reader is None else self.universe_read.atoms

    @atomgroup.setter
    def atomgroup(self, value: AtomGroup) -> None:
        vars(self)["atomgroup"] = value

    @property
    def atoms(self) -> Any:
        """Ascending indices of the atoms in all groups that are attributes. The same as `atoms_read`."""
        if "atoms" in vars(self):
            return vars(self)["atoms"]
        return self.atoms_read

    @atoms.setter
    def atoms(self, value: Any) -> None:
        vars(self)["atoms"] = value

    @property
    def trajectory(self) -> Any:
        """The given trajectory, or the trajectory of the Universe. The same as `trajectory_read`."""
        if "trajectory" in vars(self):
            return vars(self)["trajectory"]
        return self.trajectory_read

    @trajectory.setter
    def trajectory(self, value: Any) -> None:
        vars(self)["trajectory"] = value

    @property
    def universe_read(self) -> Universe:
        """The Universe of the group or of the trajectory that was passed."""
        if self._reader is None:
            return self._atomgroup.universe
        return universe_held(vars(self), self._reader, type(self).__name__)

    @property
    def atoms_read(self) -> NDArray[np.uint32]:
        """Indices of the atoms in all groups that are attributes, or of all atoms if a trajectory was passed."""
        universe = self.universe_read
        if self._reader is not None:
            return np.arange(len(universe.atoms), dtype=np.uint32)
        return atoms_held(vars(self), universe)

    @property
    def trajectory_read(self) -> Trajectory | ProtoReader:
        """The given trajectory, or the trajectory of the Universe."""
        return self.universe_read.trajectory if self._given_trajectory is None else self._given_trajectory

    @property
    def molecules(self) -> NDArray[np.uint32]:
        """Indices of the atoms whose molecules must be whole if the analysis requires it, in ascending order."""
        return self.atoms_read

    @property
    def parallelizable(self) -> bool:
        """Whether the frames may be analysed in several blocks.

        This is the case unless the class declares ``_analysis_algorithm_is_parallelizable = False``. If the analysis
        was created with a trajectory, as in MDAnalysis, the class must set this attribute to True.
        """
        for kind in takewhile(lambda kind: kind is not AnalysisBase, type(self).__mro__):
            if _PARALLELIZABLE in vars(kind):
                return bool(vars(kind)[_PARALLELIZABLE])
        return self._reader is None

    @property
    def order_reason(self) -> str | None:
        """Reason why the analysis needs all frames in order in one block, or None if it does not."""
        if self.parallelizable:
            return None
        return (
            f"{type(self).__name__} needs all frames in order in one block, unless the class declares that its frames "
            f"can be analysed in any order ({_PARALLELIZABLE} = True)"
        )

    def computation(self, source: Source) -> Computation:
        """Return the computation that calls the subclass for each frame."""
        if self._single_frame.__func__ is AnalysisBase._single_frame:  # type: ignore[attr-defined]
            self._single_frame()
        # Before such a block has been read, only the number of frames of a batch is known.
        by_batch = source.is_growing or source.on_error != "raise"
        is_in_order = not self.parallelizable
        if is_in_order and by_batch:
            raise UnsupportedError(
                f"{self.order_reason}: the number of frames must be known, and on_error must be 'raise'"
            )
        # Reading n_frames locates all frames, which also gives the number of frames of each block.
        n_frames = None if by_batch else source.n_frames
        atoms = self.atoms_read
        known = self._known(source, n_frames)
        frames = FramesFold.of(self.sent(), self.universe_read, atoms, known, by_batch, is_in_order)
        frames.origin = type(self), self._state()
        return fold(frames, len(atoms), np.arange(len(atoms), dtype=np.uint32))

    def conclude(self, tally: Tally) -> None:
        """Merge the results of the blocks, and then call `_conclude` of the subclass."""
        blocks = blocks_of(value_or_raise(tally.own))
        if not self.parallelizable:
            self._conclude_in_order(blocks)
            return
        changed = frozenset().union(*(block.changed for block in blocks))
        self.results = Results()
        with guard_attributes(self, changed) if changed else nullcontext():
            aggregator = self._get_aggregator()
            check_blocks(aggregator, blocks)
            self.results.update(aggregator.merge([block.results for block in blocks]))
            if self._has_results and not self.results:
                raise FunctionError(self._left_nothing(changed))
            self._conclude()

    def _conclude_in_order(self, blocks: Sequence[Block]) -> None:
        """Copy the results and all attributes of the only block, and then call `_conclude` of the subclass."""
        if len(blocks) != 1:
            raise UnsupportedError(f"{self.order_reason}: 'access' has split the frames into {len(blocks)} blocks")
        for name, value in blocks[0].kept.items():
            vars(self)[name] = received(value, self.universe_read) if isinstance(value, bytes) else value
        self.results = blocks[0].results
        self._conclude()

    def _known(self, source: Source, n_frames: int | None) -> Known:
        """Return the facts about the trajectory that workers need."""
        quantities = set(source.quantities) - {"positions"}
        if quantities and n_frames is not None:  # the format may support quantities that this file lacks
            first = source.read(FrameSet.range(0, 1, 1), self.atoms_read[:1], sorted(quantities))
            quantities = {name for name in quantities if getattr(first, f"has_{name}").any()}
        if self._given_trajectory is None:  # a Universe in memory may have more quantities than the source
            ts = self.universe_read.trajectory.ts
            quantities |= {name for name in ("velocities", "forces") if getattr(ts, f"has_{name}")}
        return Known(n_frames, frozenset(quantities))

    def _left_nothing(self, changed: frozenset[str]) -> str:
        kind = type(self).__name__
        kept = ", ".join(f"self.{name}" for name in sorted(changed))
        where = f"; it has set {kept}, which stays in the workers" if kept else ""
        return (
            f"{kind}: _single_frame has stored nothing in self.results{where}. Expected: "
            "self.results.values = np.zeros(self.n_frames) in _prepare, and "
            "self.results.values[self._frame_index] = ... in _single_frame. If the class only has side effects, such "
            "as writing files, set its class attribute _has_results = False"
        )

    def begun(self, n_frames: int) -> Self:
        """Return a copy that is prepared for a block of frames. Workers call this method."""
        begun = copy.copy(self)
        begun.make_ready(n_frames)
        return begun

    def make_ready(self, n_frames: int) -> None:
        """Prepare this copy for a block of frames. Workers call this method."""
        self.results = Results()
        self._outcome = Outcome(np.zeros((n_frames, 2)), np.empty(0), np.empty(0, np.uint64), (), np.empty(0, SPAN))
        self._prepare()

    def look(self, index: int, ts: Any) -> None:
        """Analyse the next frame. Workers call this method."""
        self._frame_index, self._ts = index, ts
        self._done().rows[index] = ts.frame, ts.time
        self._single_frame()

    def sent(self) -> bytes:
        """Return the class and the state, without the Universe, as bytes for workers."""
        return sent((type(self), self._state()), "the analysis", self.universe_read)

    def _state(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _NOT_SENT}

    @property
    def _n_described(self) -> int:
        return len(self.atoms_read) if self._reader is not None else super()._n_described

    def _describe(self) -> str:
        if self._reader is None:
            return super()._describe()
        return f"{self.n_frames:,} frames" if self._outcome is not None else "a trajectory, not run"
