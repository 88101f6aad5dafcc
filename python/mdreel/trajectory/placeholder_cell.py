"""Placeholder cell of 1 x 1 x 1 Å, which occurs in files of structures without a periodic cell."""

import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import MdreelWarning
from mdreel.foundation.stack_level import caller_level

if TYPE_CHECKING:
    from MDAnalysis import Universe

_PLACEHOLDER = (1.0, 1.0, 1.0, 90.0, 90.0, 90.0)
"""Lengths in Å and angles in degrees, as in the CRYST1 record of NMR and electron microscopy structures."""


def is_placeholder(dimensions: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Return whether cells are placeholders.

    Parameters
    ----------
    dimensions : ndarray, shape (..., 6)
        Lengths in Å and angles in degrees.

    Returns
    -------
    ndarray, shape (...), bool
        Whether all lengths are 1 Å and all angles are 90 degrees.
    """
    found: NDArray[np.bool_] = np.all(np.asarray(dimensions) == _PLACEHOLDER, axis=-1)
    return found


def known_cell(dimensions: NDArray[np.floating] | None) -> NDArray[np.float32] | None:
    """Return the lengths and angles of a cell, or None if there is no cell or only a placeholder."""
    if dimensions is None or is_placeholder(dimensions):
        return None
    return np.array(dimensions, np.float32)


def cell_of(universe: "Universe") -> NDArray[np.float32] | None:
    """Return the cell of the current frame of a Universe, shape (6,), float32, or None if it has no cell.

    Warns
    -----
    MdreelWarning
        If the cell is a placeholder. It is then not used.
    """
    dimensions = universe.dimensions
    if dimensions is not None and is_placeholder(dimensions):
        warn_of_placeholder()
    return known_cell(dimensions)


def warn_of_placeholder() -> None:
    """Warn that a placeholder cell is ignored."""
    message = (
        "the cell of 1 × 1 × 1 Å is a placeholder for structures without a cell: not using periodic boundary conditions"
    )
    warnings.warn(message, MdreelWarning, stacklevel=caller_level())
