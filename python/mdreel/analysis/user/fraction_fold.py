"""Fold that calls a user function with the contact distances in each frame."""

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel._core import contacts_of
from mdreel.analysis.user.checked_function import numbers_of
from mdreel.analysis.user.user_functions import Batch, Fold, FrameError, describe_error, function_name, pickle_by_value
from mdreel.errors import FunctionError, MismatchError

Fraction = Callable[..., Any]
"""A function that returns a number for distances and reference distances in Å, each of shape (n_contacts,)."""

_ALL = 1e9
"""A radius in Å that includes every pair of atoms."""


def distances_between(
    first: NDArray[np.float64], second: NDArray[np.float64], cell: NDArray[np.float32] | None
) -> NDArray[np.float64]:
    """Return the minimum image distances of all pairs.

    Parameters
    ----------
    first, second : ndarray, shape (n_first, 3) and (n_second, 3), float64
        Positions in Å.
    cell : ndarray, shape (6,), float32, or None
        Lengths in Å and angles in degrees, or None to ignore images.

    Returns
    -------
    ndarray, shape (n_first, n_second), float64
        Distances in Å.
    """
    places, distances = contacts_of(first, second, cell, _ALL)
    found = np.full((len(first), len(second)), np.nan)
    found[places[:, 0], places[:, 1]] = distances
    return found


@dataclass(frozen=True)
class FractionFold(Fold):
    """A fold that calls a user function with the contact distances in each frame.

    Attributes
    ----------
    function : callable
        The user function.
    options : mapping
        Keyword arguments of the function.
    groups : tuple of ndarray, shape (n_first,) and (n_second,), uint32
        Positions of the two groups among the atoms that are read.
    references : sequence of (pairs, distances)
        Contacts of each reference, as positions in the groups, shape (n_contacts, 2), and distances in Å.
    is_periodic : bool or None
        Whether to use periodic images. If None, they are used in frames with a cell. If True, every frame must have a
        cell.
    """

    function: Fraction
    options: Mapping[str, Any]
    groups: tuple[NDArray[np.uint32], NDArray[np.uint32]]
    references: Sequence[tuple[NDArray[np.uint32], NDArray[np.float64]]]
    is_periodic: bool | None

    def check(self) -> None:
        """Check that the function returns a number for the distances of the reference.

        Raises
        ------
        MismatchError
            If the function returns anything else. If the function fails, `FunctionError` is raised.
        """
        for _, distances in self.references:
            try:
                self._value(distances, distances)
            except (FunctionError, MismatchError) as error:
                raise MismatchError(f"method: {error}") from error
            except Exception as error:
                raise FunctionError(f"{describe_error(error)}, for the distances of the reference") from error

    def added(self, value: list[NDArray[np.float64]] | None, batch: Batch) -> list[NDArray[np.float64]]:
        """Call the function for each frame, and append its values."""
        found = np.empty((len(batch.frames), len(self.references)))
        for i, (cell, positions) in enumerate(zip(batch.cells, batch.positions, strict=True)):
            try:
                found[i] = self._of_frame(positions.astype(np.float64), cell)
            except MismatchError as error:
                raise FrameError(i, str(error)) from error
            except Exception as error:
                raise FrameError(i, describe_error(error)) from error
        return [*(value or ()), found]

    def merged(
        self, value: list[NDArray[np.float64]], following: list[NDArray[np.float64]]
    ) -> list[NDArray[np.float64]]:
        """Return the values of both inputs."""
        return [*value, *following]

    def _of_frame(self, positions: NDArray[np.float64], cell: NDArray[np.float32]) -> list[float]:
        has_cell = not np.isnan(cell).any()
        if self.is_periodic and not has_cell:
            raise MismatchError("no periodic cell: there are no shortest images")
        first, second = (positions[group] for group in self.groups)
        if not np.isfinite(positions).all():
            raise MismatchError("a coordinate is not finite")
        distances = distances_between(first, second, cell if has_cell and self.is_periodic is not False else None)
        return [self._value(distances[pairs[:, 0], pairs[:, 1]], before) for pairs, before in self.references]

    def _value(self, distances: NDArray[np.float64], reference: NDArray[np.float64]) -> float:
        found = numbers_of(self.function(distances.copy(), reference.copy(), **self.options), self.function)
        if found.size != 1:
            raise MismatchError(f"{function_name(self.function)} returned the shape {found.shape}: expected one number")
        return float(found.reshape(()))

    def __reduce__(self) -> tuple[Any, ...]:
        content = pickle_by_value((self.function, dict(self.options)), "the function")
        return _unpickled, (content, self.groups, self.references, self.is_periodic)


def _unpickled(content: bytes, *others: Any) -> FractionFold:
    function, options = pickle.loads(content)  # noqa: S301 (from our own processes)
    return FractionFold(function, options, *others)
