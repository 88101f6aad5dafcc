"""Frames of a trajectory as arrays."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel.execution.damage import DamagedFrame

if TYPE_CHECKING:
    from xarray import Dataset

UNITS = {"positions": "Å", "velocities": "Å/ps", "forces": "kJ/(mol Å)"}
"""Units of the quantities."""

Coordinates: TypeAlias = NDArray[np.floating[Any]]
"""Values of a quantity for atoms in a number of frames."""


@dataclass(frozen=True)
class FrameArrays:
    """Frames of a trajectory as arrays.

    Attributes
    ----------
    quantities : mapping of str to ndarray, shape (n_frames, n_atoms, 3), float32 or float64
        The requested quantities by name: positions in Å, velocities in Å/ps, and forces in kJ/(mol Å). If a frame lacks
        a quantity, its values are NaN. The shape given here applies to the default `order` of the axes.
    frames : ndarray, shape (n_frames,), int64
        Numbers of the frames, starting from 0.
    times : ndarray, shape (n_frames,), float64
        Times in ps.
    steps : ndarray, shape (n_frames,), int64
        Integration steps.
    cells : ndarray, shape (n_frames, 6), float32
        Lengths (in Å) and angles (in degrees) of the periodic cell. For frames without a cell, these are NaN.
    damage : tuple of DamagedFrame
        Damaged frames that were skipped.
    order : str
        Order of the axes of the quantities: f for frames, a for atoms, c for coordinates.

    Examples
    --------
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import XTC
    >>> frames = mdreel.read(XTC, atoms=[0, 1, 2], stop=4)
    >>> frames.positions.shape
    (4, 3, 3)
    >>> frames.times.round(1)
    array([  0., 100., 200., 300.])
    """

    quantities: Mapping[str, Coordinates]
    frames: NDArray[np.int64]
    times: NDArray[np.float64]
    steps: NDArray[np.int64]
    cells: NDArray[np.float32]
    damage: tuple[DamagedFrame, ...] = ()
    order: str = "fac"

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self.times)

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return len(self)

    @property
    def positions(self) -> Coordinates | None:
        """Positions in Å, or None if they were not requested."""
        return self.quantities.get("positions")

    @property
    def velocities(self) -> Coordinates | None:
        """Velocities in Å/ps, or None if they were not requested."""
        return self.quantities.get("velocities")

    @property
    def forces(self) -> Coordinates | None:
        """Forces in kJ/(mol Å), or None if they were not requested."""
        return self.quantities.get("forces")

    def copy(self) -> Self:
        """Return a copy that `iread` does not overwrite with the next chunk."""
        return replace(self, quantities={name: values.copy() for name, values in self.quantities.items()})

    def to_xarray(self) -> "Dataset":
        """Return the arrays as an xarray dataset.

        To use this method, you need to install xarray.

        Returns
        -------
        xarray.Dataset
            Dataset with the quantities, and with the coordinates ``time``, ``step`` and ``cell``. The dimensions
            ``frame``, ``atom`` and ``axis`` are in the order of the array axes. Note that the quantities are not
            copied.

        Examples
        --------
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import XTC
        >>> mdreel.read(XTC, atoms=[0, 1, 2]).to_xarray().positions.dims
        ('frame', 'atom', 'axis')
        """
        try:
            import xarray
        except ImportError as error:
            raise ImportError("to_xarray needs the package xarray: pip install xarray") from error
        names = {"f": "frame", "a": "atom", "c": "axis"}
        axes = [names[axis] for axis in self.order]
        variables: dict[str, Any] = {
            name: (axes, values, {"units": UNITS[name]}) for name, values in self.quantities.items()
        }
        coordinates = {
            "frame": self.frames,
            "axis": ["x", "y", "z"],
            "time": ("frame", self.times, {"units": "ps"}),
            "step": ("frame", self.steps),
            "cell": (("frame", "edge"), self.cells, {"units": "Å and degrees"}),
        }
        return xarray.Dataset(variables, coordinates)

    def __repr__(self) -> str:
        shapes = (f"{name} of shape {values.shape}, {values.dtype}" for name, values in self.quantities.items())
        return f"<{len(self):,} frames: {'; '.join(shapes)}>"
