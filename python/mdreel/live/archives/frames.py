"""Conversion of frames to float32 for archives."""

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import MismatchError
from mdreel.live.channels.frame import Frame


@dataclass(frozen=True)
class ArchivedFrame:
    """What of a frame is archived.

    Attributes
    ----------
    step : int
        The step of the simulation.
    time : float
        Time, ps.
    cell : ndarray, shape (9,), float32, or None
        The row vectors of the cell, one after the other, Å.
    quantities : dict of str to ndarray, shape (n_atoms, 3), float32
        Positions (Å), velocities (Å/ps), forces (kJ/(mol Å)), as far as it has them.
    """

    step: int
    time: float
    cell: NDArray[np.float32] | None
    quantities: dict[str, NDArray[np.float32]]

    @classmethod
    def of(cls, frame: Frame) -> Self:
        """Return what is archived of a frame; arrays that need no conversion are the frame's."""
        given = {"positions": frame.positions, "velocities": frame.velocities, "forces": frame.forces}
        quantities = {
            name: np.ascontiguousarray(values, np.float32) for name, values in given.items() if values is not None
        }
        cell = None if frame.box is None else np.asarray(frame.box, np.float32).ravel()
        return cls(frame.step, frame.time, cell, quantities)

    def copy(self) -> "ArchivedFrame":
        """Return the same in memory of its own."""
        quantities = {name: values.copy() for name, values in self.quantities.items()}
        return ArchivedFrame(self.step, self.time, self.cell, quantities)


class Codec(Protocol):
    """How frames become the bytes of a file under its hidden name, and these the whole file."""

    def append(self, frame: ArchivedFrame) -> bool:
        """Append a frame; return whether all frames so far are in the file, so that they can be committed."""

    def complete(self) -> None:
        """Make the whole file, synced; `whole` is where it is then."""

    def state(self) -> dict[str, object]:
        """Return what is needed to go on behind the frames so far, for JSON."""


def check_alike(expected: list[str], frame: ArchivedFrame, name: str) -> None:
    """Refuse a frame that has other quantities than the first, in formats that cannot say so.

    Raises
    ------
    MismatchError
        If it has.
    """
    got = list(frame.quantities)
    if got != expected:
        message = f"expected {', '.join(expected)} as of the first frame, got {', '.join(got) or 'nothing'}"
        raise MismatchError(f"{message}: frames of {name} are alike; those of TRR need not be")
