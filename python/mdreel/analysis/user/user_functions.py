"""Serialization, error reports and folds of user functions."""

import io
import pickle
import traceback
from _thread import interrupt_main
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import FunctionError, UnsupportedError

T = TypeVar("T")


class FrameError(Exception):
    """An error in one frame of a batch.

    Parameters
    ----------
    place : int
        Index of the frame in the batch.
    message : str
        The error message.
    """

    def __init__(self, place: int, message: str) -> None:
        super().__init__(message)
        self.place = place


def pickle_by_value(what: Any, name: str, pickler: Any = None) -> bytes:
    """Pickle a user object, by value if it cannot be imported, for example because it is defined in a notebook.

    Parameters
    ----------
    what : object
        The object.
    name : str
        Name of the object in error messages.
    pickler : type, optional
        A subclass of cloudpickle's pickler. The default is cloudpickle's pickler itself.

    Raises
    ------
    UnsupportedError
        If the object cannot be pickled.
    """
    import cloudpickle

    file = io.BytesIO()
    try:
        (pickler or cloudpickle.Pickler)(file).dump(what)
    except Exception as error:
        message = f"{name} cannot be sent to other processes: {' '.join(str(error).split())}"
        raise UnsupportedError(f'{message}: create what it needs inside it, or use backend="threads"') from error
    return file.getvalue()


def describe_error(error: Exception) -> str:
    """Return one line with the type, the message and the location of an error in user code."""
    text = " ".join(str(error).split())
    if isinstance(error, FunctionError):
        return text  # raised by mdreel itself: a location in mdreel would not help the user
    named = f"{type(error).__name__}: {text}" if text else type(error).__name__
    # Skip the frames of this folder, which call the code of the user.
    here = Path(__file__).parent
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent != here]
    return f"{named} (in {frames[0].name}, {frames[0].filename}, line {frames[0].lineno})" if frames else named


class Frame(NamedTuple):
    """One frame of a batch.

    Attributes
    ----------
    frame : int
        Frame number.
    time : float
        Time in ps.
    dimensions : ndarray, shape (6,), float32, or None
        Cell lengths in Å and angles in degrees. None if there is no cell.
    positions : ndarray, shape (n_atoms, 3), float32
        Positions of all groups in Å.
    members : sequence of ndarray or None
        For each group, the numbers of the atoms that belong to it in this frame, or None for all atoms. The sequence is
        empty if no group changes.
    """

    frame: int
    time: float
    dimensions: NDArray[np.float32] | None
    positions: NDArray[np.float32]
    members: Sequence[NDArray[np.uint32] | None]


@dataclass(frozen=True)
class Batch:
    """A few frames of a block.

    Attributes
    ----------
    n_block_frames : int
        Number of frames in the whole block, or 0 if it is unknown.
    frames : ndarray, shape (n_frames,), uint64
        Frame numbers.
    times : ndarray, shape (n_frames,), float64
        Times in ps.
    cells : ndarray, shape (n_frames, 6), float32
        Cell lengths in Å and angles in degrees. The values are NaN for frames without a cell.
    positions : ndarray, shape (n_frames, n_atoms, 3), float32
        Positions in Å.
    members : sequence of (sequence of ndarray) or None
        For each group, the numbers of its members in each frame, or None if the group does not change. The sequence is
        empty if no group changes.
    """

    n_block_frames: int
    frames: NDArray[np.uint64]
    times: NDArray[np.float64]
    cells: NDArray[np.float32]
    positions: NDArray[np.float32]
    members: Sequence[Sequence[NDArray[np.uint32]] | None] = ()

    @property
    def frame(self) -> NDArray[np.int64]:
        """Frame numbers, shape (n_frames,), int64."""
        return self.frames.astype(np.int64)

    @property
    def time(self) -> NDArray[np.float64]:
        """Times, shape (n_frames,), float64, in ps."""
        return self.times

    @property
    def dimensions(self) -> NDArray[np.float32]:
        """Cells, shape (n_frames, 6), float32, with NaN for frames without a cell."""
        return self.cells

    def __len__(self) -> int:
        return len(self.frames)

    def __iter__(self) -> Iterator[Frame]:
        # Converts all frames at once, because functions are called for millions of small frames.
        has_cell = np.logical_not(np.isnan(self.cells).any(axis=1))
        cells = [cell if has else None for cell, has in zip(self.cells, has_cell, strict=True)]
        n_frames = len(self)
        of_groups: list[Sequence[NDArray[np.uint32] | None]] = [group or [None] * n_frames for group in self.members]
        members = zip(*of_groups, strict=True)
        each = members if self.members else [()] * n_frames
        return map(Frame, self.frames.tolist(), self.times.tolist(), cells, self.positions, each)

    @overload
    def __getitem__(self, index: int) -> Frame: ...
    @overload
    def __getitem__(self, index: slice) -> "Batch": ...
    def __getitem__(self, index: int | slice) -> "Frame | Batch":
        if not isinstance(index, slice):
            return next(iter(self[index : index + 1]))
        members = [None if group is None else group[index] for group in self.members]
        columns = (self.frames[index], self.times[index], self.cells[index], self.positions[index])
        return Batch(self.n_block_frames, *columns, members)


@dataclass(frozen=True)
class Failed:
    """A placeholder for a value that could not be merged or sent."""

    message: str


class Fold:
    """Call user code with each batch of a block, and combine the returned values.

    The core calls `add`, `merge`, `pack` and `unpack`. A subclass implements `added` and `merged`, which may raise
    exceptions. If a subclass runs in other processes, it must be possible to pickle it.
    """

    def added(self, value: Any, batch: Batch) -> Any:
        """Combine the value for the frames so far, which is None at first, with the value for a batch."""
        raise NotImplementedError(f"{type(self).__name__} does not implement added()")

    def merged(self, value: Any, following: Any) -> Any:
        """Merge the value for some frames with the value for the frames that follow."""
        raise NotImplementedError(f"{type(self).__name__} does not implement merged()")

    def add(self, value: Any, *batch: Any) -> Any:
        """Return the value after adding a batch. See `added`."""
        return self.added(value, Batch(*batch))

    def merge(self, value: Any, following: Any) -> Any:
        """Return the merged value, or a `Failed` placeholder."""
        if value is None or following is None:
            return following if value is None else value
        for one in (value, following):
            if isinstance(one, Failed):
                return one
        return _caught("merging", lambda: self.merged(value, following))

    def pack(self, value: Any) -> bytes:
        """Return a value as bytes."""
        found = _caught("sending a value", lambda: pickle_by_value(value, "a value"))
        return pickle.dumps(found) if isinstance(found, Failed) else bytes(found)

    def unpack(self, content: bytes) -> Any:
        """Return a value from bytes. See `pack`."""
        return _caught("receiving a value", lambda: pickle.loads(content))  # noqa: S301 (from our own processes)


def function_name(function: Callable[..., Any]) -> str:
    """Return the name of a user function for error messages."""
    return f"the function {getattr(function, '__name__', type(function).__name__)}()"


def value_or_raise(value: Any) -> Any:
    """Return the value for all frames.

    Raises
    ------
    FunctionError
        If values could not be merged or sent.
    """
    if isinstance(value, Failed):
        raise FunctionError(value.message)
    return value


def _caught(doing: str, compute: Callable[[], T]) -> T | Failed:
    """Return the computed value, or a `Failed` placeholder because exceptions cannot be raised here."""
    try:
        return compute()
    except KeyboardInterrupt:
        interrupt_main()  # the main thread raises it again
        return Failed(f"{doing} was interrupted")
    except Exception as error:  # noqa: BLE001 (whatever a user's code raises)
        return Failed(f"{doing}: {describe_error(error)}")
