"""AMBER NetCDF reader for MDAnalysis."""

from functools import partial
from typing import Any

import numpy as np
from MDAnalysis.coordinates import TRJ

from mdreel.mdanalysis.reader import CoreReader
from mdreel.trajectory.open import open as open_trajectory


class NCDFReader(CoreReader, TRJ.NCDFReader):  # type: ignore[misc]
    """AMBER NetCDF reader that reads frames with the core. MDAnalysis reads and checks the header.

    Parameters
    ----------
    filename : path
        The trajectory.
    n_atoms : int, optional
        Expected number of atoms.
    mmap : bool, optional
        Whether MDAnalysis maps the file into memory to read the header.
    **kwargs
        General options of MDAnalysis's readers.
    """

    original = TRJ.NCDFReader

    def __init__(self, filename: Any, n_atoms: int | None = None, mmap: bool | None = None, **kwargs: Any) -> None:
        super().__init__(filename, n_atoms=n_atoms, mmap=mmap, **kwargs)
        self._take_over(partial(open_trajectory, self.filename, format="NCDF"))

    def _next_frame(self) -> int:
        return int(self._current_frame) + 1

    def _read_frame(self, frame: int) -> Any:
        is_there = isinstance(frame, (int, np.int64)) and 0 <= frame < self.n_frames and self.trjfile is not None
        # For an invalid frame, call MDAnalysis's method, which raises MDAnalysis's error.
        return super()._read_frame(frame) if is_there else TRJ.NCDFReader._read_frame(self, frame)  # noqa: SLF001

    def _show(self, frame: int, ts: Any) -> Any:
        assert self._ahead is not None
        stored = self._ahead.frame(frame)
        ts.positions = stored.positions
        if self.has_time:
            ts.time = stored.time
        if self.has_velocities:
            ts.velocities = stored.velocities
        if self.has_forces:
            ts.forces = stored.forces
        if self.periodic:
            ts.dimensions = stored.dimensions
        self._current_frame = ts.frame = frame
        return ts
