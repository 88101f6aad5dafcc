"""Reductions of the values of a user function over all frames."""

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.user.checked_function import Checked
from mdreel.analysis.user.function_arguments import given_to
from mdreel.analysis.user.user_functions import Batch, Fold, FrameError, describe_error, function_name, pickle_by_value
from mdreel.errors import FunctionError, MismatchError
from mdreel.foundation.size_check import check_size

ReducerName: TypeAlias = Literal["sum", "mean", "variance", "std", "max", "min", "histogram", "discard"]
"""Names of the built-in reductions."""

_EXPECTED = "expected a value that can be pickled for each frame, or for each block with per='block'"

REDUCERS: tuple[ReducerName, ...] = get_args(ReducerName)


@dataclass(frozen=True)
class Reducer:
    """A user-defined reduction of values of any type.

    Attributes
    ----------
    merge : callable
        Function that combines the value for some frames with the value for the frames that follow. It may modify and
        return the first value. It needs to be associative, because the executor decides which frames are merged first.
    finish : callable, optional
        Function that computes the result from the value for all frames.

    Examples
    --------
    The largest extent of a protein along an axis, over all frames:

    >>> import MDAnalysis as mda
    >>> import numpy as np
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> def extents(positions):  # returns one value for a block of frames
    ...     return max(np.ptp(positions, axis=1).max(axis=1).tolist())
    >>> protein = mda.Universe(PSF, DCD).select_atoms("protein")
    >>> largest = mdreel.from_function(extents, protein, per="block", reduce=mdreel.analysis.Reducer(max))
    >>> round(largest.run().results.value, 1)
    60.4
    """

    merge: Callable[[Any, Any], Any]
    finish: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        for name, given in (("merge", self.merge), ("finish", self.finish)):
            if not callable(given) and not (name == "finish" and given is None):
                raise MismatchError(f"{name} of a reducer must be a function, got {type(given).__name__}")


@dataclass(frozen=True)
class ReducerFold(Fold):
    """A fold of a user function with values of any type that a `Reducer` merges.

    Attributes
    ----------
    function : callable
        The user function.
    takes_blocks : bool
        Whether the function receives several frames at a time and returns one value for all of them.
    reducer : Reducer
        The reduction.
    """

    function: Callable[..., Any]
    takes_blocks: bool
    reducer: Reducer

    def added(self, value: Any, batch: Batch) -> Any:
        """Call the function for each frame or for the whole batch, and merge its values."""
        given = given_to(self.function, batch)
        for place, one in enumerate([given] if self.takes_blocks else given):
            try:
                found = self.function(one)
                if found is None:
                    raise FunctionError(f"{function_name(self.function)} returned nothing (None): {_EXPECTED}")
                value = found if value is None else self._merged(value, found)
            except Exception as error:
                raise self._located(place, batch, error) from error
        return value

    def merged(self, value: Any, following: Any) -> Any:
        """Merge two values with the reducer."""
        return self._merged(value, following)

    def _merged(self, value: Any, following: Any) -> Any:
        found = self.reducer.merge(value, following)
        if found is None:
            raise FunctionError(
                f"{function_name(self.reducer.merge)}, the merge function of the reducer, returned nothing (None): "
                "expected the merged value. If the function modifies its first argument, it must return it"
            )
        return found

    def _located(self, place: int, batch: Batch, error: Exception) -> Exception:
        """Return the error with the frame in which the function fails, if it fails for a single frame."""
        if not self.takes_blocks:
            return FrameError(place, describe_error(error))
        given = given_to(self.function, batch)
        for i in range(len(batch.frames)):
            try:
                self.function(given[i : i + 1])
            except Exception as alone:  # noqa: BLE001 (whatever a user's function raises)
                return FrameError(i, describe_error(alone))
        return FunctionError(f"{describe_error(error)}, for all frames of the batch together")

    def __reduce__(self) -> tuple[Any, ...]:
        content = pickle_by_value((self.function, self.reducer.merge, self.reducer.finish), "the function")
        return _reducer_fold, (content, self.takes_blocks)


def _reducer_fold(content: bytes, takes_blocks: bool) -> ReducerFold:
    function, merge, finish = pickle.loads(content)  # noqa: S301 (from our own processes)
    return ReducerFold(function, takes_blocks, Reducer(merge, finish))


@dataclass(frozen=True)
class DiscardFold(Fold):
    """A fold of a user function that is called for its side effects.

    Attributes
    ----------
    function : callable
        The user function.
    takes_blocks : bool
        Whether the function receives several frames at a time.
    """

    function: Callable[..., Any]
    takes_blocks: bool

    def added(self, value: int | None, batch: Batch) -> int:
        """Call the function, discard its return value, and count the frames."""
        given = given_to(self.function, batch)
        for place, one in enumerate([given] if self.takes_blocks else given):
            try:
                self.function(one)
            except Exception as error:
                # Finding the failing frame would repeat the side effects of the function.
                message = describe_error(error)
                raise (FunctionError(message) if self.takes_blocks else FrameError(place, message)) from error
        return (value or 0) + len(batch.frames)

    def merged(self, value: int, following: int) -> int:
        """Return the sum of both values."""
        return value + following

    def __reduce__(self) -> tuple[Any, ...]:
        return _discard_fold, (pickle_by_value(self.function, "the function"), self.takes_blocks)


def _discard_fold(content: bytes, takes_blocks: bool) -> DiscardFold:
    return DiscardFold(pickle.loads(content), takes_blocks)  # noqa: S301 (from our own processes)


@dataclass(frozen=True)
class ExtremeFold(Fold):
    """A fold that keeps the maximum or the minimum of each value that a function returns.

    Attributes
    ----------
    checked : Checked
        The function.
    is_largest : bool
        Whether the maximum is kept instead of the minimum.
    """

    checked: Checked
    is_largest: bool

    def added(self, value: NDArray[np.float64] | None, batch: Batch) -> NDArray[np.float64]:
        """Update the extreme values with a batch. NaN propagates."""
        found = self.checked.of_batch(batch)
        # Adding 0 turns -0 into 0, so that the result does not depend on which of the two comes first.
        found = (found.max(axis=0) if self.is_largest else found.min(axis=0)) + 0.0
        return found if value is None else self.merged(value, found)

    def merged(self, value: NDArray[np.float64], following: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the elementwise maximum or minimum."""
        return np.maximum(value, following) if self.is_largest else np.minimum(value, following)


@dataclass(frozen=True)
class HistogramFold(Fold):
    """A fold that sorts the numbers returned by a function into bins and counts them.

    Attributes
    ----------
    checked : Checked
        The function.
    edges : ndarray, shape (n_bins + 1,), float64
        Edges of the bins.
    is_even : bool
        Whether all bins have the same width, so that no search is needed.
    """

    checked: Checked
    edges: NDArray[np.float64]
    is_even: bool

    def added(self, value: NDArray[np.int64] | None, batch: Batch) -> NDArray[np.int64]:
        """Count the numbers from a batch."""
        numbers = self.checked.of_batch(batch).ravel()
        if self.is_even:
            limits = (float(self.edges[0]), float(self.edges[-1]))
            counts, _ = np.histogram(numbers, len(self.edges) - 1, limits)
        else:
            counts, _ = np.histogram(numbers, self.edges)
        return counts.astype(np.int64) if value is None else value + counts

    def merged(self, value: NDArray[np.int64], following: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of both values."""
        return value + following


@dataclass(frozen=True)
class Deviations:
    """Deviations of a function's values from its values in one frame, and their squares, to compute variances.

    Attributes
    ----------
    checked : Checked
        The function.
    origin : ndarray, shape (n_columns,), float64
        The values in one frame. Subtracting them reduces rounding errors in the sums of squares.
    """

    checked: Checked
    origin: NDArray[np.float64]

    def __call__(self, *columns: Any) -> NDArray[np.float64]:
        """Return deviations and their squares, shape (n_frames, 2 * n_columns). For the columns, see `Checked`."""
        differences = self.checked(*columns) - self.origin
        return np.concatenate([differences, differences**2], axis=1)

    def moments(self, sums: NDArray[np.float64], n_frames: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean and the variance from the sums over all frames, divided by the number of frames."""
        mean, square = sums.reshape(2, -1) / n_frames
        shape = self.checked.shape
        assert shape is not None
        return (self.origin + mean).reshape(shape), np.maximum(square - mean**2, 0.0).reshape(shape)


def edges_of(
    bins: int | Sequence[float] | NDArray[np.float64] | None, limits: tuple[float, float] | None
) -> tuple[NDArray[np.float64], bool]:
    """Return the edges of bins, and whether all bins have the same width.

    Raises
    ------
    MismatchError
        If the arguments do not define bins.
    """
    if isinstance(bins, (int, np.integer)):
        if limits is None or bins < 1 or not limits[0] < limits[1] or not np.isfinite(limits).all():
            raise MismatchError(f"a histogram of {bins} bins needs range=(least, most), ascending, got {limits}")
        check_size(f"{bins:,} bins", 16 * bins, "give a smaller number of bins")
        return np.linspace(*limits, bins + 1), True
    edges = np.asarray([] if bins is None else bins, np.float64)
    if limits is not None or edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
        raise MismatchError("a histogram needs bins and range, or bins as ascending edges")
    return edges, False
