"""Plain decoder of XTC frames without any checks that decoding does not need.

The decoder accepts a frame if it can decode the groups of atoms up to the last atom within the compressed bytes. It
also reports values that a reader could compare with the header of the frame.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

HEADER_BYTES = 92
"""Bytes of a frame before its compressed coordinates, with the magic number 1995."""
FIRST_INDEX, LAST_INDEX = 9, 72
_ROOTS_THAT_DIFFER = {37: 5060, 57: 524_287, 69: 8_388_607}
"""Radices of the format that are not the rounded-down cube root of a power of two."""


def _radix(index: int) -> int:
    root = round(2 ** (index / 3))
    return _ROOTS_THAT_DIFFER.get(index, root - (root**3 > 1 << index))


_RADICES = [_radix(index) for index in range(LAST_INDEX + 1)]


class DecodeError(ValueError):
    """The compressed bytes of a frame cannot be decoded up to the last atom."""


@dataclass(frozen=True)
class PlainFrame:
    """A decoded frame.

    Attributes
    ----------
    integers : ndarray, shape (n_atoms, 3), int64
        Coordinates times the precision.
    least, largest : ndarray, shape (3,), int64
        Extremes of each axis from the header.
    n_bytes : int
        Number of compressed bytes from the header.
    n_used : int
        Number of compressed bytes that decoding used.
    """

    integers: NDArray[np.int64]
    least: NDArray[np.int64]
    largest: NDArray[np.int64]
    n_bytes: int
    n_used: int

    @property
    def has_all_bytes(self) -> bool:
        """Whether decoding used the number of bytes in the header."""
        return self.n_used == self.n_bytes

    @property
    def has_extremes(self) -> bool:
        """Whether the coordinates have the extremes in the header."""
        least, largest = self.integers.min(axis=0), self.integers.max(axis=0)
        return bool((least == self.least).all() and (largest == self.largest).all())


class _Bits:
    """Bits of a stream, most significant first."""

    def __init__(self, data: bytes) -> None:
        self._data = data + bytes(16)
        self._end = 8 * len(data)
        self.at = 0

    def field(self, n_bits: int) -> int:
        """Return the next bits as a number."""
        if self.at + n_bits > self._end:
            raise DecodeError("the compressed bytes end within a group of atoms")
        first, within = divmod(self.at, 8)
        word = int.from_bytes(self._data[first : first + 16], "big")
        self.at += n_bits
        return word >> (128 - within - n_bits) & ((1 << n_bits) - 1)

    def packed(self, n_bits: int, sizes: tuple[int, int, int]) -> tuple[int, int, int]:
        """Return the next three components, which are the digits of one number."""
        n_whole, n_rest = n_bits // 8, n_bits % 8
        value = int.from_bytes(self.field(8 * n_whole).to_bytes(n_whole, "big"), "little")
        value |= self.field(n_rest) << (8 * n_whole)
        value, z = divmod(value, sizes[2])
        x, y = divmod(value, sizes[1])
        return x, y, z


def frame_bytes(frame: bytes) -> int:
    """Return the size of a frame from its header."""
    return int(HEADER_BYTES + (struct.unpack_from(">i", frame, HEADER_BYTES - 4)[0] + 3) // 4 * 4)


def decode(frame: bytes) -> PlainFrame:
    """Decode a frame of more than 9 atoms, with the magic number 1995.

    Parameters
    ----------
    frame : bytes
        The frame, possibly followed by other bytes.

    Returns
    -------
    PlainFrame
        Its coordinates and header values.

    Raises
    ------
    DecodeError
        If the groups of atoms cannot be decoded up to the last atom.
    """
    (n_atoms,) = struct.unpack_from(">i", frame, 4)
    *extremes, index, n_bytes = struct.unpack_from(">8i", frame, 60)
    least, largest = np.array(extremes[:3], np.int64), np.array(extremes[3:], np.int64)
    x, y, z = (int(size) for size in largest - least + 1)
    bits = _Bits(frame[HEADER_BYTES : HEADER_BYTES + n_bytes])
    big_bits = (x * y * z).bit_length()
    atoms: list[tuple[int, ...]] = []
    run = 0
    while len(atoms) < n_atoms:
        big = tuple(np.add(bits.packed(big_bits, (x, y, z)), least).tolist())
        change = 0
        if bits.field(1):
            run, change = divmod(bits.field(5), 3)
            change -= 1
        group, before, radix = [big], big, _RADICES[index]
        for k in range(run):
            step = bits.packed(index, (radix, radix, radix))
            before = tuple(a + b - radix // 2 for a, b in zip(before, step, strict=True))
            # The first small coordinate belongs to the atom before the big one.
            group.insert(0 if k == 0 else len(group), before)
        atoms += group
        index += change
        if not FIRST_INDEX <= index <= LAST_INDEX:
            raise DecodeError("the small index leaves its range")
    if len(atoms) > n_atoms:
        raise DecodeError("the last run goes beyond the last atom")
    return PlainFrame(np.array(atoms, np.int64), least, largest, n_bytes, (bits.at + 7) // 8)
