"""User functions with checked results."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.user.function_arguments import Given, given_to
from mdreel.analysis.user.user_functions import Batch, Frame, FrameError, describe_error, function_name, pickle_by_value
from mdreel.errors import FunctionError

EXPECTED = "expected a number or an array of numbers, of the same shape for each frame"


@dataclass(frozen=True)
class Checked:
    """A user function whose results are checked.

    Attributes
    ----------
    function : callable
        The user function, which receives positions, or a `FrameFunction`.
    takes_blocks : bool
        Whether the function receives several frames at a time.
    shape : tuple of int or None
        Shape of the result for one frame, or None if the shape is unknown.
    """

    function: Callable[..., Any]
    takes_blocks: bool
    shape: tuple[int, ...] | None

    def shape_of(self, first: Given) -> tuple[int, ...]:
        """Call the function for the first frame, and return the shape of its result.

        Parameters
        ----------
        first : ndarray, shape (1, n_atoms, 3), float32, or Batch
            The first frame, in the form in which `given_to` passes it to the function.

        Raises
        ------
        FunctionError
            If the function fails or returns an invalid value.
        """
        try:
            found = self._called(first if self.takes_blocks else first[0])
        except Exception as error:
            raise FunctionError(describe_error(error), frame=0) from error
        if not self.takes_blocks:
            return found.shape
        if found.ndim == 0 or len(found) != 1:
            raise FunctionError(f"expected an array with one entry per frame (here 1), got shape {found.shape}")
        return found.shape[1:]

    def __call__(self, *columns: Any) -> NDArray[np.float64]:
        """Return the results of the function for frames, shape (n_frames, n_columns).

        The core passes the positions in the frames, or all columns of a `Batch`.
        """
        return self.values(columns[0] if len(columns) == 1 else Batch(0, *columns))

    def of_batch(self, batch: Batch) -> NDArray[np.float64]:
        """Return the results of the function for the frames of a batch, shape (n_frames, n_columns)."""
        return self.values(given_to(self.function, batch))

    def values(self, given: Given) -> NDArray[np.float64]:
        """Return the results of the function for frames from `given_to`, shape (n_frames, n_columns)."""
        values = self._of_block(given) if self.takes_blocks else self._of_frames(given)
        return np.ascontiguousarray(values.reshape(len(given), -1))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the function by value if it cannot be imported, for example from a notebook."""
        return _unpickled, (pickle_by_value(self.function, "the function"), self.takes_blocks, self.shape)

    def _of_frames(self, given: Given) -> NDArray[np.float64]:
        assert self.shape is not None
        values = np.empty((len(given), *self.shape))
        for i, frame in enumerate(given):
            try:
                found = self._called(frame)
            except Exception as error:
                raise FrameError(i, describe_error(error)) from error
            if found.shape != self.shape:
                raise FrameError(i, f"the function returned the shape {found.shape}, for frame 0 {self.shape}")
            values[i] = found
        return values

    def _of_block(self, given: Given) -> NDArray[np.float64]:
        assert self.shape is not None
        expected = (len(given), *self.shape)
        try:
            values = self._called(given)
        except Exception as error:
            for i in range(len(given)):
                try:
                    self._called(given[i : i + 1])
                except Exception as alone:  # noqa: BLE001 (whatever a user's function raises)
                    raise FrameError(i, describe_error(alone)) from error
            raise FunctionError(f"{describe_error(error)}, for all frames of the batch together") from error
        if values.shape != expected:
            raise FunctionError(f"the function returned the shape {values.shape}, expected {expected}")
        return values

    def _called(self, given: Given | Frame) -> NDArray[np.float64]:
        return numbers_of(self.function(given), self.function)


def numbers_of(found: Any, function: Callable[..., Any]) -> NDArray[np.float64]:
    """Convert the return value of a user function to a float64 array.

    Raises
    ------
    FunctionError
        If the value is None, or if it is neither a number nor an array of numbers. NumPy would convert None to NaN and
        strings to numbers, and would drop imaginary parts and masks.
    """
    if found is None:
        raise FunctionError(
            f"{function_name(function)} returned nothing (None): {EXPECTED}. A function that only has side effects, "
            'such as writing a file, takes reduce="discard"'
        )
    array = np.asarray(found)
    if array.dtype.kind not in "fiub" or isinstance(found, np.ma.MaskedArray):
        kind = type(found).__name__
        what = kind if array.ndim == 0 else f"{kind}, {array.dtype} in shape {array.shape}"
        raise FunctionError(f"{function_name(function)} returned {what}: {EXPECTED}")
    if not array.size:
        raise FunctionError(f"{function_name(function)} returned an empty array, shape {array.shape}: {EXPECTED}")
    return array.astype(np.float64, copy=False)


def _unpickled(content: bytes, takes_blocks: bool, shape: tuple[int, ...] | None) -> Checked:
    return Checked(pickle.loads(content), takes_blocks, shape)  # noqa: S301 (from our own processes)
