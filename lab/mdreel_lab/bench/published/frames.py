"""Frames of a block: read by MDAnalysis from files or memory, or by h5py from a file that all ranks open together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import MDAnalysis as mda
import numpy as np
from MDAnalysis.coordinates.memory import MemoryReader

from mdreel.errors import MismatchError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Positions = NDArray[np.float32]

N_COORDINATE_BYTES = 12
"""Bytes of the position of an atom in memory and in HDF5 files."""

_ANGSTROMS = {"Angstrom": 1.0, "nm": 10.0}


class Frames(Protocol):
    """Open frames of a block."""

    def times(self) -> Iterator[float]:
        """Load one frame after another, and yield the time of each, ps."""

    def positions(self) -> Positions:
        """Return the positions of the chosen atoms in the loaded frame, shape (n_atoms, 3), Å."""

    def close(self) -> None:
        """Close the file."""


class OfUniverse:
    """Frames of a Universe, one loaded at a time.

    Parameters
    ----------
    universe : MDAnalysis.Universe
        The Universe, which has been created for this block.
    chosen : ndarray, shape (n_atoms,), intp
        The chosen atoms.
    start, stop : int
        First frame and end of the block.
    """

    def __init__(self, universe: Any, chosen: NDArray[np.intp], start: int, stop: int) -> None:
        self._trajectory = universe.trajectory
        self._atoms = universe.atoms[chosen]
        self._steps = universe.trajectory[start:stop]

    def times(self) -> Iterator[float]:
        """Load one frame after another, and yield the time of each, ps."""
        for step in self._steps:
            yield step.time

    def positions(self) -> Positions:
        """Return the positions of the chosen atoms in the loaded frame, shape (n_atoms, 3), Å."""
        positions: Positions = self._atoms.positions
        return positions

    def close(self) -> None:
        """Close the file."""
        self._trajectory.close()


class OfHdf5:
    """Frames of an H5MD file that all ranks of a communicator open together, each read independently.

    Parameters
    ----------
    path : str
        The file.
    ranks : mpi4py.MPI.Comm
        The ranks.
    chosen, start, stop
        See `OfUniverse`.
    """

    def __init__(self, path: str, ranks: Any, chosen: NDArray[np.intp], start: int, stop: int) -> None:
        import h5py

        self._file = h5py.File(path, "r", driver="mpio", comm=ranks)
        group = next(iter(self._file["particles"].values()))["position"]
        self._values = group["value"]
        unit = self._values.attrs.get("unit", "Angstrom")
        self._scale = _ANGSTROMS[unit.decode() if isinstance(unit, bytes) else str(unit)]
        self._times = np.asarray(group["time"][start:stop], np.float64)
        self._chosen, self._start = chosen, start
        self._frame: Any = None

    def times(self) -> Iterator[float]:
        """Load one frame after another, and yield the time of each, ps."""
        for i, time in enumerate(self._times.tolist(), self._start):
            self._frame = self._values[i]
            yield time

    def positions(self) -> Positions:
        """Return the positions of the chosen atoms in the loaded frame, shape (n_atoms, 3), Å."""
        chosen: Positions = self._frame[self._chosen]
        return chosen if self._scale == 1.0 else chosen * np.float32(self._scale)

    def close(self) -> None:
        """Close the file together with the other ranks."""
        self._file.close()


@dataclass(frozen=True)
class Block:
    """A block of frames, and how to open it.

    Attributes
    ----------
    topology : str
        The topology.
    paths : tuple of str
        The trajectory: one file, or the segments of a chain.
    chosen : ndarray, shape (n_atoms,), intp
        The atoms whose RMSD is computed.
    reference : ndarray, shape (n_atoms, 3), float32
        Their positions in the first frame of the trajectory, Å.
    start, stop : int
        First frame and end of the block in `paths`.
    n_bytes : int
        Bytes of the block in its files, or in memory.
    n_times : int
        Number of computations of the RMSD of each frame. Only the last result is kept.
    number : int
        Number of the block.
    universe : MDAnalysis.Universe, optional
        A Universe with the frames of the block in memory, whose creation is not timed.
    hdf5_ranks : mpi4py.MPI.Comm, optional
        Ranks that open the HDF5 file together.
    """

    topology: str
    paths: tuple[str, ...]
    chosen: NDArray[np.intp]
    reference: Positions
    start: int
    stop: int
    n_bytes: int
    n_times: int = 1
    number: int = 0
    universe: Any = field(default=None, repr=False)
    hdf5_ranks: Any = field(default=None, repr=False)

    def __len__(self) -> int:
        return self.stop - self.start

    def open(self) -> Frames:
        """Open the frames."""
        if self.hdf5_ranks is not None:
            return OfHdf5(self.paths[0], self.hdf5_ranks, self.chosen, self.start, self.stop)
        universe = self.universe or mda.Universe(self.topology, _trajectory(self.paths))
        return OfUniverse(universe, self.chosen, self.start, self.stop)


@dataclass(frozen=True)
class Chosen:
    """The chosen atoms and their positions in the first frame, and the number of frames.

    Attributes
    ----------
    atoms : ndarray, shape (n_atoms,), intp
        Indices of the atoms.
    reference : ndarray, shape (n_atoms, 3), float32
        Their positions, Å.
    n_frames : int
        Number of frames of the trajectory.
    """

    atoms: NDArray[np.intp]
    reference: Positions
    n_frames: int

    @classmethod
    def of(cls, topology: str, paths: Sequence[str], selection: str) -> Chosen:
        """Select atoms of a trajectory; raise a `MismatchError` if there are none."""
        universe = mda.Universe(topology, _trajectory(paths))
        atoms = universe.select_atoms(selection)
        if not len(atoms):
            raise MismatchError(f"the selection {selection!r} has no atoms: select others")
        universe.trajectory[0]
        found = cls(atoms.ix, atoms.positions.copy(), universe.trajectory.n_frames)
        universe.trajectory.close()
        return found


def n_frames_of(topology: str, path: str) -> int:
    """Return the number of frames of a file."""
    universe = mda.Universe(topology, path)
    n_frames: int = universe.trajectory.n_frames
    universe.trajectory.close()
    return n_frames


def universe_in_memory(topology: str, path: str, start: int, stop: int) -> Any:
    """Return a Universe with some frames of a file in memory, with all of their atoms."""
    universe = mda.Universe(topology, path)
    frames = np.empty((stop - start, universe.atoms.n_atoms, 3), np.float32)
    for place, step in zip(frames, universe.trajectory[start:stop], strict=True):
        place[:] = step.positions
    dt = universe.trajectory.dt
    universe.trajectory.close()
    # MDAnalysis cannot read a trajectory without frames.
    kept = frames if len(frames) else np.zeros((1, *frames.shape[1:]), np.float32)
    return mda.Universe(topology, kept, format=MemoryReader, order="fac", dt=dt, time_offset=start * dt)


def bytes_of_blocks(paths: Sequence[str], edges: Sequence[int]) -> list[int]:
    """Divide the bytes of files among blocks of frames, given by their edges, in proportion to their frames."""
    total, n_frames = sum(Path(path).stat().st_size for path in paths), max(edges[-1], 1)
    return [total * end // n_frames - total * first // n_frames for first, end in pairwise(edges)]


def _trajectory(paths: Sequence[str]) -> str | list[str]:
    return paths[0] if len(paths) == 1 else list(paths)
