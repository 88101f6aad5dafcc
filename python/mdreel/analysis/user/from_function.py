"""Analyses created from a user function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, Source, fold, function
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.user.checked_function import Checked
from mdreel.analysis.user.function_arguments import takes_frame_number
from mdreel.analysis.user.function_groups import FunctionGroups
from mdreel.analysis.user.reducers import (
    REDUCERS,
    Deviations,
    DiscardFold,
    ExtremeFold,
    HistogramFold,
    Reducer,
    ReducerFold,
    ReducerName,
    edges_of,
)
from mdreel.analysis.user.user_functions import Fold, function_name, value_or_raise
from mdreel.errors import FunctionError, MismatchError, UnsupportedError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.results.column import Column
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup

Per = Literal["frame", "block"]
"""Whether a function receives one frame at a time, or a block of frames."""


class FunctionAnalysis(Analysis):
    """Analysis that calls a user function for each frame. See `from_function`.

    Attributes
    ----------
    results.timeseries : ndarray, shape (n_frames, ...), float64
        Return values of the function. Only available if you do not use a reducer.
    results.sum, results.mean, results.max, results.min : ndarray or float
        Reduced value. Only available with the reducer of the same name.
    results.variance, results.std : ndarray or float
        Variance or standard deviation, where the divisor is the number of frames. Only available with the reducer of
        the same name, together with `results.mean`.
    results.histogram, results.edges : ndarray, shape (n_bins,), int64, and (n_bins + 1,), float64
        Counts in the bins and the edges of the bins. Only available with ``reduce="histogram"``.
    results.value : object
        The merged value. Only available with a `Reducer`.

    If you use ``reduce="discard"``, there are no results.

    Notes
    -----
    Unless you use a reducer, you will need 8 bytes of memory per value and frame, and 16 bytes per frame. With a named
    reducer, you will only need 16 bytes per frame and a fixed amount of memory for the values. For a `Reducer`, memory
    use also depends on the size of its values.
    """

    _may_change = True

    def __init__(
        self,
        given: Callable[..., Any],
        arguments: Sequence[Any],
        named: Mapping[str, Any],
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
        self._groups = FunctionGroups.of(given, arguments, named, takes_blocks=per == "block")
        super().__init__(self._groups.read, trajectory)
        self._function, self._per, self._reduce = self._groups.function, per, reduce
        self.needs_frame_numbers = takes_frame_number(self._function)

    @property
    def atomgroup(self) -> AtomGroup:
        """The first group."""
        return self._groups.first

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary. They are unknown for a user function."""
        return Boundaries("the requirements of a user function are unknown")

    def computation(self, source: Source) -> Computation:
        """Call the function once to find the shape of its result and return the computation that calls it."""
        places = self._groups.members(self.atoms)
        takes_blocks = self._per == "block"
        if isinstance(self._reduce, Reducer):
            return fold(ReducerFold(self._function, takes_blocks, self._reduce), len(self.atoms), places)
        if self._reduce == "discard":
            return fold(DiscardFold(self._function, takes_blocks), len(self.atoms), places)
        first = self._groups.first_frame(source, self.atoms)
        shape = Checked(self._function, takes_blocks, None).shape_of(first)
        checked = Checked(self._function, takes_blocks, shape)
        if self._reduce in ("max", "min", "histogram"):
            return fold(self._fold(checked), len(self.atoms), places)
        n_columns = int(np.prod(shape, dtype=np.int64))
        if self._reduce in ("variance", "std"):
            return function(Deviations(checked, checked(first)[0]), len(self.atoms), places, 2 * n_columns, True)
        return function(checked, len(self.atoms), places, n_columns, self._reduce is not None)

    def conclude(self, tally: Tally) -> None:
        """Reshape the values, or the reduced values, to the shape of the function's result."""
        given, reduce = tally.arguments[0], self._reduce
        if reduce is None:
            self.results.timeseries = tally.values.reshape(-1, *given.shape)
        elif isinstance(reduce, Reducer):
            value = value_or_raise(tally.own)
            self.results.value = value if reduce.finish is None else self._finished(reduce.finish, value)
        elif reduce == "discard":
            value_or_raise(tally.own)  # only to raise an error of a worker
        elif reduce == "histogram":
            self.results.histogram, self.results.edges = value_or_raise(tally.own), self._edges
        elif reduce in ("max", "min"):
            self.results[reduce] = value_or_raise(tally.own).reshape(given.checked.shape)[()]
        elif isinstance(given, Deviations):
            mean, variance = given.moments(tally.sums, tally.n_frames)
            self.results.mean = mean[()]
            self.results[reduce] = (variance if reduce == "variance" else np.sqrt(variance))[()]
        else:
            total = tally.sums if reduce == "sum" else tally.sums / tally.n_frames
            self.results[reduce] = total.reshape(given.shape)[()]

    def columns(self) -> Sequence[Column]:
        """Return columns with the frame, the time and the values, or one row per reduced value or bin."""
        results = self.results
        if "histogram" in results:
            edges = results.edges
            lowest, highest = Column("from", "", edges[:-1]), Column("to", "", edges[1:])
            return [lowest, highest, Column("count", "", results.histogram)]
        if self._reduce is None or isinstance(self._reduce, Reducer) or self._reduce == "discard":
            return super().columns()
        values = {name: np.asarray(one).reshape(-1) for name, one in results.items()}
        n_values = len(next(iter(values.values())))
        return [Column("value", "", np.arange(n_values)), *(Column(name, "", one) for name, one in values.items())]

    @staticmethod
    def _finished(finish: Callable[[Any], Any], value: Any) -> Any:
        found = finish(value)
        if found is None:
            raise FunctionError(
                f"{function_name(finish)}, the finish function of the reducer, returned nothing (None): "
                "expected the result"
            )
        return found

    def _fold(self, checked: Checked) -> Fold:
        if self._reduce == "histogram":
            return HistogramFold(checked, self._edges, self._is_even)
        return ExtremeFold(checked, self._reduce == "max")

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the histogram, or the values over time. If there are many values, only the first seven are drawn."""
        results, name = self.results, getattr(self._function, "__name__", "a function")
        if "histogram" in results:
            from mdreel.results.curves import histogram

            return histogram(results.edges, results.histogram, f"Value of {name}", title, ax)
        if "timeseries" not in results:
            kept = f"reduce={self._reduce!r}" if isinstance(self._reduce, str) else "a Reducer"
            raise UnsupportedError(f"the result of {kept} cannot be plotted: it has no value for each frame")
        shape = results.timeseries.shape[1:]
        values = results.timeseries.reshape(len(self.frames), -1)
        if values.shape[1] == 1:
            from mdreel.results.figure import time_series

            return time_series(self.times, values[:, 0], name, title, ax, frames=self.frames, from_zero=False)
        from mdreel.results.curves import lines

        names = [", ".join(map(str, index)) for index in np.ndindex(shape)]
        return lines(self.times, values, names, name, title, ax, kind="Index")

    @property
    def _n_described(self) -> int:
        return self._groups.n_possible

    def _describe(self) -> str:
        return f"{getattr(self._function, '__name__', 'a function')}, {super()._describe()}"


@checked_arguments
def from_function(
    f: Callable[..., Any],
    atomgroup: AtomGroup,
    *arguments: Any,
    per: Per = "frame",
    reduce: ReducerName | Reducer | None = None,
    bins: int | Sequence[float] | NDArray[np.float64] | None = None,
    range: tuple[float, float] | None = None,  # noqa: A002 (NumPy's word)
    trajectory: Trajectory | None = None,
    **named: Any,
) -> FunctionAnalysis:
    """Return an analysis that calls a function for each frame.

    Parameters
    ----------
    f : callable
        The function, which will be called with the positions of your groups in Å (float32). Their shape is (n_atoms, 3)
        for one frame, or (n_frames, n_atoms, 3) for a block, and the atoms are always in the order of the group. It
        should return a number or an array of numbers that has the same shape for every frame. For a block, the first
        axis of this array is the frame.

        You can also use one of the following parameter names in your function to receive frame data. For a block, these
        are arrays with one entry per frame:

        * ``dimensions``: the cell as in ``ts.dimensions`` of MDAnalysis, shape (6,), float32, or None without a cell.
          For a block, shape (n_frames, 6), with NaN for frames without a cell.
        * ``time``: the time in ps, float.
        * ``frame``: the frame number, starting from 0, int.
    atomgroup : MDAnalysis.AtomGroup
        The first group. Unless `per` is ``"block"``, you can also use an UpdatingAtomGroup. `f` will then receive the
        positions of the atoms that belong to the group in the current frame.
    *arguments : MDAnalysis.AtomGroup or object
        Additional arguments for `f`. Groups are replaced by their positions, and any other object is passed unchanged.
    per : {"frame", "block"}
        Whether `f` receives one frame or a block of frames. Blocks are several times faster if your function uses
        NumPy. The number of frames in a block varies, and the result should not depend on it.
    reduce : {"sum", "mean", "variance", "std", "max", "min", "histogram", "discard"} or Reducer, optional
        Reduction of the values from all frames. If your function only has side effects, use ``"discard"``. There are
        then no results, and the function does not have to return a value. The named reductions are bitwise identical
        for any number of blocks and workers. Sums are exact in steps of 2^-60 for numbers up to 2^36 (for variances, up
        to 2^18 from the value in the first frame). If you use a `Reducer`, `f` can return any value that can be
        pickled, or one value for all frames of a block.
    bins : int or sequence of float, optional
        For a histogram of all returned numbers, the number of bins of equal width, or the bin edges. A number on an
        edge is counted in the bin above (or in the last bin, for the last edge). Numbers outside the bins and NaN are
        not counted.
    range : (float, float), optional
        Lowest and highest edge, if `bins` is a number.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory.
    **named : MDAnalysis.AtomGroup or object
        Keyword arguments for `f`, which are treated like `arguments`. If an argument has the same name as a parameter
        of `from_function`, you can use ``functools.partial`` to pass it.

    Returns
    -------
    FunctionAnalysis
        The analysis. You can call its ``run()`` method using any executor, or run it in one pass with other analyses.

    Raises
    ------
    SelectionError
        When your group is empty, or you passed atoms in an argument that is not a group, such as a list.
    MismatchError
        When `f` is not a function, `per` or `reduce` is unknown, or there are no bins. When the parameters of `f` do
        not match the arguments, or your groups belong to different Universes.
    FunctionError
        In `run`, when your function raises an exception, which is reported together with the frame. This error is also
        raised when your function returns None, an empty array, a value that is not a number, or an array of a different
        shape.
    UnsupportedError
        When you use an UpdatingAtomGroup and `per` is ``"block"``, or its selection cannot be evaluated.

    Notes
    -----
    Your function will be called one additional time for the first frame to find the shape of its result, unless its
    values are discarded or merged by a `Reducer`. Note that it may also be called more than once for any other frame,
    since the blocks of a lost worker have to be computed again. As threads share the Python interpreter, a function in
    pure Python will be faster with ``backend="processes"``. Functions that cannot be imported, for example those
    defined in a notebook, are sent to the workers by value.

    For the memory use, see `FunctionAnalysis`.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import numpy as np
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> def height(positions):
    ...     return positions[:, :, 2].max(axis=1) - positions[:, :, 2].min(axis=1)
    >>> u = mda.Universe(PSF, DCD)
    >>> mdreel.from_function(height, u.select_atoms("protein"), per="block").run().results.timeseries.shape
    (98,)
    >>> def distance(first, second, time):
    ...     return time, np.linalg.norm(first.mean(axis=0) - second.mean(axis=0))
    >>> core, lid = u.select_atoms("resid 1-29"), u.select_atoms("resid 122-159")
    >>> mdreel.from_function(distance, core, lid).run().results.timeseries.shape
    (98, 2)
    """
    return FunctionAnalysis(f, (atomgroup, *arguments), named, per, reduce, trajectory, bins, range)
