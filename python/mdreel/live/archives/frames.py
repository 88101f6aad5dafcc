"""Frames in the form in which they are archived, with arrays in float32."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import MismatchError
from mdreel.live.channels.frame import Frame


@dataclass(frozen=True)
class ArchivedFrame:
    """The part of a frame that is archived.

    Attributes
    ----------
    step : int
        Step of the simulation.
    time : float
        Time, in ps.
    cell : ndarray, shape (9,), float32, or None
        Concatenated row vectors of the cell, in Å.
    quantities : dict of str to ndarray, shape (n_atoms, 3), float32
        Positions (in Å), velocities (in Å/ps) and forces (in kJ/(mol Å)), if they are present.
    """

    step: int
    time: float
    cell: NDArray[np.float32] | None
    quantities: dict[str, NDArray[np.float32]]

    @classmethod
    def from_frame(cls, frame: Frame) -> Self:
        """Convert a frame. Arrays that are already float32 are not copied."""
        given = {"positions": frame.positions, "velocities": frame.velocities, "forces": frame.forces}
        quantities = {
            name: np.ascontiguousarray(values, np.float32) for name, values in given.items() if values is not None
        }
        cell = None if frame.box is None else np.asarray(frame.box, np.float32).ravel()
        return cls(frame.step, frame.time, cell, quantities)

    def copy(self) -> "ArchivedFrame":
        """Return a copy with its own arrays."""
        quantities = {name: values.copy() for name, values in self.quantities.items()}
        return ArchivedFrame(self.step, self.time, self.cell, quantities)


def check_alike(expected: list[str], frame: ArchivedFrame, name: str) -> None:
    """Check that a frame has the same quantities as the first one, for formats that require it.

    Raises
    ------
    MismatchError
        If the quantities differ.
    """
    got = list(frame.quantities)
    if got != expected:
        message = f"expected {', '.join(expected)} as in the first frame, got {', '.join(got) or 'nothing'}"
        raise MismatchError(f"{message}; all frames of {name} need the same quantities, unlike those of TRR")
