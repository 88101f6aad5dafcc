"""Positions in a frame for which only some atoms were read."""

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from mdreel.errors import UnsupportedError

_HOW = (
    "mdreel reads the atoms of the groups that the analysis holds. Pass further atoms, as in "
    "super().__init__(atomgroup, reads=universe.atoms), or set them as an attribute in __init__"
)


class PartialPositions(NDArrayOperatorsMixin):
    """Positions in a frame for which only some atoms were read.

    If all selected atoms were read, indexing works in the same way as for an array. Any other access to the values
    raises an error. The class is not a subclass of ndarray, because NumPy and compiled code read the memory of
    subclasses directly.

    Parameters
    ----------
    array : ndarray, shape (n_atoms, 3), float32
        The positions. The values for atoms that were not read are arbitrary.
    is_read : ndarray, shape (n_atoms,), bool
        Whether each atom was read.
    why : str, optional
        The reason why the other atoms were not read, and how to fix the problem.
    """

    def __init__(self, array: NDArray[np.float32], is_read: NDArray[np.bool_], why: str = _HOW) -> None:
        self._array, self._is_read, self._why = array, is_read, why
        self.shape, self.dtype, self.ndim, self.size = array.shape, array.dtype, array.ndim, array.size

    def __getitem__(self, index: Any) -> Any:
        self._check(index)
        return self._array[index]

    def __setitem__(self, index: Any, values: Any) -> None:
        self._check(index)
        self._array[index] = values

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        self._refuse(self._is_read)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        self._refuse(self._is_read)

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        self._refuse(self._is_read)

    def __array_function__(self, *_: Any, **__: Any) -> Any:
        self._refuse(self._is_read)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"positions have no attribute {name!r}", name=name, obj=self)
        self._refuse(self._is_read)  # methods such as sum and copy use all atoms

    def __reduce__(self) -> NoReturn:
        self._refuse(self._is_read)

    def __repr__(self) -> str:
        return f"<positions of {self._is_read.sum():,} atoms; {(~self._is_read).sum():,} were not read>"

    def _check(self, index: Any) -> None:
        """Raise an error if an index selects an atom that was not read."""
        of_atoms = index[0] if isinstance(index, tuple) and index else index
        if of_atoms is None or of_atoms is Ellipsis or isinstance(of_atoms, tuple):
            self._refuse(self._is_read)
        try:
            chosen = self._is_read[of_atoms]
        except IndexError:
            _ = self._array[index]  # raises NumPy's error
            self._refuse(self._is_read)
        if not chosen.all():
            self._refuse(chosen, np.arange(len(self._is_read))[of_atoms])

    def _refuse(self, chosen: NDArray[np.bool_], atoms: NDArray[np.integer] | None = None) -> NoReturn:
        unread = (np.arange(len(chosen)) if atoms is None else np.asarray(atoms))[~np.asarray(chosen)]
        unread = np.unique(unread)
        which = f"atom {unread[0]}" if len(unread) == 1 else f"{len(unread):,} atoms (the first is atom {unread[0]})"
        raise UnsupportedError(f"the positions of {which} were not read: {self._why}")
