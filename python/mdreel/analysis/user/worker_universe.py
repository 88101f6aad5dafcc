"""Universe of a worker, which provides access to the current frame and the atoms that were read."""

import weakref
from collections.abc import Iterator
from typing import Any, ClassVar, NoReturn, Self

import MDAnalysis as mda
import numpy as np
from MDAnalysis.coordinates.base import ProtoReader
from MDAnalysis.coordinates.timestep import Timestep
from numpy.typing import NDArray

from mdreel.analysis.user.partial_positions import PartialPositions
from mdreel.analysis.user.worker_task import Known, Start
from mdreel.errors import UnsupportedError
from mdreel.trajectory.selection_parser import separate_selection_parsers

_WITH_MDANALYSIS = (
    "subclass MDAnalysis's AnalysisBase for that, and run it on these workers with mdreel.mdanalysis.backend()"
)


class WorkerTimestep(Timestep):  # type: ignore[misc]
    """The timestep of a worker, which raises an error on access to data that was not read.

    Parameters
    ----------
    n_atoms : int
        Number of atoms in the Universe.
    atoms : ndarray, shape (n_read,), uint32
        Indices of the atoms that are read in each frame, in ascending order.
    known : Known
        Facts about the trajectory.
    """

    def __init__(self, n_atoms: int, atoms: NDArray[np.uint32], known: Known) -> None:
        self._quantities = known.quantities
        self._shown: Any = None
        # The base class gets no arrays, so that code that bypasses the properties finds no numbers.
        super().__init__(n_atoms, positions=False)
        self._of_frame = np.full((n_atoms, 3), np.nan, np.float32)
        self._atoms: Any = slice(None) if len(atoms) == n_atoms else atoms
        self._of_worker: Any = self._of_frame
        if len(atoms) < n_atoms:
            is_read = np.zeros(n_atoms, bool)
            is_read[atoms] = True
            self._of_worker = PartialPositions(self._of_frame, is_read)

    def __new__(cls, n_atoms: int, *_: Any) -> Self:
        """Create the timestep. The compiled base class accepts only the number of atoms."""
        made: Self = super().__new__(cls, n_atoms)
        return made

    def show_start(self, start: Start) -> None:
        """Show the current frame of the caller's Universe."""
        if start.positions is None:
            why = "the Universe had none when run() was called: load a frame into it, or use them in _single_frame"
            self._shown = PartialPositions(np.empty_like(self._of_frame), np.zeros(self.n_atoms, bool), why)
        else:
            self._shown = start.positions.copy()  # changes to the copy do not affect later blocks
        self.frame, self.time, self.dimensions = start.frame, start.time, start.dimensions

    def show(self, frame: int, time: float, cell: NDArray[np.float32] | None, positions: NDArray[np.float32]) -> None:
        """Show a frame."""
        self._of_frame[self._atoms] = positions
        self._shown = self._of_worker
        self.frame, self.time, self.dimensions = frame, time, cell

    @property
    def positions(self) -> Any:
        """Positions of all atoms. You can access only the positions of atoms that were read."""
        return self._shown

    @positions.setter
    def positions(self, values: Any) -> None:
        self._shown[:] = values

    _pos = positions

    @property
    def has_positions(self) -> bool:
        """Whether there are positions, which is always true."""
        return True

    @has_positions.setter
    def has_positions(self, value: bool) -> None:
        if not value and self._shown is not None:
            raise UnsupportedError("positions cannot be removed from a worker's timestep: use ts.copy()")

    @property
    def has_velocities(self) -> bool:
        """Whether there are velocities. If the trajectory has velocities, raise an error, because they are not read."""
        self._never("velocities")
        return False

    @has_velocities.setter
    def has_velocities(self, value: bool) -> None:
        self._never("velocities", value)

    @property
    def velocities(self) -> Any:
        """Raise an error, because velocities are not read."""
        self._never("velocities")
        return super().velocities  # raises MDAnalysis's error

    @velocities.setter
    def velocities(self, _: Any) -> None:
        self._never("velocities", True)

    _velocities = velocities

    @property
    def has_forces(self) -> bool:
        """Whether there are forces. If the trajectory has forces, raise an error, because they are not read."""
        self._never("forces")
        return False

    @has_forces.setter
    def has_forces(self, value: bool) -> None:
        self._never("forces", value)

    @property
    def forces(self) -> Any:
        """Raise an error, because forces are not read."""
        self._never("forces")
        return super().forces  # raises MDAnalysis's error

    @forces.setter
    def forces(self, _: Any) -> None:
        self._never("forces", True)

    _forces = forces

    @property
    def data(self) -> "_Unread":
        """A placeholder that raises an error on access, because additional frame data is not read."""
        return _Unread("ts.data", f"mdreel reads frame, time, cell and positions; {_WITH_MDANALYSIS}")

    @property
    def aux(self) -> "_Unread":
        """A placeholder that raises an error on access, because auxiliary data is not read."""
        return _Unread("ts.aux", f"mdreel reads no auxiliaries; {_WITH_MDANALYSIS}")

    @property
    def dt(self) -> float:
        """Raise an error, because workers do not know the time between frames."""
        raise UnsupportedError("a worker does not know dt: use self._ts.time or self.times")

    def __getitem__(self, atoms: Any) -> Any:
        if not isinstance(atoms, (int, np.integer, slice, np.ndarray)):
            raise TypeError(f"a timestep takes an integer, a slice or an array, not {type(atoms).__name__}")
        return self.positions[atoms]

    @classmethod
    def from_timestep(cls, other: Timestep, **options: Any) -> Timestep:
        """Return a plain MDAnalysis timestep with the data of another timestep."""
        return other.copy() if isinstance(other, cls) else Timestep.from_timestep(other, **options)

    @classmethod
    def from_coordinates(cls, *arrays: Any, **options: Any) -> Timestep:
        """Return a plain MDAnalysis timestep."""
        return Timestep.from_coordinates(*arrays, **options)

    def copy_slice(self, sel: Any) -> Timestep:
        """Return a plain MDAnalysis timestep with some of the atoms."""
        for quantity in ("velocities", "forces"):
            self._never(quantity)
        made = Timestep.from_coordinates(positions=np.array(self.positions[sel], np.float32))
        made.frame, made.time, made.dimensions = self.frame, self.time, self.dimensions
        made._reader = self._reader  # noqa: SLF001 (the reader provides dt)
        return made

    def copy(self) -> Timestep:
        """Return a plain MDAnalysis timestep with all atoms."""
        return self.copy_slice(slice(None))

    def __deepcopy__(self, *_: Any) -> Timestep:
        return self.copy()

    def __copy__(self) -> Timestep:
        return self.copy()

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise UnsupportedError("a worker's timestep cannot be sent to other processes: keep numbers or ts.copy()")

    def _never(self, quantity: str, is_set: bool | None = None) -> None:
        """Raise an error if the trajectory has a quantity, or if user code sets it."""
        if quantity in self._quantities if is_set is None else is_set:
            raise UnsupportedError(f"{quantity} are not read: mdreel reads positions; {_WITH_MDANALYSIS}")


class WorkerTrajectory(ProtoReader):  # type: ignore[misc]
    """The trajectory of a worker's Universe, which has only the current frame.

    Parameters
    ----------
    ts : WorkerTimestep
        The current frame.
    known : Known
        Facts about the trajectory.
    """

    units: ClassVar[dict[str, str]] = {
        "time": "ps",
        "length": "Angstrom",
        "velocity": "Angstrom/ps",
        "force": "kJ/(mol*Angstrom)",
    }
    filename = None

    def __init__(self, ts: WorkerTimestep, known: Known) -> None:
        super().__init__()
        self.ts, self.n_atoms, self._known = ts, ts.n_atoms, known
        self._is_at_frame = False
        ts._reader = weakref.ref(self)  # noqa: SLF001 (MDAnalysis has no public name for it)

    def show_start(self, start: Start) -> None:
        """Show the current frame of the caller's Universe."""
        self._is_at_frame = False
        self.ts.show_start(start)

    def show(self, frame: int, time: float, cell: NDArray[np.float32] | None, positions: NDArray[np.float32]) -> None:
        """Show a frame."""
        self._is_at_frame = True
        self.ts.show(frame, time, cell, positions)

    @property
    def n_frames(self) -> int:
        """Number of frames in the trajectory."""
        if self._known.n_frames is None:
            raise UnsupportedError("the number of frames is not known yet: use self.n_frames, that of the block")
        return self._known.n_frames

    @property
    def frame(self) -> int:
        """Number of the current frame."""
        if not self._is_at_frame:
            # Updating groups compare this number with the one of their last update.
            raise UnsupportedError(
                "in _prepare no frame has been read: create and use updating groups in _single_frame"
            )
        return int(self.ts.frame)

    def __getitem__(self, frame: Any) -> Any:
        if frame == slice(None):
            return _AllFrames(self)  # MDAnalysis takes its length when it writes the current frame
        if not (isinstance(frame, (int, np.integer)) and self._is_at_frame and frame == self.ts.frame):
            self.refuse()
        return self.ts

    def __iter__(self) -> Iterator[Timestep]:
        self.refuse()

    def next(self) -> Timestep:
        """Raise an error, because only the current frame is accessible."""
        self.refuse()

    def rewind(self) -> Timestep:
        """Raise an error, because only the current frame is accessible."""
        self.refuse()

    def timeseries(self, *_: Any, **__: Any) -> NDArray[np.float32]:
        """Raise an error, because only the current frame is accessible."""
        self.refuse()

    def copy(self) -> NoReturn:
        """Raise an error, because the frame cannot be copied together with its Universe."""
        raise UnsupportedError(
            "the Universe of a worker cannot be copied: use MDAnalysis.Merge(group) to make one from a group"
        )

    def add_transformations(self, *_: Any) -> None:
        """Raise an error, because mdreel transforms frames while it reads them."""
        raise UnsupportedError(
            "mdreel reads the frames of a worker: use run(transformations=[mdreel.transformations.unwrap(...)])"
        )

    def add_auxiliary(self, *_: Any, **__: Any) -> None:
        """Raise an error, because auxiliary data is not read."""
        raise UnsupportedError(f"mdreel reads no auxiliaries; {_WITH_MDANALYSIS}")

    def _get_dt(self) -> float:
        return float(self.ts.dt)

    def _read_next_timestep(self, ts: Timestep | None = None) -> Timestep:
        self.refuse()

    def _read_frame(self, frame: int) -> Timestep:
        self.refuse()

    def _reopen(self) -> None:
        self.refuse()

    def refuse(self) -> NoReturn:
        """Raise an error, because only the current frame is accessible."""
        at = f"only frame {self.ts.frame} is" if self._is_at_frame else "no frame is"
        raise UnsupportedError(f"{at} accessible in this worker: choose the frames in run()")


def universe_of(topology: Any, atoms: NDArray[np.uint32], known: Known) -> mda.Universe:
    """Create the Universe of a worker.

    Parameters
    ----------
    topology : MDAnalysis.core.topology.Topology
        The topology.
    atoms : ndarray, shape (n_read,), uint32
        Indices of the atoms that are read in each frame, in ascending order.
    known : Known
        Facts about the trajectory.

    Returns
    -------
    MDAnalysis.Universe
        The Universe, with a `WorkerTrajectory` as its trajectory.
    """
    separate_selection_parsers()  # other threads of this process may be workers, too
    universe = mda.Universe(topology, to_guess=())
    universe.trajectory = WorkerTrajectory(WorkerTimestep(topology.n_atoms, atoms, known), known)
    return universe


class _AllFrames:
    """All frames of a worker's trajectory. Their number is known, but they are not accessible."""

    def __init__(self, trajectory: WorkerTrajectory) -> None:
        self.trajectory = trajectory

    def __len__(self) -> int:
        return self.trajectory.n_frames

    def __iter__(self) -> Iterator[Timestep]:
        self.trajectory.refuse()

    def __getitem__(self, _: Any) -> Timestep:
        self.trajectory.refuse()


class _Unread:
    """A placeholder for data that is not read. Any access raises an error."""

    def __init__(self, name: str, why: str) -> None:
        self._why = f"{name} is not available: {why}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def __getitem__(self, _: Any) -> Any:
        self._refuse()

    def __setitem__(self, _: Any, __: Any) -> None:
        self._refuse()

    def __contains__(self, _: object) -> bool:
        self._refuse()

    def __iter__(self) -> Iterator[Any]:
        self._refuse()

    def __eq__(self, _: object) -> bool:
        self._refuse()

    __hash__ = None  # type: ignore[assignment]

    def _refuse(self) -> NoReturn:
        raise UnsupportedError(self._why)
