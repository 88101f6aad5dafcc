"""Own functions: what a user's function makes of frames, on every executor."""

import pickle
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, FrameSet, Source, function
from mdreel.analysis.analysis import Analysis, Trajectory
from mdreel.analysis.tally import Tally
from mdreel.errors import FunctionError, MismatchError, UnsupportedError

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

Per = Literal["frame", "block"]
"""What a function is given at a time: one frame, or several."""

Reduce = Literal["sum", "mean"]
"""What is made of the values of all frames."""


class FunctionAnalysis(Analysis):
    """What a function makes of each frame; see `from_function`.

    Attributes
    ----------
    results.timeseries : ndarray, shape (n_frames, ...), float64
        Without a reducer: what the function returned for each frame.
    results.sum, results.mean : ndarray or float
        With the reducer of that name.
    """

    def __init__(
        self,
        given: Callable[..., Any],
        atomgroup: "AtomGroup",
        per: Per,
        reduce: Reduce | None,
        trajectory: Trajectory | None,
    ) -> None:
        if not callable(given):
            raise MismatchError(f"expected a function, got {type(given).__name__}")
        if per not in ("frame", "block"):
            raise MismatchError(f"per must be 'frame' or 'block', not {per!r}")
        if reduce not in (None, "sum", "mean"):
            raise MismatchError(f"reduce must be None, 'sum' or 'mean', not {reduce!r}")
        super().__init__(atomgroup, trajectory)
        self._function, self._per, self._reduce = given, per, reduce

    def computation(self, source: Source) -> Computation:
        """Call the function for the first frame, to see what it returns, and return what calls it for every frame."""
        places = self._selection.places.astype(np.uint32)
        first = source.read(FrameSet.range(0, 1, 1), self.atoms).positions[:, self._selection.places]
        shape = Checked(self._function, self._per == "block", None).shape_of(first)
        checked = Checked(self._function, self._per == "block", shape)
        n_columns = int(np.prod(shape, dtype=np.int64))
        return function(checked, len(self.atoms), places, n_columns, self._reduce is not None)

    def conclude(self, tally: Tally) -> None:
        """Bring values, or sums, into the shape that the function has."""
        shape = tally.arguments[0].shape
        if self._reduce is None:
            self.results.timeseries = tally.values.reshape(-1, *shape)
        else:
            total = tally.sums if self._reduce == "sum" else tally.sums / tally.n_frames
            self.results[self._reduce] = total.reshape(shape)[()]

    def _describe(self) -> str:
        return f"{getattr(self._function, '__name__', 'a function')}, {super()._describe()}"


class _FrameError(Exception):
    """What is wrong with a frame of several."""

    def __init__(self, place: int, message: str) -> None:
        super().__init__(message)
        self.place = place


@dataclass(frozen=True)
class Checked:
    """A function of positions whose results are checked.

    Attributes
    ----------
    function : callable
        The user's.
    takes_blocks : bool
        Whether it is given several frames.
    shape : tuple of int or None
        Shape of what it returns for a frame; None while nobody knows.
    """

    function: Callable[..., Any]
    takes_blocks: bool
    shape: tuple[int, ...] | None

    def shape_of(self, first: NDArray[np.float32]) -> tuple[int, ...]:
        """Return the shape of what the function returns for a frame, of which `first` is one, shape (1, n_atoms, 3)."""
        try:
            found = self._called(first if self.takes_blocks else first[0])
        except Exception as error:
            raise FunctionError(f"frame 0: {_said(error)}") from error
        if not self.takes_blocks:
            return found.shape
        if found.ndim == 0 or len(found) != 1:
            raise FunctionError(f"expected an array whose first axis is that of the frames, 1, got {found.shape}")
        return found.shape[1:]

    def __call__(self, positions: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return what the function makes of frames, shape (n_frames, n_columns)."""
        values = self._of_block(positions) if self.takes_blocks else self._of_frames(positions)
        return np.ascontiguousarray(values.reshape(len(positions), -1))

    def __reduce__(self) -> tuple[Any, ...]:
        """Take the function along where it cannot be imported, as from a notebook."""
        import cloudpickle

        try:
            content = cloudpickle.dumps(self.function)
        except Exception as error:
            message = f"the function cannot be sent to other processes: {' '.join(str(error).split())}"
            raise UnsupportedError(f"{message}: use threads, or what it needs within the function") from error
        return _came, (content, self.takes_blocks, self.shape)

    def _of_frames(self, positions: NDArray[np.float32]) -> NDArray[np.float64]:
        assert self.shape is not None
        values = np.empty((len(positions), *self.shape))
        for i, frame in enumerate(positions):
            try:
                found = self._called(frame)
            except Exception as error:
                raise _FrameError(i, _said(error)) from error
            if found.shape != self.shape:
                raise _FrameError(i, f"the function returned the shape {found.shape}, for frame 0 {self.shape}")
            values[i] = found
        return values

    def _of_block(self, positions: NDArray[np.float32]) -> NDArray[np.float64]:
        assert self.shape is not None
        expected = (len(positions), *self.shape)
        try:
            values = self._called(positions)
        except Exception as error:
            for i in range(len(positions)):
                try:
                    self._called(positions[i : i + 1])
                except Exception as alone:  # noqa: BLE001 (whatever a user's function raises)
                    raise _FrameError(i, _said(alone)) from error
            raise FunctionError(f"{_said(error)}, for all of these together") from error
        if values.shape != expected:
            raise FunctionError(f"the function returned the shape {values.shape}, expected {expected}")
        return values

    def _called(self, positions: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.asarray(self.function(positions), np.float64)


def _came(content: bytes, takes_blocks: bool, shape: tuple[int, ...] | None) -> Checked:
    return Checked(pickle.loads(content), takes_blocks, shape)  # noqa: S301 (from our own processes)


def _said(error: Exception) -> str:
    """Say in one line what a user's function has raised, and where."""
    text = " ".join(str(error).split())
    named = f"{type(error).__name__}: {text}" if text else type(error).__name__
    # Those of this file are the callers; behind them are the user's, and what they call.
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    return f"{named} (in {frames[0].name}, {frames[0].filename}, line {frames[0].lineno})" if frames else named


def from_function(
    f: Callable[..., Any],
    atomgroup: "AtomGroup",
    *,
    per: Per = "frame",
    reduce: Reduce | None = None,
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
    reduce : {"sum", "mean"}, optional
        Whether values are added up, or their mean is taken, instead of being kept. Sums are exact, in steps of 2^-60.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe.

    Returns
    -------
    FunctionAnalysis
        The analysis: ``run()`` it, on any executor, or in one pass with others.

    Raises
    ------
    MismatchError
        If `f` is no function, or `per` or `reduce` are unknown. When it is run: `FunctionError`, which names the frame,
        if the function raises or returns another shape.

    Notes
    -----
    The function is called once more for the first frame, to see what it returns. Threads take turns in Python's
    interpreter: a function that does its work there is faster with ``backend="processes"``. A function that cannot be
    imported, as of a notebook, is sent along with what it refers to.

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
    return FunctionAnalysis(f, atomgroup, per, reduce, trajectory)
