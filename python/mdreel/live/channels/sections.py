"""Sections of frames. Each section stores a single quantity in a single data type."""

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import FrameEncoder, channel_xtc_positions
from mdreel.errors import MismatchError, UnsupportedError
from mdreel.live.channels.encoder_outline import Outline
from mdreel.live.channels.manifest import Manifest

PER_ATOM = ("positions", "velocities", "forces")
TYPED = np.dtype([("type", "<i4"), ("position", "<f8", (3,))])
"""Record of 28 bytes per atom, which contains its type and its position in Å."""
_OTHER_DTYPES = {"xtc": "float32", "type and float64": "float64"}
"""Data type of velocities and forces for each data type of positions, if they differ."""
DATA_TYPES = ("float32", "float64", *_OTHER_DTYPES)

Section = tuple[str, str, NDArray[np.uint8]]
"""Name, data type and content of a section."""


def declared_sections(dtype: str, velocities: bool, forces: bool) -> tuple[tuple[str, str], ...]:
    """Return the name and data type of each per-atom section. Raise UnsupportedError if `dtype` is unknown."""
    if dtype not in DATA_TYPES:
        raise UnsupportedError(f"dtype must be one of {', '.join(DATA_TYPES)}, not {dtype!r}")
    other_dtype = _OTHER_DTYPES.get(dtype, dtype)
    others = (("velocities", velocities), ("forces", forces))
    return ("positions", dtype), *((name, other_dtype) for name, is_there in others if is_there)


class Encoder:
    """Encoder that converts the arrays of a simulation to sections.

    Parameters
    ----------
    path : Path
        Directory of the channel, for error messages.
    manifest : Manifest
        Manifest of the channel.
    precision : float
        Precision of XTC-compressed positions, in integers per nm.
    """

    def __init__(self, path: Path, manifest: Manifest, precision: float) -> None:
        self._path = path
        self._manifest = manifest
        self._dtypes = dict(manifest.sections)
        self._stored = {dtype: np.dtype(dtype).newbyteorder("<") for dtype in ("float32", "float64")}
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
        """Return the section for positions in Å, shape (n_atoms, 3).

        Raises
        ------
        MismatchError
            If the shape or the data type is wrong, or if `types` are given for a channel without types.
        """
        dtype = self._dtypes["positions"]
        if types is not None and dtype != "type and float64":
            message = 'the channel was opened without types; open it with dtype="type and float64"'
            raise MismatchError(f"{self._path}, step {step}: {message}")
        if dtype not in _OTHER_DTYPES:
            return self.per_atom("positions", values, step)
        n_atoms = self._manifest.n_atoms
        if isinstance(values, np.ndarray) and values.dtype == TYPED and self._xtc is None:
            return "positions", dtype, _as_bytes(self._typed_atoms(values, types, step))
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
        return "positions", dtype, _as_bytes(atoms)

    def _typed_atoms(self, atoms: NDArray[Any], types: ArrayLike | None, step: int) -> NDArray[Any]:
        """Return a contiguous array with the data type `TYPED`, copying the array only if it is not contiguous."""
        expected = (self._manifest.n_atoms,)
        if atoms.shape != expected:
            raise MismatchError(f"{self._path}, step {step}: expected atoms of shape {expected}, got {atoms.shape}")
        if types is not None:
            raise MismatchError(f"{self._path}, step {step}: expected no types, because the atoms include them")
        return np.ascontiguousarray(atoms)

    def per_atom(self, name: str, values: ArrayLike, step: int) -> Section:
        """Return a section with three numbers per atom. Contiguous arrays with the correct data type are not copied."""
        dtype = self._dtypes.get(name)
        if dtype is None:
            message = f"the channel was opened without {name}; open it with {name}=True"
            raise MismatchError(f"{self._path}, step {step}: {message}")
        numbers = self.numbers(name, values, (self._manifest.n_atoms, 3), step)
        return name, dtype, _as_bytes(np.ascontiguousarray(numbers, self._stored[dtype]))

    def energies(self, values: Mapping[str, float] | ArrayLike, step: int) -> Section:
        """Return the section for energies in kJ/mol, given by name or in the order of the manifest."""
        names = self._manifest.energies
        if not names:
            message = "the channel was opened without energies; open it with energies="
            raise MismatchError(f"{self._path}, step {step}: {message}")
        if isinstance(values, Mapping):
            if set(values) != set(names):
                expected, got = ", ".join(names), ", ".join(map(str, values))
                raise MismatchError(f"{self._path}, step {step}: expected the energies {expected}, got {got}")
            values = [values[name] for name in names]
        numbers = self.numbers("energies", values, (len(names),), step)
        return "energies", "float64", _as_bytes(np.ascontiguousarray(numbers, "<f8"))

    def cell(self, box: ArrayLike, step: int) -> list[float]:
        """Return the concatenated row vectors of a cell, in Å, given its vectors or its lengths and angles.

        Raises
        ------
        MismatchError
            If the shape is wrong, if a number is not finite, or if no cell can have these lengths and angles.
        """
        values = np.asarray(box)
        shape = values.shape
        if shape not in ((3, 3), (6,)):
            expected = "vectors of shape (3, 3), or three lengths and three angles"
            raise MismatchError(f"{self._path}, step {step}: expected box as {expected}, got the shape {shape}")
        values = self.numbers("box", values, shape, step)
        if shape == (6,):
            from MDAnalysis.lib.mdamath import triclinic_vectors

            with np.errstate(invalid="ignore"):  # angles that no cell has
                vectors = triclinic_vectors(values, np.float64)
            if not vectors.any():
                lengths, angles = values[:3].tolist(), values[3:].tolist()
                message = f"no cell has the lengths {lengths} Å and the angles {angles} degrees"
                raise MismatchError(f"{self._path}, step {step}: {message}; give box=None if there is no cell")
            values = vectors
        cell: list[float] = values.ravel().tolist()
        if not isfinite(sum(cell)):
            raise MismatchError(f"{self._path}, step {step}: the numbers of the box must be finite, not {cell}")
        return cell

    def numbers(self, name: str, values: ArrayLike, shape: tuple[int, ...], step: int) -> NDArray[Any]:
        """Check the shape of an array of real numbers, and return it unchanged."""
        array = np.asarray(values)
        if array.shape != shape:
            raise MismatchError(f"{self._path}, step {step}: expected {name} of shape {shape}, got {array.shape}")
        if array.dtype.kind not in "fiu":
            raise MismatchError(f"{self._path}, step {step}: expected {name} as numbers, got {array.dtype}")
        return array


def section_arrays(name: str, dtype: str, buffer: memoryview, n_atoms: int) -> dict[str, NDArray[Any]]:
    """Return arrays as views of a section. Compressed positions are decompressed into a new array."""
    if dtype == "xtc":
        return {name: channel_xtc_positions(np.frombuffer(buffer, np.uint8), n_atoms)}
    stored = TYPED if dtype == "type and float64" else np.dtype(dtype).newbyteorder("<")
    # NumPy does not accept an empty buffer.
    values = np.frombuffer(buffer, stored) if buffer.nbytes else np.empty(0, stored)
    if stored is TYPED:
        return {"atoms": values}
    return {name: values.reshape(-1, 3) if name in PER_ATOM else values}


def _as_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of a contiguous array as a view."""
    return array.reshape(-1).view(np.uint8)
