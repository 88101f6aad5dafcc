"""Base class of mdreel's readers for MDAnalysis."""

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
    """MDAnalysis reader that reads its frames with the core.

    All other behaviour, such as options and writers, is the same as in MDAnalysis. Subclasses are derived from this
    class and from an MDAnalysis reader.

    Attributes
    ----------
    original : type
        The MDAnalysis reader that is replaced by the subclass.
    """

    original: ClassVar[type]
    # None while MDAnalysis's constructor reads the first frame.
    _ahead: ReadAhead | None = None

    def next(self) -> Any:
        """Go to the next frame.

        Returns
        -------
        MDAnalysis.coordinates.timestep.Timestep
            The frame.

        Raises
        ------
        StopIteration
            If there are no more frames. In this case, the reader returns to the first frame.
        FormatError
            If the frame is damaged. MDAnalysis treats this as the end of the trajectory.
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
            Old name of `atomgroup` in MDAnalysis.
        atomgroup : MDAnalysis.AtomGroup, optional
            The atoms to decode. The default is all atoms.
        start, stop, step : int, optional
            Range of frames, as in a slice.
        order : str, default "fac"
            Order of the axes: frames, atoms, coordinates.

        Returns
        -------
        numpy.ndarray, float32
            Positions in Å, with the axes in the given order.
        """
        coordinates: NDArray[np.float32] | None = None
        numbers = range(*self.check_slice_indices(start, stop, step))
        is_plain = asel is None and len(numbers) > 0 and sorted(order) == sorted("fac")
        if is_plain and (atomgroup is None or len(atomgroup) > 0) and self._ahead is not None:
            coordinates = self._positions(numbers, None if atomgroup is None else atomgroup.indices, order)
        if coordinates is None:
            series: NDArray[np.float32] = super().timeseries(asel, atomgroup, start, stop, step, order)
            return series
        return coordinates

    def close(self) -> None:
        """Close the file."""
        if self._ahead is not None:
            self._ahead.close()
        super().close()

    def _positions(self, numbers: range, atoms: NDArray[np.int64] | None, order: Any) -> Any:
        """Return the positions in the file in Å with the given order of axes, or None if MDAnalysis has to iterate."""
        if self._ahead is None or self.transformations:
            return None
        coordinates = self._ahead.positions(numbers, atoms, order)
        # MDAnalysis is at the first frame after it has iterated.
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
        # Not abstract, because MDAnalysis gives each reader its own metaclass.
        raise NotImplementedError

    def _take_over(self, read: Callable[[], Source], of_vectors: bool = False) -> bool:
        """Read frames with the core if it supports the file. Otherwise, become the MDAnalysis reader."""
        if not isinstance(self.filename, (str, PathLike)) or not self.convert_units:
            return self._give_back("it is not a path, or convert_units is False")
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
        """Become the MDAnalysis reader."""
        _log.info("%s: MDAnalysis reads this file itself: %s", self.filename, reason)
        self.__class__ = self.original
        return False


def show_arrays(stored: StoredFrame, ts: Any) -> None:
    """Copy positions, velocities and forces, if they are present.

    Parameters
    ----------
    stored : StoredFrame
        The frame.
    ts : MDAnalysis.coordinates.timestep.Timestep
        Target of the copy.
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
