"""Base class of the readers for MDAnalysis."""

import errno
import logging
from collections.abc import Callable
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from MDAnalysis.coordinates.base import ReaderBase
from numpy.typing import NDArray

from mdreel._core import Source
from mdreel.errors import FormatError, UnsupportedError
from mdreel.mdanalysis.read_ahead import ReadAhead, StoredFrame

_log = logging.getLogger("mdreel.mdanalysis")


class CoreReader(ReaderBase):  # type: ignore[misc]
    """A reader of MDAnalysis whose frames the core reads.

    What is not said here, from the options to the writer, is MDAnalysis's. A subclass names it and one of MDAnalysis's
    readers as its bases.

    Attributes
    ----------
    original : type
        The reader of MDAnalysis that it stands in for.
    """

    original: ClassVar[type]
    # None while MDAnalysis's own constructor reads the first frame.
    _ahead: ReadAhead | None = None

    def next(self) -> Any:
        """Move to the next frame.

        Returns
        -------
        MDAnalysis.coordinates.timestep.Timestep
            The frame.

        Raises
        ------
        StopIteration
            Behind the last frame; the reader is at the first one then.
        FormatError
            If the frame is damaged. MDAnalysis takes that for the end of the trajectory.
        """
        frame = self._next_frame()
        if frame >= self.n_frames:
            self.rewind()
            raise StopIteration
        return self._read_frame_with_aux(frame)

    def timeseries(
        self,
        asel: Any = None,
        atomgroup: Any = None,
        start: int | None = None,
        stop: int | None = None,
        step: int | None = None,
        order: str = "fac",
    ) -> NDArray[np.float32]:
        """Read the positions of some atoms in many frames.

        Parameters
        ----------
        asel : MDAnalysis.AtomGroup, optional
            MDAnalysis's old name of `atomgroup`.
        atomgroup : MDAnalysis.AtomGroup, optional
            The atoms; by default all. No others are decoded.
        start, stop, step : int, optional
            The frames, as of a slice.
        order : str, default "fac"
            The axes' order: frames, atoms, coordinates.

        Returns
        -------
        numpy.ndarray, float32
            Positions, Å, of the shape that `order` says.
        """
        coordinates = None
        numbers = range(*self.check_slice_indices(start, stop, step))
        is_plain = asel is None and len(numbers) > 0 and sorted(order) == sorted("fac")
        if is_plain and (atomgroup is None or len(atomgroup) > 0) and self._ahead is not None:
            coordinates = self._positions(numbers, None if atomgroup is None else atomgroup.indices)
        if coordinates is None:
            series: NDArray[np.float32] = super().timeseries(asel, atomgroup, start, stop, step, order)
            return series
        return np.moveaxis(coordinates, ["fac".index(axis) for axis in order], [0, 1, 2])

    def close(self) -> None:
        """Close the file."""
        if self._ahead is not None:
            self._ahead.close()
        super().close()

    def _positions(self, numbers: range, atoms: NDArray[np.int64] | None) -> NDArray[np.float32] | None:
        """Positions (f, a, 3), Å, as the file has them; None if MDAnalysis has to iterate."""
        if self._ahead is None or self.transformations:
            return None
        coordinates = self._ahead.positions(numbers, atoms)
        # MDAnalysis iterates, and is at the first frame then.
        self.rewind()
        return coordinates

    def _next_frame(self) -> int:
        return int(self._frame) + 1

    def _read_next_timestep(self, ts: Any = None) -> Any:
        if self._ahead is None:
            return super()._read_next_timestep()
        if self._next_frame() >= self.n_frames:
            raise OSError(errno.EIO, "trying to go over trajectory limit")
        return self._show(self._next_frame(), self.ts if ts is None else ts)

    def _read_frame(self, frame: int) -> Any:
        if self._ahead is None:
            return super()._read_frame(frame)
        return self._show(int(frame), self.ts)

    def _show(self, frame: int, ts: Any) -> Any:
        """Read a frame into a timestep."""
        # Not an abstract method: the metaclass is that of MDAnalysis's readers, and each format's reader has its own.
        raise NotImplementedError

    def _take_over(self, read: Callable[[], Source], of_vectors: bool = False) -> bool:
        """Have the core read the frames, if it can; else MDAnalysis's reader goes on as if it were alone."""
        if not isinstance(self.filename, (str, PathLike)) or not self.convert_units:
            return self._give_back("it is no path, or its units are not to be converted")
        try:
            ahead = ReadAhead(read, of_vectors=of_vectors)
        except (FormatError, UnsupportedError) as error:
            return self._give_back(str(error))
        if (ahead.n_atoms, ahead.n_frames) != (self.n_atoms, self.n_frames):
            return self._give_back(f"MDAnalysis finds {self.n_frames} frames, and mdreel {ahead.n_frames}")
        ahead.warn_of_torn_end()
        self._ahead = ahead
        return True

    def _give_back(self, reason: str) -> bool:
        """Become MDAnalysis's own reader."""
        _log.info("%s: MDAnalysis reads this file itself: %s", self.filename, reason)
        self.__class__ = self.original
        return False


def show_arrays(stored: StoredFrame, ts: Any) -> None:
    """Copy positions, velocities and forces, as far as there are any.

    Parameters
    ----------
    stored : StoredFrame
        The frame.
    ts : MDAnalysis.coordinates.timestep.Timestep
        Where to.
    """
    if stored.positions is None:
        ts.has_positions = False
    else:
        ts.positions = stored.positions
    if stored.velocities is None:
        ts.has_velocities = False
    else:
        ts.velocities = stored.velocities
    if stored.forces is None:
        ts.has_forces = False
    else:
        ts.forces = stored.forces
