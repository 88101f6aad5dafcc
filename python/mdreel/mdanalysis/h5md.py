"""H5MD reader for MDAnalysis."""

from functools import partial
from typing import Any

import numpy as np
from MDAnalysis.coordinates import H5MD
from MDAnalysis.lib.mdamath import triclinic_box

from mdreel.mdanalysis.reader import CoreReader
from mdreel.trajectory.open import open as open_trajectory


class H5MDReader(CoreReader, H5MD.H5MDReader):  # type: ignore[misc]
    """H5MD reader that reads frames with the core. MDAnalysis reads the structure and the observables.

    Parameters
    ----------
    filename : path or h5py.File
        The trajectory. If the file is already open, MDAnalysis reads it.
    convert_units : bool, default True
        Whether to convert to Å, ps and MDAnalysis's other units. If False, MDAnalysis reads the file itself.
    driver, comm : optional
        HDF5 driver, and MPI communicator. If either is given, MDAnalysis reads the file itself.
    **kwargs
        General options of MDAnalysis's readers.
    """

    original = H5MD.H5MDReader

    def __init__(
        self, filename: Any, convert_units: bool = True, driver: str | None = None, comm: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(filename, convert_units=convert_units, driver=driver, comm=comm, **kwargs)
        if driver is not None or comm is not None:
            self._give_back("a driver or communicator for HDF5 was given")
        elif not self._has_one_axis():
            self._give_back("its elements have frames at different steps")
        else:
            group = self._particle_group.name.rsplit("/", 1)[-1]
            edges = self._particle_group.get("box/edges/value")
            self._has_observables = "observables" in self._file
            of_vectors = edges is not None and edges.ndim == 3
            # MDAnalysis computes the lengths of box vectors in the unit of the file. Lengths from vectors that the core
            # has converted to Å would be rounded twice.
            self._has_native_vectors = of_vectors and self.units["length"] != "Angstrom"
            opening = partial(open_trajectory, self.filename, format="H5MD", group=group)
            self._take_over(opening, of_vectors=of_vectors)

    def _has_one_axis(self) -> bool:
        """Return whether all elements are stored at the same steps. MDAnalysis does not check this requirement."""
        names = [f"{name}/step" for name, has in self._has.items() if has]
        names += ["box/edges/step"] if "box/edges/step" in self._particle_group else []
        first, *others = (self._particle_group[name][()] for name in names)
        return all(np.array_equal(first, other) for other in others)

    def _reopen(self) -> None:
        if self._ahead is None or self._ahead.is_closed:
            super()._reopen()
        if self._ahead is not None and self._ahead.is_closed:
            self._ahead.reopen()
        self._frame = -1

    def _show(self, frame: int, ts: Any) -> Any:
        assert self._ahead is not None
        if frame >= self.n_frames:
            raise OSError(f"{self.filename}: frame {frame} does not exist: the trajectory has {self.n_frames} frames")
        stored = self._ahead.frame(frame)
        self._frame = ts.frame = frame
        if self._has_observables:
            self._copy_to_data()
        ts.time, ts.data["step"], ts.dimensions = stored.time, stored.step, stored.dimensions
        if self._has_native_vectors:
            ts.dimensions = triclinic_box(*self._particle_group["box/edges/value"][frame])
            if ts.dimensions is not None:
                self.convert_pos_from_native(ts.dimensions[:3])
        if self._has["position"]:
            ts.positions = stored.positions
        if self._has["velocity"]:
            ts.velocities = stored.velocities
        if self._has["force"]:
            ts.forces = stored.forces
        return ts
