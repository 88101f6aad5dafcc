"""Read-ahead of frames for sequential access."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameReader, Frames, FrameSet, Source
from mdreel.errors import FormatError, MdreelWarning
from mdreel.trajectory.array_reading import Order
from mdreel.trajectory.read import read

# Limits of reading ahead: the number of frames that the core decodes side by side, which makes the cost of a call
# negligible, and a size for which coordinates stay in the cache of the processor.
AHEAD_FRAMES = 16
AHEAD_BYTES = 8 << 20


class StoredFrame(NamedTuple):
    """A frame from the core. The arrays are views of a batch, so copy them before you modify them."""

    positions: NDArray[np.float32] | None  # (n_atoms, 3), Å
    velocities: NDArray[np.float32] | None  # (n_atoms, 3), Å/ps
    forces: NDArray[np.float32] | None  # (n_atoms, 3), kJ/(mol Å)
    dimensions: NDArray[np.float32] | None  # (6,), Å and degrees
    time: float  # ps
    step: int
    lambda_: float  # NaN in formats without it


class ReadAhead:
    """Provides the frames of a trajectory in any order.

    Parameters
    ----------
    read : callable
        Function that opens the trajectory. It is called again after unpickling.
    atoms : numpy.ndarray, shape (n,), int, optional
        The atoms, in any order. By default, all atoms.
    of_vectors : bool, default False
        Whether cells are stored as vectors. As in MDAnalysis, vectors that do not span a volume mean that there is no
        cell.

    Attributes
    ----------
    n_atoms, n_frames : int
        Numbers of atoms and frames of the trajectory.
    """

    # Frames that were read ahead, and their numbers.
    _numbers: range
    _batch: list[StoredFrame]
    # The last requested frame, its distance from the one before, and the number of frames that were read for it.
    _last: int
    _step: int
    _n_ahead: int

    def __init__(
        self, read: Callable[[], Source], atoms: NDArray[np.int64] | None = None, of_vectors: bool = False
    ) -> None:
        self._open_source, self._atoms, self._of_vectors = read, atoms, of_vectors
        self.reopen()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._open_source, self._atoms, self._of_vectors)

    def reopen(self) -> None:
        """Open the trajectory again."""
        self._source: Source | None = self._open_source()
        self.n_atoms, self.n_frames = self._source.n_atoms, self._source.n_frames
        self._wanted, self._places = _ascending(self._atoms, self.n_atoms)
        self._quantities = self._source.quantities
        frame_bytes = 12 * len(self._wanted) * max(len(self._quantities), 1)
        self._reader: FrameReader | None = self._source.reader(self._wanted, self._quantities)
        self._most = min(max(AHEAD_BYTES // max(frame_bytes, 1), 1), AHEAD_FRAMES)
        self._forget()

    def warn_of_torn_end(self) -> None:
        """Warn about an incomplete frame at the end, which MDAnalysis cannot report."""
        try:
            if self._source is not None:
                self._source.check_end()
        except FormatError as error:
            warnings.warn(str(error), MdreelWarning, stacklevel=2)

    def close(self) -> None:
        """Close the file, and discard frames that were read."""
        self._source = self._reader = None
        self._forget()

    @property
    def is_closed(self) -> bool:
        """Whether the file is closed."""
        return self._source is None

    def frame(self, number: int) -> StoredFrame:
        """Return a frame. It may have been read ahead.

        Parameters
        ----------
        number : int
            Number of the frame, starting from 0.

        Returns
        -------
        StoredFrame
            The frame.

        Raises
        ------
        OSError
            If the trajectory is closed.
        FormatError
            If the frame is damaged.
        """
        if number not in self._numbers:
            step = number - self._last
            self._n_ahead = min(2 * self._n_ahead, self._most) if step == self._step else 1
            self._step = step or 1
            self._fetch_from(number)
        self._last = number
        return self._batch[self._numbers.index(number)]

    def fetch(self, numbers: range) -> None:
        """Read frames for later calls of `frame`.

        Parameters
        ----------
        numbers : range
            Numbers of the frames.
        """
        # Free old frames first, so that new ones reuse their memory: fresh memory costs as much as decoding.
        self._numbers, self._batch = range(0), []
        if self._reader is None:
            raise OSError("the trajectory is closed")
        self._batch = self._taken_apart(self._reader.read(_frame_set(numbers)))
        self._numbers = numbers

    def positions(
        self, numbers: range, atoms: NDArray[np.int64] | None, order: Order = "fac"
    ) -> NDArray[np.floating[Any]] | None:
        """Read the positions of some atoms in many frames at once, using all processors.

        Parameters
        ----------
        numbers : range
            Numbers of the frames. There must be at least one frame.
        atoms : numpy.ndarray, shape (n,), int, optional
            The atoms, in any order. By default, all atoms.
        order : str
            Order of the axes, where f stands for frames, a for atoms, and c for coordinates.

        Returns
        -------
        numpy.ndarray, float32, or None
            Positions in Å. None if there are NaN values, which indicate that a frame could have no positions.
        """
        if self._source is None:
            raise OSError("the trajectory is closed")
        # A range down to the first frame has no end that a slice can name.
        window = {"frames": list(numbers)} if numbers.step < 0 else _slice_of(numbers)
        positions = read(self._source, atoms, order=order, **window).positions
        assert positions is not None
        first_atom = positions.take(0, axis=order.index("a"))
        return None if np.isnan(first_atom).any() else positions

    def _forget(self) -> None:
        self._numbers, self._batch = range(0), []
        self._last, self._step, self._n_ahead = -1, 1, 1

    def _fetch_from(self, number: int) -> None:
        end = max(number + self._n_ahead * self._step, -1) if self._step < 0 else number + self._n_ahead * self._step
        numbers = range(number, min(end, self.n_frames), self._step)
        try:
            self.fetch(numbers)
        except FormatError:
            if len(numbers) == 1:
                raise
            # A later frame is damaged, which is an error only when it is requested.
            self._n_ahead = 1
            self.fetch(numbers[:1])

    def _taken_apart(self, frames: Frames) -> list[StoredFrame]:
        has_cell = frames.has_cell
        if self._of_vectors:
            lengths_and_angles = frames.dimensions
            # NaN, the angle with a vector of no length, is not above 0.
            has_cell = has_cell & (lengths_and_angles > 0).all(axis=1) & (lengths_and_angles[:, 3:] < 180).all(axis=1)
        columns = zip(
            self._rows(frames.positions, frames.has_positions),
            self._rows(frames.velocities, frames.has_velocities),
            self._rows(frames.forces, frames.has_forces),
            (cell if has else None for cell, has in zip(frames.dimensions, has_cell, strict=True)),
            frames.times.tolist(),
            frames.steps.tolist(),
            frames.lambdas.tolist(),
            strict=True,
        )
        return [StoredFrame(*values) for values in columns]

    def _rows(self, values: NDArray[np.float32] | None, has: NDArray[np.bool_]) -> list[NDArray[np.float32] | None]:
        if values is None:
            return [None] * len(has)
        if self._places is not None:
            values = values[:, self._places]
        return [row if present else None for row, present in zip(values, has, strict=True)]


def _slice_of(numbers: range) -> dict[str, Any]:
    return {"start": numbers.start, "stop": numbers.stop, "step": numbers.step}


def _frame_set(numbers: range) -> FrameSet:
    if numbers.step > 0:
        return FrameSet.range(numbers.start, numbers.step, len(numbers))
    return FrameSet.list(np.array(numbers, np.uint64))


def _ascending(atoms: NDArray[np.int64] | None, n_atoms: int) -> tuple[NDArray[np.uint32], NDArray[np.intp] | None]:
    """Return ascending indices, and the position of each requested atom among them (None if already ascending)."""
    if atoms is None:
        return np.arange(n_atoms, dtype=np.uint32), None
    unique, places = np.unique(atoms, return_inverse=True)
    in_order = len(unique) == len(atoms) and bool((np.diff(atoms) > 0).all())
    return unique.astype(np.uint32), None if in_order else places
