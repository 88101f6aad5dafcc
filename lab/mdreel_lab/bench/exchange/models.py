"""The molecular models of the experiment, and the frames of them.

Source: Lumsden et al. (2024), tables I and II.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEADER_BYTES = 48
ATOM = np.dtype([("type", "<i4"), ("position", "<f8", (3,))])
"""Of each atom, 28 bytes: the frame sizes of table I are these, and `HEADER_BYTES` before them."""


@dataclass(frozen=True)
class Model:
    """A molecular model.

    Attributes
    ----------
    label : str
        What it is called.
    n_atoms : int
        Number of atoms.
    steps_per_second : float
        Steps that a simulation of it computes in a second.
    stride : int
        Steps between two frames: 0.82 s, whatever the model.
    """

    label: str
    n_atoms: int
    steps_per_second: float
    stride: int

    @property
    def frame_bytes(self) -> int:
        """Bytes of a frame."""
        return HEADER_BYTES + self.n_atoms * ATOM.itemsize


MODELS: Mapping[str, Model] = MappingProxyType(
    {
        "jac": Model("JAC", 23_558, 1072.92, 880),
        "apoa1": Model("ApoA1", 92_224, 358.22, 294),
        "f1-atpase": Model("F1 ATPase", 327_506, 115.74, 92),
        "stmv": Model("STMV", 1_066_628, 34.14, 28),
    }
)


class SerialisedFrame:
    """A frame as bytes: six lengths of the cell, then type and position of each atom.

    Parameters
    ----------
    model : Model
        Whose it is.
    seed : int, optional
        Of its positions; by default memory that was touched, and nothing else.

    Attributes
    ----------
    buffer : ndarray, uint8
        All of it.
    cell : ndarray, shape (6,), float64
        Its first bytes.
    atoms : ndarray, shape (n_atoms,)
        The rest, as `ATOM`.
    """

    def __init__(self, model: Model, seed: int | None = None) -> None:
        self.buffer: NDArray[np.uint8] = np.zeros(model.frame_bytes, np.uint8)
        self.cell: NDArray[np.float64] = self.buffer[:HEADER_BYTES].view("<f8")
        self.atoms: NDArray[np.void] = self.buffer[HEADER_BYTES:].view(ATOM)
        if seed is not None:
            self.atoms["position"] = np.random.default_rng(seed).normal(0.0, 30.0, (model.n_atoms, 3))

    def write_to(self, file: Any) -> None:
        """Write it to a file without a buffer."""
        rest = self.buffer.data
        while len(rest):
            rest = rest[file.write(rest) :]

    def read_from(self, file: Any) -> None:
        """Read it from a file without a buffer; raise a `RuntimeError` if that is not as long as the frame."""
        rest = self.buffer.data
        while count := file.readinto(rest):
            rest = rest[count:]
        if len(rest) or file.read(1):
            raise RuntimeError(f"{file.name}: expected {self.buffer.nbytes:,} bytes, and there are more or fewer")

    def mark(self, number: int) -> None:
        """Write the number of the frame where it begins, in the middle and at its end."""
        for atom in self._marked():
            self.atoms["type"][atom] = number

    def check(self, number: int) -> None:
        """Raise a `RuntimeError` if it is another frame, or parts of several."""
        found = [int(self.atoms["type"][atom]) for atom in self._marked()]
        if found != [number] * len(found):
            raise RuntimeError(f"frame {number} was taken as parts of the frames {', '.join(map(str, found))}")

    def _marked(self) -> tuple[int, int, int]:
        return 0, len(self.atoms) // 2, len(self.atoms) - 1
