"""Periodic cell of a frame, and shortest differences between positions."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class PeriodicCell:
    """A periodic cell.

    Attributes
    ----------
    vectors : ndarray, shape (3, 3), float64
        Cell vectors in Å, as rows.
    height : float
        Smallest distance between two opposite faces in Å.
    """

    vectors: NDArray[np.float64]
    height: float

    @classmethod
    def of(cls, vectors: NDArray[np.floating]) -> Self | None:
        """Return the cell for vectors in Å, shape (3, 3), or None for a placeholder or a cell without volume."""
        rows = np.asarray(vectors, np.float64)
        if (np.abs(rows - np.eye(3)) <= 1e-6).all():  # the placeholder of 1 x 1 x 1 Å
            return None
        volume = abs(float(np.linalg.det(rows))) if np.isfinite(rows).all() else 0.0
        if volume <= 0:
            return None
        heights = 1 / np.linalg.norm(np.linalg.inv(rows), axis=0)
        return cls(rows, float(heights.min()))

    @classmethod
    def of_dimensions(cls, dimensions: NDArray[np.floating]) -> Self | None:
        """Return the cell for lengths (Å) and angles (degrees), shape (6,), or None if it has no volume."""
        a, b, c = np.asarray(dimensions[:3], np.float64)
        if not min(a, b, c) > 0:
            return None
        alpha, beta, gamma = np.cos(np.radians(np.asarray(dimensions[3:6], np.float64)))
        of_c = (alpha - beta * gamma) / np.sqrt(1 - gamma**2)
        last = np.sqrt(max(1 - beta**2 - of_c**2, 0.0))
        return cls.of(np.array([[a, 0, 0], [b * gamma, b * np.sqrt(1 - gamma**2), 0], [c * beta, c * of_c, c * last]]))

    def nearest(self, differences: NDArray[np.floating]) -> NDArray[np.float64]:
        """Reduce differences, shape (n, 3), to minimum images in Å by subtracting cell vectors.

        Notes
        -----
        The reduction is exact if the result is shorter than half of `height`, in cells of any shape.
        """
        given = np.asarray(differences, np.float64)
        found: NDArray[np.float64] = given - np.rint(given @ np.linalg.inv(self.vectors)) @ self.vectors
        return found
