"""Sections of frames: positions, velocities and other per-atom arrays."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import FrameEncoder, channel_frame_bytes, channel_xtc_frame_bytes, channel_xtc_positions
from mdreel.errors import MismatchError, UnsupportedError
from mdreel.live.channels.encoder_outline import Outline
from mdreel.live.channels.manifest import Manifest

OF_ATOMS = ("positions", "velocities", "forces")
TYPED = np.dtype([("type", "<i4"), ("position", "<f8", (3,))])
"""Of each atom: its type, and its position in Å; 28 bytes."""
_OF_POSITIONS = {"xtc": "float32", "type and float64": "float64"}
"""What velocities and forces are stored as where positions have a data type of their own."""
DATA_TYPES = ("float32", "float64", *_OF_POSITIONS)

Section = tuple[str, str, NDArray[np.uint8]]
"""Its name, its data type, its bytes."""


def declared(dtype: str, velocities: bool, forces: bool) -> tuple[tuple[str, str], ...]:
    """Return the sections of each atom that frames may have, with their data types.

    Raises
    ------
    UnsupportedError
        If there is no such data type.
    """
    if dtype not in DATA_TYPES:
        raise UnsupportedError(f"dtype must be one of {', '.join(DATA_TYPES)}, not {dtype!r}")
    of_others = _OF_POSITIONS.get(dtype, dtype)
    others = (("velocities", velocities), ("forces", forces))
    return ("positions", dtype), *((name, of_others) for name, is_there in others if is_there)


def most_bytes(manifest: Manifest) -> int:
    """Return the bytes that a frame takes at most."""
    return channel_frame_bytes([_bytes_of_section(manifest, *section) for section in manifest.sections])


def _bytes_of_section(manifest: Manifest, name: str, dtype: str) -> int:
    if name == "energies":
        return 8 * len(manifest.energies)
    if dtype == "xtc":
        return channel_xtc_frame_bytes(manifest.n_atoms)
    return manifest.n_atoms * (TYPED.itemsize if dtype == "type and float64" else 3 * np.dtype(dtype).itemsize)


class Encoder:
    """Makes sections of what a simulation has.

    Parameters
    ----------
    path : Path
        The channel's directory, for messages.
    manifest : Manifest
        What frames have.
    precision : float
        Integers per nm, of positions that are compressed as XTC.
    """

    def __init__(self, path: Path, manifest: Manifest, precision: float) -> None:
        self._path = path
        self._manifest = manifest
        self._dtypes = dict(manifest.sections)
        outline = Outline(manifest.n_atoms, ["positions"], False, 0, 1, 0.0, 0.0)
        self._xtc = FrameEncoder("positions.xtc", outline, precision) if self._dtypes["positions"] == "xtc" else None

    def positions(
        self,
        values: ArrayLike,
        step: int,
        time: float,
        cell: Sequence[float] | None,
        types: ArrayLike | None = None,
    ) -> Section:
        """Return the section of positions, Å, shape (n_atoms, 3).

        Raises
        ------
        MismatchError
            If the shape is another, there are no numbers, or there are types where the channel has none.
        """
        dtype = self._dtypes["positions"]
        if types is not None and dtype != "type and float64":
            message = 'the channel was opened without types: dtype="type and float64" has them'
            raise MismatchError(f"{self._path}, step {step}: {message}")
        if dtype not in _OF_POSITIONS:
            return self.of_atoms("positions", values, step)
        n_atoms = self._manifest.n_atoms
        if isinstance(values, np.ndarray) and values.dtype == TYPED and self._xtc is None:
            return "positions", dtype, _bytes_of(self._of_atoms_with_types(values, types, step))
        numbers = self.numbers("positions", values, (n_atoms, 3), step)
        if self._xtc is not None:
            rows = np.ascontiguousarray(numbers, np.float32)
            try:
                frame = self._xtc.encode(0, step, time, cell, [("positions", rows)])
            except MismatchError as error:
                raise MismatchError(f"{self._path}, step {step}: {error}") from None
            return "positions", dtype, np.frombuffer(frame, np.uint8)
        atoms = np.empty(n_atoms, TYPED)
        atoms["type"] = 0 if types is None else self.numbers("types", types, (n_atoms,), step)
        atoms["position"] = numbers
        return "positions", dtype, _bytes_of(atoms)

    def _of_atoms_with_types(self, atoms: NDArray[Any], types: ArrayLike | None, step: int) -> NDArray[Any]:
        """Return atoms in the layout of 28 bytes, as they are if they lie one behind the other."""
        expected = (self._manifest.n_atoms,)
        if atoms.shape != expected:
            raise MismatchError(f"{self._path}, step {step}: expected atoms of shape {expected}, got {atoms.shape}")
        if types is not None:
            raise MismatchError(f"{self._path}, step {step}: expected no types beside atoms that have them")
        return np.ascontiguousarray(atoms)

    def of_atoms(self, name: str, values: ArrayLike, step: int) -> Section:
        """Return a section of three numbers an atom; arrays that fit are not copied."""
        dtype = self._dtypes.get(name)
        if dtype is None:
            message = f"the channel was opened without {name}: {name}=True has them"
            raise MismatchError(f"{self._path}, step {step}: {message}")
        numbers = self.numbers(name, values, (self._manifest.n_atoms, 3), step)
        return name, dtype, _bytes_of(np.ascontiguousarray(numbers, np.dtype(dtype).newbyteorder("<")))

    def energies(self, values: Mapping[str, float] | ArrayLike, step: int) -> Section:
        """Return the section of energies, kJ/mol, by their names or in their order."""
        names = self._manifest.energies
        if not names:
            message = "the channel was opened without energies: energies= names them"
            raise MismatchError(f"{self._path}, step {step}: {message}")
        if isinstance(values, Mapping):
            if set(values) != set(names):
                expected, got = ", ".join(names), ", ".join(map(str, values))
                raise MismatchError(f"{self._path}, step {step}: expected the energies {expected}, got {got}")
            values = [values[name] for name in names]
        numbers = self.numbers("energies", values, (len(names),), step)
        return "energies", "float64", _bytes_of(np.ascontiguousarray(numbers, "<f8"))

    def numbers(self, name: str, values: ArrayLike, shape: tuple[int, ...], step: int) -> NDArray[Any]:
        """Return real numbers of a shape, as they are."""
        array = np.asarray(values)
        if array.shape != shape:
            raise MismatchError(f"{self._path}, step {step}: expected {name} of shape {shape}, got {array.shape}")
        if array.dtype.kind not in "fiu":
            raise MismatchError(f"{self._path}, step {step}: expected {name} as numbers, got {array.dtype}")
        return array


def arrays_of(name: str, dtype: str, buffer: memoryview, n_atoms: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of a section, where its bytes lie; of positions that are compressed, an array of its own.

    Raises
    ------
    FormatError
        If compressed positions are damaged.
    """
    if dtype == "xtc":
        return {name: channel_xtc_positions(np.frombuffer(buffer, np.uint8), n_atoms)}
    stored = TYPED if dtype == "type and float64" else np.dtype(dtype).newbyteorder("<")
    # NumPy refuses a buffer of which nothing is wanted.
    values = np.frombuffer(buffer, stored) if buffer.nbytes else np.empty(0, stored)
    if stored is TYPED:
        return {"atoms": values}
    return {name: values.reshape(-1, 3) if name in OF_ATOMS else values}


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of a contiguous array, where they are."""
    return array.reshape(-1).view(np.uint8)
