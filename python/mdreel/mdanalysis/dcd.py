"""DCD reader for MDAnalysis."""

from functools import partial
from typing import Any

import numpy as np
from MDAnalysis.coordinates import DCD
from numpy.typing import NDArray

from mdreel.mdanalysis.reader import CoreReader
from mdreel.trajectory.open import open as open_trajectory


class DCDReader(CoreReader, DCD.DCDReader):  # type: ignore[misc]
    """DCD reader that reads frames with the core. MDAnalysis reads the header, which determines the times.

    Parameters
    ----------
    filename : path
        The trajectory.
    convert_units : bool, default True
        Whether to convert units. This has no effect on DCD files, which are in Å. If False, MDAnalysis reads the file
        itself.
    dt : float, optional
        Time between frames in ps. The default is the value in the header.
    **kwargs
        General options of MDAnalysis's readers.
    """

    original = DCD.DCDReader
    ts: Any

    def __init__(self, filename: Any, convert_units: bool = True, dt: float | None = None, **kwargs: Any) -> None:
        super().__init__(filename, convert_units=convert_units, dt=dt, **kwargs)
        header = self._file.header
        self._first = header["istart"] / header["nsavc"]
        self._take_over(partial(open_trajectory, self.filename, format="DCD"))

    def timeseries(
        self,
        asel: Any = None,
        atomgroup: Any = None,
        start: int | None = None,
        stop: int | None = None,
        step: int | None = None,
        order: str = "afc",
    ) -> NDArray[np.float32]:
        """Read the positions of some atoms in many frames from the file, without transformations.

        See `XTCReader.timeseries`. The default order of the axes is "afc": atoms, frames, coordinates.
        """
        return super().timeseries(asel, atomgroup, start, stop, step, order)

    def _positions(self, numbers: range, atoms: NDArray[np.int64] | None, order: Any) -> Any:
        return None if self._ahead is None else self._ahead.positions(numbers, atoms, order)

    def _reopen(self) -> None:
        super()._reopen()
        # MDAnalysis has read the header again, and counts frames that were added to the file.
        if self._ahead is not None and (self._ahead.is_closed or self._ahead.n_frames != self.n_frames):
            self._ahead.reopen()

    def _show(self, frame: int, ts: Any) -> Any:
        assert self._ahead is not None
        stored = self._ahead.frame(frame)
        if ts is self.ts:
            # MDAnalysis's DCD reader returns a new timestep for each frame; its version 3 will change this.
            ts = ts.copy()
        self._frame = ts.frame = frame
        ts.time = (frame + self._first) * self.ts.dt
        ts.data["step"] = frame + 1
        ts.dimensions = stored.dimensions
        ts.positions = stored.positions
        self.ts = ts
        return ts
