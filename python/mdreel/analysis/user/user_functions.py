"""Transport of user functions to workers, and their errors."""

import io
import pickle
import traceback
from _thread import interrupt_main
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import FunctionError, UnsupportedError

T = TypeVar("T")


class FrameError(Exception):
    """What is wrong with a frame of several.

    Parameters
    ----------
    place : int
        Which of them it is.
    message : str
        What is wrong.
    """

    def __init__(self, place: int, message: str) -> None:
        super().__init__(message)
        self.place = place


def packed(what: Any, name: str, pickler: Any = None) -> bytes:
    """Return something of a user's as bytes, with what it refers to where that cannot be imported, as from a notebook.

    Parameters
    ----------
    what : object
        What is sent.
    name : str
        What it is, for errors.
    pickler : type, optional
        A subclass of cloudpickle's, if that is not what pickles it.

    Raises
    ------
    UnsupportedError
        If it cannot be sent.
    """
    import cloudpickle

    file = io.BytesIO()
    try:
        (pickler or cloudpickle.Pickler)(file).dump(what)
    except Exception as error:
        message = f"{name} cannot be sent to other processes: {' '.join(str(error).split())}"
        raise UnsupportedError(f"{message}: make what it needs within it; functions may use threads") from error
    return file.getvalue()


def said(error: Exception) -> str:
    """Say in one line what a user's code has raised, and where."""
    text = " ".join(str(error).split())
    if isinstance(error, FunctionError):
        return text  # what mdreel says of such code; it has no other place
    named = f"{type(error).__name__}: {text}" if text else type(error).__name__
    # Those of this folder are the callers; behind them are the user's, and what they call.
    here = Path(__file__).parent
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent != here]
    return f"{named} (in {frames[0].name}, {frames[0].filename}, line {frames[0].lineno})" if frames else named


@dataclass(frozen=True)
class Batch:
    """A few frames of a block.

    Attributes
    ----------
    n_block_frames : int
        Frames of the whole block; 0 where nobody knows.
    frames : ndarray, shape (n_frames,), uint64
        Their numbers.
    times : ndarray, shape (n_frames,), float64
        Their times, ps.
    cells : ndarray, shape (n_frames, 6), float32
        Lengths in Å and angles in degrees; NaN where there is no cell.
    positions : ndarray, shape (n_frames, n_atoms, 3), float32
        Å.
    """

    n_block_frames: int
    frames: NDArray[np.uint64]
    times: NDArray[np.float64]
    cells: NDArray[np.float32]
    positions: NDArray[np.float32]


@dataclass(frozen=True)
class Failed:
    """Stands for a value that could not be merged, or not be sent."""

    message: str


class Fold:
    """What code of a user makes of the frames of a block, one batch after the other, and how values merge.

    The core calls `add`, `merge`, `pack` and `unpack`; a subclass says what they do in `added` and `merged`, which may
    raise. One that is pickled must bring along what it needs.
    """

    def added(self, value: Any, batch: Batch) -> Any:
        """Return the value of the frames so far (None for none) and of those of a batch."""
        raise NotImplementedError(f"{type(self).__name__} does not say what becomes of frames")

    def merged(self, value: Any, following: Any) -> Any:
        """Return the value of frames and of those that follow."""
        raise NotImplementedError(f"{type(self).__name__} does not say how values merge")

    def add(self, value: Any, *batch: Any) -> Any:
        """Return the value with a batch added; see `added`."""
        return self.added(value, Batch(*batch))

    def merge(self, value: Any, following: Any) -> Any:
        """Return the merged value, or what says that there is none."""
        if value is None or following is None:
            return following if value is None else value
        for one in (value, following):
            if isinstance(one, Failed):
                return one
        return _caught("merging", lambda: self.merged(value, following))

    def pack(self, value: Any) -> bytes:
        """Return a value as bytes."""
        found = _caught("sending a value", lambda: packed(value, "a value"))
        return pickle.dumps(found) if isinstance(found, Failed) else bytes(found)

    def unpack(self, content: bytes) -> Any:
        """Return the value that was packed."""
        return _caught("receiving a value", lambda: pickle.loads(content))  # noqa: S301 (from our own processes)


def name_of(function: Callable[..., Any]) -> str:
    """Name a function of a user's, for errors."""
    return f"the function {getattr(function, '__name__', type(function).__name__)}()"


def whole_of(value: Any) -> Any:
    """Return the value of all frames.

    Raises
    ------
    FunctionError
        If values could not be merged, or not be sent.
    """
    if isinstance(value, Failed):
        raise FunctionError(value.message)
    return value


def _caught(doing: str, compute: Callable[[], T]) -> T | Failed:
    """Compute, where nothing may be raised: between frames, when nobody listens."""
    try:
        return compute()
    except KeyboardInterrupt:
        interrupt_main()  # it is raised where the run looks for it
        return Failed(f"{doing} was interrupted")
    except Exception as error:  # noqa: BLE001 (whatever a user's code raises)
        return Failed(f"{doing}: {said(error)}")
