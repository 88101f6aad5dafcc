"""Analyses made from user functions."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, FrameSet, Source, fold, function
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.user.checked_function import Checked
from mdreel.analysis.user.reducers import (
    REDUCERS,
    Deviations,
    DiscardFold,
    ExtremeFold,
    HistogramFold,
    OwnFold,
    Reducer,
    ReducerName,
    edges_of,
)
from mdreel.analysis.user.user_functions import Fold, name_of, whole_of
from mdreel.errors import FunctionError, MismatchError
from mdreel.execution.tally import Tally
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

Per = Literal["frame", "block"]
"""What a function is given at a time: one frame, or several."""


class FunctionAnalysis(Analysis):
    """What a function makes of each frame; see `from_function`.

    Attributes
    ----------
    results.timeseries : ndarray, shape (n_frames, ...), float64
        Without a reducer: what the function returned for each frame.
    results.sum, results.mean, results.max, results.min : ndarray or float
        With the reducer of that name.
    results.variance, results.std : ndarray or float
        With the reducer of that name, and `results.mean` beside it. Divided by the number of frames.
    results.histogram, results.edges : ndarray, shape (n_bins,), int64, and (n_bins + 1,), float64
        With ``reduce="histogram"``: how many numbers lie in each bin, and the edges of the bins.
    results.value : object
        With a `Reducer`: what it made of the values.

    With ``reduce="discard"`` there are no results.

    Notes
    -----
    Memory: without a reducer 8 bytes for each value of each frame, which is the result, and 16 for number and time of
    each frame. With one, by name, it does not grow with the number of frames beyond these 16; with a `Reducer` as the
    values do that it makes.
    """

    def __init__(
        self,
        given: Callable[..., Any],
        atomgroup: "AtomGroup",
        per: Per,
        reduce: ReducerName | Reducer | None,
        trajectory: Trajectory | None,
        bins: int | Sequence[float] | NDArray[np.float64] | None = None,
        limits: tuple[float, float] | None = None,
    ) -> None:
        if not callable(given):
            raise MismatchError(f"expected a function, got {type(given).__name__}")
        if per not in ("frame", "block"):
            raise MismatchError(f"per must be 'frame' or 'block', not {per!r}")
        if reduce is not None and reduce not in REDUCERS and not isinstance(reduce, Reducer):
            raise MismatchError(f"reduce must be None, one of {', '.join(REDUCERS)}, or a Reducer, not {reduce!r}")
        if reduce != "histogram" and not (bins is None and limits is None):
            raise MismatchError(f"bins and range are for reduce='histogram', not for {reduce!r}")
        self._edges, self._is_even = edges_of(bins, limits) if reduce == "histogram" else (np.empty(0), False)
        super().__init__(atomgroup, trajectory)
        self._function, self._per, self._reduce = given, per, reduce

    @property
    def boundaries(self) -> Boundaries:
        """What it requires of molecules that the boundary of the cell may cut: only the user knows."""
        return Boundaries("what the function of the user requires is not known")

    def computation(self, source: Source) -> Computation:
        """Call the function for the first frame, to see what it returns, and return what calls it for every frame."""
        places = self._selection.places.astype(np.uint32)
        takes_blocks = self._per == "block"
        if isinstance(self._reduce, Reducer):
            return fold(OwnFold(self._function, takes_blocks, self._reduce), len(self.atoms), places)
        if self._reduce == "discard":
            return fold(DiscardFold(self._function, takes_blocks), len(self.atoms), places)
        first = source.read(FrameSet.range(0, 1, 1), self.atoms).positions[:, self._selection.places]
        shape = Checked(self._function, takes_blocks, None).shape_of(first)
        checked = Checked(self._function, takes_blocks, shape)
        if self._reduce in ("max", "min", "histogram"):
            return fold(self._fold(checked), len(self.atoms), places)
        n_columns = int(np.prod(shape, dtype=np.int64))
        if self._reduce in ("variance", "std"):
            return function(Deviations(checked, checked(first)[0]), len(self.atoms), places, 2 * n_columns, True)
        return function(checked, len(self.atoms), places, n_columns, self._reduce is not None)

    def conclude(self, tally: Tally) -> None:
        """Bring values, or what became of them, into the shape that the function has."""
        given, reduce = tally.arguments[0], self._reduce
        if reduce is None:
            self.results.timeseries = tally.values.reshape(-1, *given.shape)
        elif isinstance(reduce, Reducer):
            value = whole_of(tally.own)
            self.results.value = value if reduce.finish is None else self._finished(reduce.finish, value)
        elif reduce == "discard":
            whole_of(tally.own)  # how many frames it was called for
        elif reduce == "histogram":
            self.results.histogram, self.results.edges = whole_of(tally.own), self._edges
        elif reduce in ("max", "min"):
            self.results[reduce] = whole_of(tally.own).reshape(given.checked.shape)[()]
        elif isinstance(given, Deviations):
            mean, variance = given.moments(tally.sums, tally.n_frames)
            self.results.mean = mean[()]
            self.results[reduce] = (variance if reduce == "variance" else np.sqrt(variance))[()]
        else:
            total = tally.sums if reduce == "sum" else tally.sums / tally.n_frames
            self.results[reduce] = total.reshape(given.shape)[()]

    @staticmethod
    def _finished(finish: Callable[[Any], Any], value: Any) -> Any:
        found = finish(value)
        if found is None:
            raise FunctionError(
                f"{name_of(finish)}, which finishes a value, returned nothing (None): expected the result"
            )
        return found

    def _fold(self, checked: Checked) -> Fold:
        if self._reduce == "histogram":
            return HistogramFold(checked, self._edges, self._is_even)
        return ExtremeFold(checked, self._reduce == "max")

    def _describe(self) -> str:
        return f"{getattr(self._function, '__name__', 'a function')}, {super()._describe()}"


def from_function(
    f: Callable[..., Any],
    atomgroup: "AtomGroup",
    *,
    per: Per = "frame",
    reduce: ReducerName | Reducer | None = None,
    bins: int | Sequence[float] | NDArray[np.float64] | None = None,
    range: tuple[float, float] | None = None,  # noqa: A002 (NumPy's word)
    trajectory: Trajectory | None = None,
) -> FunctionAnalysis:
    """Make an analysis of a function.

    Parameters
    ----------
    f : callable
        Is given positions in Å, float32, in the order of the group: of one frame, shape (n_atoms, 3), or of a block of
        frames, shape (n_frames, n_atoms, 3). Returns a number or an array of numbers, of the same shape for every
        frame; of a block, the first axis is that of the frames.
    atomgroup : MDAnalysis.AtomGroup
        The atoms.
    per : {"frame", "block"}
        What it is given at a time. Blocks are several times as fast where NumPy does the work; how many frames they
        have changes, and must not matter.
    reduce : {"sum", "mean", "variance", "std", "max", "min", "histogram", "discard"} or Reducer, optional
        What is made of the values of all frames, instead of keeping them. ``"discard"`` declares that the function has
        side effects only, and may return nothing: there are no results. By name, the bits do not depend on blocks and
        workers: sums are exact, in steps of 2^-60, of numbers up to 2^36 (variances: 2^18 from the first frame's).
        With a `Reducer`, the function returns whatever can be pickled, of a block one value for all of its frames.
    bins : int or sequence of float, optional
        Of a histogram of all numbers that the function returns: how many bins, of equal width, or their edges. A number
        on an edge belongs to the bin above, on the last to the last; those outside, and NaN, are not counted.
    range : (float, float), optional
        The edges of the first and the last of so many bins.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe.

    Returns
    -------
    FunctionAnalysis
        The analysis: ``run()`` it, on any executor, or in one pass with others.

    Raises
    ------
    MismatchError
        If `f` is no function, `per` or `reduce` are unknown, or there are no bins. When it is run: `FunctionError`,
        which names the frame, if the function raises, returns nothing (None) or an empty array, what is not a number,
        or another shape.

    Notes
    -----
    The function is called once more for the first frame, to see what it returns, unless its values are discarded or a
    `Reducer` merges them. A block that a worker has lost is done again, so a function with side effects may be called
    more than once for a frame. Threads take turns in Python's
    interpreter: a function that does its work there is faster with ``backend="processes"``. A function that cannot be
    imported, as of a notebook, is sent along with what it refers to.

    Memory: as of `FunctionAnalysis`: that of the values without a reducer; flat with one, beyond 16 bytes for each
    frame.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> def height(positions):
    ...     return positions[:, :, 2].max(axis=1) - positions[:, :, 2].min(axis=1)
    >>> protein = mda.Universe(PSF, DCD).select_atoms("protein")
    >>> from_function(height, protein, per="block").run().results.timeseries.shape
    (98,)
    """
    return FunctionAnalysis(f, atomgroup, per, reduce, trajectory, bins, range)
