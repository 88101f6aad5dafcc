"""Requests to read atoms, frames and quantities of a trajectory into arrays."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mdreel._core import FrameSet, Source, await_arrival, read_into
from mdreel.errors import ArgumentError, FrameIndexError, MismatchError, SelectionError, UnsupportedError
from mdreel.execution.available_cores import available_processors
from mdreel.execution.blocks import Frames, select_frames
from mdreel.execution.damage import DamagedFrame, damaged_frames, warn_of_damage
from mdreel.execution.progress import Progress
from mdreel.execution.source_name import source_name
from mdreel.foundation.arguments import shown
from mdreel.trajectory.atom_counts import topology_mismatch
from mdreel.trajectory.frame_arrays import UNITS, Coordinates, FrameArrays
from mdreel.trajectory.open import open as open_trajectory
from mdreel.trajectory.opener import Opener
from mdreel.trajectory.selection import Selection, atoms_of
from mdreel.trajectory.universe import source_of

Order: TypeAlias = Literal["fac", "fca", "afc", "acf", "caf", "cfa"]
"""Order of axes: f for frames, a for atoms, c for coordinates."""

_CHUNK_BYTES = 32 << 20
_PORTION_BYTES = 2 << 20
_PORTIONS_PER_WORKER = 4
_WAIT_SECONDS = 1.0


@dataclass(frozen=True)
class Reading:
    """Request to read atoms, frames and quantities of a trajectory into arrays."""

    source: Source
    atoms: NDArray[np.uint32]
    places: NDArray[np.uint32] | None
    quantities: tuple[str, ...]
    dtype: "np.dtype[Any]"
    order: str
    n_workers: int

    @classmethod
    def of(
        cls,
        trajectory: Any,
        atoms: Any,
        quantities: str | Sequence[str],
        dtype: DTypeLike,
        order: str,
        n_workers: int | None,
        on_error: str,
    ) -> Self:
        """Check the arguments of `mdreel.read` and open the trajectory."""
        if sorted(order) != sorted("fac"):
            raise UnsupportedError(f"order must have the letters f, a and c, each once, not {order!r}")
        try:
            kind = np.dtype(dtype)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"dtype must be float32 or float64, not {shown(dtype)}") from error
        if kind not in (np.float32, np.float64):
            raise UnsupportedError(f"dtype must be float32 or float64, not {kind}")
        names = (quantities,) if isinstance(quantities, str) else tuple(dict.fromkeys(quantities))
        if unknown := [name for name in names if name not in UNITS]:
            raise UnsupportedError(f"unknown quantity {unknown[0]!r}; known: {', '.join(UNITS)}")
        if not names:
            raise MismatchError(f"quantities must name at least one of {', '.join(UNITS)}")
        if n_workers is not None and n_workers < 1:
            raise MismatchError(f"n_workers must be 1 or more, not {n_workers}")
        source = _open(trajectory).with_on_error(on_error)
        if missing := [name for name in names if name not in source.quantities]:
            raise MismatchError(f"the trajectory has no {missing[0]}", path=source_name(source))
        indices, places = _indices_of(source, trajectory, atoms)
        in_order = any(one.needs_order for one in source.transformations)
        n_threads = 1 if in_order else n_workers or available_processors()
        return cls(source, indices, places, names, kind, order, n_threads)

    @property
    def n_atoms(self) -> int:
        """Number of atoms in the arrays."""
        return len(self.atoms if self.places is None else self.places)

    @property
    def chunk_frames(self) -> int:
        """Number of frames that fit into 32 MiB, at least 1."""
        return max(_CHUNK_BYTES // self.frame_bytes, 1)

    @property
    def frame_bytes(self) -> int:
        """Size of a frame in the arrays, in bytes."""
        return 3 * self.n_atoms * len(self.quantities) * self.dtype.itemsize

    def arrays(self, n_frames: int) -> dict[str, Coordinates]:
        """Return new arrays for a number of frames."""
        shape = self._shape(n_frames)
        try:
            return {name: np.empty(shape, self.dtype) for name in self.quantities}
        except (MemoryError, ValueError) as error:
            size = n_frames * self.frame_bytes / 2**30
            message = (
                f"{n_frames:,} frames of {self.n_atoms:,} atoms take {size:,.1f} GiB, more than the available memory"
            )
            raise UnsupportedError(f"{message}: read fewer frames, or use iread", path=self.name) from error

    def checked(self, out: Coordinates | Mapping[str, Coordinates], n_frames: int) -> dict[str, Coordinates]:
        """Check the arrays that the user provided, and return them by quantity."""
        given = dict(out) if isinstance(out, Mapping) else dict.fromkeys(self.quantities, out)
        if len(given) > 1 and not isinstance(out, Mapping):
            raise MismatchError("out must be a mapping of names to arrays, because there are several quantities")
        if set(given) != set(self.quantities):
            raise MismatchError(f"out must have arrays for {', '.join(self.quantities)}, got {', '.join(given)}")
        shape = self._shape(n_frames)
        for name, array in given.items():
            if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != self.dtype:
                what = (
                    f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
                )
                raise MismatchError(f"out must be {self.dtype} of shape {shape} for {name}, got {what}")
            if not array.flags.writeable:
                raise MismatchError(f"out for {name} is read-only")
        return given

    def fill(
        self, frames: FrameSet, arrays: Mapping[str, Coordinates], monitor: Callable[[int], object] | None = None
    ) -> FrameArrays:
        """Read frames into arrays."""
        n_frames = len(frames)
        of_bytes = max(_PORTION_BYTES // self.frame_bytes, 16)
        portion = max(min(of_bytes, -(-n_frames // (_PORTIONS_PER_WORKER * self.n_workers))), 1)
        if any(one.needs_order for one in self.source.transformations):
            portion = n_frames
        views = [(name, self.in_frames(arrays[name])) for name in self.quantities]
        numbers, times, steps, cells, counts, records = read_into(
            self.source, frames, self.atoms, self.places, views, portion, self.n_workers, monitor
        )
        n_read = len(numbers)
        if n_read == 0:
            raise FrameIndexError("no frame is left: all are damaged", path=self.name)
        values = {name: arrays[name] for name in self.quantities}
        if n_read < n_frames:
            kept = np.concatenate([np.arange(count) + portion * i for i, count in enumerate(counts)])
            for _, view in views:
                view[:n_read] = view[kept]
            values = {name: self.in_order(view[:n_read]) for name, view in views}
        return self.result(values, numbers, times, steps, cells, damaged_frames(records))

    def frames(self, start: int | None, stop: int | None, step: int | None, frames: Frames | None) -> FrameSet:
        """Return the frames to read from a trajectory that does not grow."""
        selected = select_frames(self.source, start, stop, step, frames)
        if selected is None:
            self.source.check_end()
            selected = FrameSet.range(0, 1, self.source.n_frames)
        return selected

    def cut(self, frames: FrameSet, chunk: int) -> Iterator[FrameSet]:
        """Yield the frames in chunks."""
        numbers = frames.numbers()
        for first in range(0, len(numbers), chunk):
            part = numbers[first : first + chunk]
            steps = np.diff(part.astype(np.int64))
            if len(part) == 1 or (steps[0] > 0 and (steps == steps[0]).all()):
                yield FrameSet.range(int(part[0]), int(steps[0]) if len(steps) else 1, len(part))
            else:
                yield FrameSet.list(part)

    def arriving(
        self, start: int | None, stop: int | None, step: int | None, frames: Frames | None, chunk: int
    ) -> Iterator[FrameSet]:
        """Return the frames of a growing trajectory as they arrive, at most `chunk` at a time."""
        select_frames(self.source, start, stop, step, frames)  # refuses options that need the number of frames
        return self._arrivals(start or 0, stop, step or 1, chunk)

    def _arrivals(self, first: int, stop: int | None, step: int, chunk: int) -> Iterator[FrameSet]:
        while stop is None or first < stop:
            n_there, is_ended = await_arrival(self.source, first, step, _WAIT_SECONDS)
            end = n_there if stop is None else min(n_there, stop)
            n_frames = min(len(range(first, end, step)), chunk)
            if n_frames:
                yield FrameSet.range(first, step, n_frames)
                first += n_frames * step
            elif is_ended:
                return

    def chunks(self, parts: Iterable[FrameSet], chunk: int) -> Iterator[FrameArrays]:
        """Yield chunks of at most `chunk` frames. All chunks share the same memory."""
        buffers: dict[str, Coordinates] = {}
        for part in parts:
            n_frames = len(part)
            if not buffers:
                # The first chunk is the largest, unless more frames may arrive.
                buffers = self.arrays(chunk if self.source.is_growing else n_frames)
            views = {name: self.in_order(self.in_frames(array)[:n_frames]) for name, array in buffers.items()}
            found = self.fill(part, views)
            warn_of_damage(found.damage, self.source.on_error)
            yield found

    @property
    def name(self) -> str:
        """Name of the trajectory in error messages."""
        return source_name(self.source)

    def _shape(self, n_frames: int) -> tuple[int, ...]:
        sizes = {"f": n_frames, "a": self.n_atoms, "c": 3}
        return tuple(sizes[axis] for axis in self.order)

    def in_frames(self, array: Coordinates) -> Coordinates:
        """Return a view of an array in the user's order, with the axes frames, atoms, coordinates."""
        return array.transpose([self.order.index(axis) for axis in "fac"])

    def in_order(self, array: Coordinates) -> Coordinates:
        """Return a view, in the user's order, of an array with the axes frames, atoms, coordinates."""
        return array.transpose(["fac".index(axis) for axis in self.order])

    def result(
        self,
        values: Mapping[str, Coordinates],
        numbers: NDArray[np.uint64],
        times: NDArray[np.float64],
        steps: NDArray[np.int64],
        cells: NDArray[np.float32],
        damage: tuple[DamagedFrame, ...],
    ) -> FrameArrays:
        """Return the arrays together with the data of their frames."""
        return FrameArrays(values, numbers.astype(np.int64), times, steps, cells, damage, self.order)


def read_to_end(reading: Reading, parts: Iterable[FrameSet], progress: bool) -> FrameArrays:
    """Read a growing trajectory until it ends. The arrays grow with the trajectory."""
    growing = {name: _GrowingArray(reading) for name in reading.quantities}
    columns = []
    with Progress("reading", None, enabled=progress) as bar:
        for found in reading.chunks(parts, reading.chunk_frames):
            for name, values in found.quantities.items():
                growing[name].extend(reading.in_frames(values))
            columns.append((found.frames, found.times, found.steps, found.cells))
            bar.update(sum(len(times) for _, times, _, _ in columns))
    if not columns:
        raise FrameIndexError("the trajectory ended before the first requested frame", path=reading.name)
    quantities = {name: reading.in_order(array.values()) for name, array in growing.items()}
    numbers, times, steps, cells = (np.concatenate(column) for column in zip(*columns, strict=True))
    return reading.result(quantities, numbers, times, steps, cells, ())


class _GrowingArray:
    """An array of shape (n_frames, n_atoms, 3) to which frames are appended."""

    def __init__(self, reading: Reading) -> None:
        self.n_frames = 0
        self._array: Coordinates = np.empty((0, reading.n_atoms, 3), reading.dtype)

    def extend(self, values: Coordinates) -> None:
        """Add frames."""
        end = self.n_frames + len(values)
        if end > len(self._array):
            # The system moves the pages of a large array, without a copy.
            self._array.resize((max(end, len(self._array) * 5 // 4), *self._array.shape[1:]), refcheck=False)
        self._array[self.n_frames : end] = values
        self.n_frames = end

    def values(self) -> Coordinates:
        """Return the frames that have been added so far."""
        return self._array[: self.n_frames]


def _open(trajectory: Any) -> Source:
    if hasattr(trajectory, "universe"):
        if not hasattr(trajectory, "select_atoms") or trajectory.universe is not trajectory:
            found = "trajectory is a group: give its Universe as the trajectory, and the group as atoms"
            raise ArgumentError(f"{found}, as in read(group.universe, group)")
        return source_of(trajectory.universe)
    if isinstance(trajectory, Source):
        return trajectory
    if isinstance(trajectory, Opener):
        return trajectory.source()
    return open_trajectory(trajectory)


def _indices_of(source: Source, trajectory: Any, atoms: Any) -> tuple[NDArray[np.uint32], NDArray[np.uint32] | None]:
    """Return ascending indices of atoms, and if the order differs, the position of each requested atom among them."""
    if isinstance(atoms, str):
        if not hasattr(trajectory, "select_atoms"):
            raise SelectionError(
                f"atoms is the selection '{atoms}', which needs a topology: give a Universe as the trajectory, or an "
                "AtomGroup"
            )
        atoms = atoms_of(trajectory, atoms, "atoms")
    if atoms is None:
        return np.arange(source.n_atoms, dtype=np.uint32), None
    if hasattr(atoms, "universe"):
        group = atoms_of(atoms, name="atoms")
        if len(group.universe.atoms) != source.n_atoms:
            raise topology_mismatch(source, len(group.universe.atoms))
        selection = Selection.of(group, "atoms")
        indices, places = selection.atoms, selection.places
    else:
        given = np.asarray(atoms)
        if given.ndim != 1 or not given.size or not np.issubdtype(given.dtype, np.integer):
            raise SelectionError(
                f"atoms must be an AtomGroup or a list of indices, got {given.dtype} of shape {given.shape}"
            )
        if given.min() < 0 or given.max() >= source.n_atoms:
            wrong = given.min() if given.min() < 0 else given.max()
            message = f"there is no atom {wrong}: the trajectory has {source.n_atoms} atoms, counted from 0"
            raise MismatchError(message, path=source_name(source))
        indices, places = np.unique(given.astype(np.uint32), return_inverse=True)
    is_same = len(places) == len(indices) and bool((np.diff(places) > 0).all())
    return indices, None if is_same else places.astype(np.uint32)
