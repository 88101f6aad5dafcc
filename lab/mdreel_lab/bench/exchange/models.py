"""Molecular models of the experiment, and their frames.

Source: Lumsden et al. (2024), tables I and II.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEADER_BYTES = 48
ATOM = np.dtype([("type", "<i4"), ("position", "<f8", (3,))])
"""Record of an atom, 28 bytes. A frame of table I consists of `HEADER_BYTES` and these records."""


@dataclass(frozen=True)
class Model:
    """A molecular model, with the steps of a published simulation in a second, and its stride of 0.82 s.

    A frame is made of records as `ATOM`, or of ``n_arrays`` arrays of three ``float32`` an atom.
    """

    label: str
    n_atoms: int
    steps_per_second: float
    stride: int
    n_arrays: int = 0

    @property
    def frame_bytes(self) -> int:
        """Bytes of a frame."""
        return 12 * self.n_arrays * self.n_atoms or HEADER_BYTES + self.n_atoms * ATOM.itemsize


MODELS: dict[str, Model] = {
    "jac": Model("JAC", 23_558, 1072.92, 880),
    "apoa1": Model("ApoA1", 92_224, 358.22, 294),
    "f1-atpase": Model("F1 ATPase", 327_506, 115.74, 92),
    "stmv": Model("STMV", 1_066_628, 34.14, 28),
}


# 28 bytes per atom are no arrays of float32: positions and velocities of 24/28 the atoms take the same number of bytes.
FRAMES: dict[str, Model] = {
    "jac-arrays": Model("JAC, 644 KiB", 27_485, 0.0, 0, 2),
    "stmv-arrays": Model("STMV, 28.5 MiB", 1_244_400, 0.0, 0, 2),
    "jac-positions": Model("JAC, 276 KiB", 23_558, 0.0, 0, 1),
    "stmv-positions": Model("STMV, 12.2 MiB", 1_066_628, 0.0, 0, 1),
}
"""Frames as arrays: positions and velocities, of as many bytes as the published frames, or positions alone."""


class SerialisedFrame:
    """A frame as bytes: six lengths of the cell, then type and position of each atom; or arrays alone.

    Attributes
    ----------
    buffer : ndarray, uint8
        All bytes of the frame.
    atoms : ndarray, shape (n_atoms,)
        The bytes after the cell, as `ATOM`; empty for frames of arrays.
    arrays : ndarray, shape (n_arrays, n_atoms, 3), float32, or None
        Its arrays.
    """

    def __init__(self, model: Model, seed: int | None = None) -> None:
        self.buffer: NDArray[np.uint8] = np.zeros(model.frame_bytes, np.uint8)
        self.arrays: NDArray[np.float32] | None = None
        head = 0 if model.n_arrays else HEADER_BYTES
        self.cell: NDArray[np.float64] = self.buffer[:head].view("<f8")
        self.atoms: NDArray[np.void] = self.buffer[head : head if model.n_arrays else None].view(ATOM)
        if model.n_arrays:
            self.arrays = self.buffer.view("<f4").reshape(model.n_arrays, model.n_atoms, 3)
        if seed is not None:
            random = np.random.default_rng(seed)
            if self.arrays is not None:
                self.arrays[:] = random.random(self.arrays.shape, np.float32)
            else:
                self.atoms["position"] = random.normal(0.0, 30.0, (model.n_atoms, 3))
        self._words: list[NDArray[np.int32]] = [self.buffer[head:].view("<i4")]
        # What is written there is no part of a position of a record: the types of three atoms.
        n_words, of_atom = len(self._words[0]), ATOM.itemsize // 4
        n_atoms = model.n_atoms
        records = (0, n_atoms // 2 * of_atom, (n_atoms - 1) * of_atom)
        self._marked = (0, n_words // 2, n_words - 1) if model.n_arrays else records

    def write_to(self, file: Any) -> None:
        """Write the frame to an unbuffered file."""
        rest = self.buffer.data
        while len(rest):
            rest = rest[file.write(rest) :]

    def read_from(self, file: Any) -> None:
        """Read the frame from an unbuffered file; raise a `RuntimeError` if the file has another length."""
        rest = self.buffer.data
        while count := file.readinto(rest):
            rest = rest[count:]
        if len(rest) or file.read(1):
            raise RuntimeError(f"{file.name}: expected {self.buffer.nbytes:,} bytes, and there are more or fewer")

    def show(self, parts: Sequence[NDArray[Any]]) -> None:
        """Use the bytes of other arrays until `hide`; raise a `RuntimeError` if their total length differs."""
        if sum(part.nbytes for part in parts) != self.buffer.nbytes:
            raise RuntimeError(f"expected {self.buffer.nbytes:,} bytes, and there are more or fewer")
        self._words = [part.reshape(-1).view("<i4") for part in parts]

    def hide(self) -> None:
        """Stop using the bytes of other arrays."""
        self._words = []

    def mark(self, number: int) -> None:
        """Write the number of the frame where it begins, in the middle and at its end."""
        for word in self._marked:
            self._words[0][word] = number

    def check(self, *numbers: int) -> int:
        """Return the number of the frame; raise a `RuntimeError` if its three marks are invalid or differ."""
        found = [self._word(word) for word in self._marked]
        if found[0] not in numbers or found != [found[0]] * len(found):
            raise RuntimeError(f"frame {numbers[0]} was taken as parts of the frames {', '.join(map(str, found))}")
        return found[0]

    def _word(self, word: int) -> int:
        for part in self._words:
            if word < len(part):
                break
            word -= len(part)
        return int(part[word])
