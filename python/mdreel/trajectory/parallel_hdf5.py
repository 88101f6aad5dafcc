"""H5MD files that all MPI ranks open collectively through parallel HDF5."""

import os
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSet, Source, foreign_source
from mdreel.errors import FormatError, UnsupportedError
from mdreel.execution.source_name import source_name
from mdreel.trajectory.h5md import positions_in
from mdreel.trajectory.hdf5 import import_h5py, open_hdf5
from mdreel.trajectory.mdanalysis_source import Frame

BATCH_BYTES = 8 << 20
"""Approximate size of the coordinates that are read per call."""


@dataclass(frozen=True)
class SharedPositions:
    """Dataset of positions, and all other frame data, which one rank reads on behalf of all ranks.

    Attributes
    ----------
    path : str
        The file.
    n_bytes : int
        Size of the file.
    dataset : str
        Name of the positions dataset.
    unit : float
        Conversion factor to Å.
    n_atoms : int
        Number of atoms.
    times, steps : ndarray, shape (n_frames,), float64 and int64
        Time (ps) and integration step of each frame.
    dimensions : ndarray, shape (n_frames, 6), float32
        Lengths (Å) and angles (degrees) of the cell in each frame.
    has_cell : ndarray, shape (n_frames,), bool
        Whether each frame has a cell.
    """

    path: str
    n_bytes: int
    dataset: str
    unit: float
    n_atoms: int
    times: NDArray[np.float64]
    steps: NDArray[np.int64]
    dimensions: NDArray[np.float32]
    has_cell: NDArray[np.bool_]

    @classmethod
    def of(cls, source: Source, is_collective: bool) -> Self:
        """Read the description of an open trajectory from its file.

        Parameters
        ----------
        source : Source
            The trajectory.
        is_collective : bool
            Whether the ranks will read collectively.

        Raises
        ------
        UnsupportedError
            If the trajectory is not a single H5MD file with positions, if chunks are missing and the ranks read
            collectively, or if h5py was built without MPI.
        """
        if source.format != "H5MD":
            raise UnsupportedError(
                f"{source_name(source)}: parallel HDF5 is for one file of H5MD, this is {source.format}"
            )
        facts = source.describe()[0]
        path = str(facts["path"])
        _check_h5py(path)
        with open_hdf5(path) as file:
            dataset, unit = positions_in(file, path, facts["group of particles"])
            name, is_stored = str(dataset.name), _is_stored(dataset)
        if is_collective and not is_stored:
            # HDF5 1.10 fails on some ranks while the others wait for them (MPI_File_set_view: invalid datatype).
            message = f"{name} has chunks that are not stored, which HDF5 does not read collectively"
            raise UnsupportedError(f"{message}: use 'hdf5-independent'", path=path)
        frames = source.read(FrameSet.range(0, 1, source.n_frames), np.empty(0, np.uint32))
        about = (frames.times, frames.steps, frames.dimensions, frames.has_cell)
        return cls(path, int(facts["size"]), name, unit, source.n_atoms, *about)

    def check(self) -> None:
        """Check that this process can read the file.

        Raises
        ------
        UnsupportedError
            If h5py was built without MPI.
        FormatError
            If a different file has this path on this host.
        """
        _check_h5py(self.path)
        n_bytes = Path(self.path).stat().st_size
        if n_bytes != self.n_bytes:
            there = f"{self.n_bytes} where the run was begun: it is not the same file"
            raise FormatError(f"{n_bytes} bytes are seen here, {there}", path=self.path)

    def open(self, atoms: NDArray[np.uint32], communicator: Any, is_collective: bool) -> "PositionsTogether":
        """Open the file collectively. See `PositionsTogether`."""
        return PositionsTogether(self, atoms, communicator, is_collective)


class PositionsTogether:
    """Positions in a file that all ranks have opened collectively.

    Parameters
    ----------
    described : SharedPositions
        Description of the positions.
    atoms : ndarray, shape (n_wanted,), uint32
        Ascending indices of the atoms. Rows before the first atom and after the last atom are not read.
    communicator : mpi4py.MPI.Comm
        The ranks, which open the file collectively.
    is_collective : bool
        Whether the ranks also read collectively. In this case, each rank has to make the same number of calls. See
        `join`.
    """

    def __init__(
        self, described: SharedPositions, atoms: NDArray[np.uint32], communicator: Any, is_collective: bool
    ) -> None:
        import h5py

        self.described = described
        self._h5py: Any = h5py
        self._rows = (int(atoms[0]), int(atoms[-1]) + 1)
        self._n_reads = 0
        self._n_batch_frames = 1
        self._dataset: Any = None
        self._stored: NDArray[Any] = np.empty((0, 0, 3), np.float32)
        self._transfer = h5py.h5p.create(h5py.h5p.DATASET_XFER)
        if is_collective:
            self._transfer.set_dxpl_mpio(self._h5py.h5fd.MPIO_COLLECTIVE)
        self._file = h5py.File(described.path, "r", driver="mpio", comm=communicator)
        # HDF5 does not say that a file was cut. The system does, for the open file and not for another one of its name.
        self._plain_file = Path(described.path).open("rb")  # noqa: SIM115 (closed together with the file of HDF5)

    def find(self) -> int:
        """Open the positions dataset, and return the number of frames to read per call.

        Raises
        ------
        FormatError
            If the dataset differs from the description.
        """
        about, found = self.described, self._file[self.described.dataset]
        expected = (len(about.times), about.n_atoms, 3)
        if found.shape != expected:
            raise FormatError(f"{about.dataset}: expected the shape {expected}, got {found.shape}", path=about.path)
        self._dataset = found
        # Read whole chunks, so that none is decoded twice.
        chunk = found.chunks[0] if found.chunks else 1
        frame_bytes = 3 * about.n_atoms * found.dtype.itemsize
        self._n_batch_frames = chunk * max(1, round(BATCH_BYTES / (chunk * frame_bytes)))
        return self._n_batch_frames

    def source(self) -> Source:
        """Return the trajectory as a source for this rank. Do not use the source after the file is closed."""
        about = self.described
        facts = {"format": "H5MD", "path": Path(about.path), "size": about.n_bytes, "read by": "parallel HDF5"}
        n_frames = len(about.times)
        return foreign_source(
            self, about.path, about.n_atoms, n_frames, about.n_bytes, ["positions"], facts, (_not_again, (about.path,))
        )

    def open(self) -> "BatchReader":
        """Return a reader for one worker."""
        return BatchReader(self, self._n_batch_frames)

    def times(self) -> list[float]:
        """Return the time of each frame, in ps."""
        return [float(time) for time in self.described.times]

    def read(self, frames: NDArray[np.uint64], target: NDArray[np.float32], alone: bool = False) -> None:
        """Read frames with a single call to the library.

        Parameters
        ----------
        frames : ndarray, shape (n,), uint64
            Frame numbers in any order. The array may be empty if the ranks read collectively.
        target : ndarray, shape (n, n_atoms, 3), float32
            Array to which the positions are written, in Å.
        alone : bool
            Whether to make this call independently of the other ranks.

        Raises
        ------
        FormatError
            If the file is shorter than before. HDF5 returns zeros for the bytes behind its end.
        """
        h5s = self._h5py.h5s
        low, high = self._rows
        ascending, places = np.unique(frames, return_inverse=True)
        stored = self._memory(len(ascending))
        memory, there = h5s.create_simple(stored.shape), self._dataset.id.get_space()
        if not len(frames):
            memory.select_none()
            there.select_none()
        for first, step, count in _runs(ascending):
            operation = h5s.SELECT_SET if first == ascending[0] else h5s.SELECT_OR
            shape = (1, high - low, 3)
            there.select_hyperslab((first, low, 0), (count, 1, 1), stride=(step, 1, 1), block=shape, op=operation)
        self._n_reads += not alone  # counted even if it fails, because the other ranks count it as well
        try:
            self._dataset.id.read(memory, there, stored, dxpl=None if alone else self._transfer)
        finally:
            if len(frames):
                self._check_size()
        # As in the core: integers are converted through double precision, and units in single precision.
        single = stored if stored.dtype == np.float32 else stored.astype(np.float64).astype(np.float32)
        in_order = single if np.array_equal(frames, ascending) else single[places]
        np.multiply(in_order[: len(frames)], np.float32(self.described.unit), out=target[:, low:high])

    def _check_size(self) -> None:
        """Check that the file has not become shorter."""
        before, now = self.described.n_bytes, os.fstat(self._plain_file.fileno()).st_size
        if now < before:
            message = f"the file was cut while being read: it had {before} bytes, now {now}"
            raise FormatError(message, path=self.described.path)

    def _memory(self, n_frames: int) -> NDArray[Any]:
        """Return memory for a number of frames, at least one, as they are stored. All calls share this memory."""
        low, high = self._rows
        shape = (max(n_frames, 1), high - low, 3)
        if len(self._stored) < shape[0]:
            self._stored = np.empty(shape, self._dataset.dtype.newbyteorder("="))
        return self._stored[: shape[0]]

    def join(self, n_reads: int) -> None:
        """Take part in collective calls without reading any frames, until `n_reads` calls have been made."""
        nothing = np.empty((0, self.described.n_atoms, 3), np.float32)
        while self._n_reads < n_reads:
            self.read(np.empty(0, np.uint64), nothing)

    def close(self) -> None:
        """Close the file collectively."""
        self._plain_file.close()
        self._file.close()


class BatchReader:
    """Reader that reads announced frames in batches.

    Parameters
    ----------
    positions : PositionsTogether
        The positions.
    n_batch_frames : int
        Number of frames to read per call.
    """

    def __init__(self, positions: PositionsTogether, n_batch_frames: int) -> None:
        self._positions = positions
        self._most = n_batch_frames
        self._numbers = np.empty(0, np.uint64)
        self._first = self._next = self._end = 0
        self._alone_until = 0
        self._batch = np.empty((0, positions.described.n_atoms, 3), np.float32)

    def expect(self, frames: FrameSet) -> None:
        """Announce the frames that will be read, in this order."""
        self._numbers = frames.numbers()
        self._first = self._next = self._end = self._alone_until = 0

    def frame(self, number: int) -> Frame:
        """Read a frame. See `mdreel.trajectory.mdanalysis_source.ForeignReader.frame`."""
        if self._next == self._end:
            self._read_batch()
        positions = self._batch[self._next - self._first]
        self._next += 1
        about = self._positions.described
        cell = about.dimensions[number] if about.has_cell[number] else None
        return [positions, None, None], cell, float(about.times[number]), int(about.steps[number])

    def _read_batch(self) -> None:
        self._first, self._end = self._end, min(self._end + self._most, len(self._numbers))
        numbers = self._numbers[self._first : self._end]
        if len(self._batch) < len(numbers):
            self._batch = np.zeros((len(numbers), *self._batch.shape[1:]), np.float32)
        if self._first >= self._alone_until:
            try:
                self._positions.read(numbers, self._batch[: len(numbers)])
            except OSError:
                # Reading each frame alone shows which one is damaged.
                self._alone_until = self._end
            else:
                return
        self._end = self._first + 1
        self._positions.read(numbers[:1], self._batch[:1], alone=True)


def _runs(numbers: NDArray[np.uint64]) -> list[tuple[int, int, int]]:
    """Split ascending numbers into runs, each given by its first number, step and count."""
    steps = np.diff(numbers)
    if len(steps) == 0 or (steps == steps[0]).all():
        return [(int(numbers[0]), int(steps[0]) if len(steps) else 1, len(numbers))] if len(numbers) else []
    pieces = np.split(numbers, np.flatnonzero(steps != 1) + 1)
    return [(int(piece[0]), 1, len(piece)) for piece in pieces]


def _is_stored(dataset: Any) -> bool:
    """Return whether all chunks of a dataset are stored. HDF5 returns fill values for missing chunks."""
    if dataset.chunks is None:
        return dataset.id.get_offset() is not None
    grid = (-(-length // piece) for length, piece in zip(dataset.shape, dataset.chunks, strict=True))
    return bool(dataset.id.get_num_chunks() == prod(grid))


def _check_h5py(path: str) -> None:
    h5py = import_h5py(path)
    if not h5py.get_config().mpi:
        build = "CC=mpicc HDF5_MPI=ON HDF5_DIR=... pip install --no-binary h5py --no-cache-dir h5py"
        raise UnsupportedError(
            f"{path}: parallel HDF5 needs an h5py that is built with the MPI of the launcher, this one is serial: "
            f"{build}, where HDF5_DIR is an HDF5 that is built with it, too"
        )


def _not_again(path: str) -> None:
    raise UnsupportedError("a file that MPI ranks have opened together cannot be pickled", path=path)
