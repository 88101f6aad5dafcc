"""Columns of result tables."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SPELLED_OUT = {
    "Å": "angstrom",
    "Å^2": "angstrom2",
    "Å^-3": "per_angstrom3",
    "nm^2": "nm2",
    "nm^-3": "per_nm3",
    "g/cm^3": "g_per_cm3",
    "e mol/cm^3": "e_mol_per_cm3",
    "°": "degree",
}
"""Units in ASCII."""


@dataclass(frozen=True)
class Column:
    """A quantity of a table with one value for each row.

    Attributes
    ----------
    name : str
        An identifier in lower case, such as ``frame``, ``time`` or ``rmsd``.
    unit : str
        Unit in its usual notation (``ps``, ``Å``); empty for dimensionless values.
    values : ndarray, shape (n_frames,), int64, float64 or str
        The values, in `unit`; text for labels.
    """

    name: str
    unit: str
    values: NDArray[np.int64] | NDArray[np.float64] | NDArray[np.str_]

    @property
    def is_text(self) -> bool:
        """Whether the values are text."""
        return self.values.dtype.kind == "U"

    @property
    def ascii_unit(self) -> str:
        """Unit in ASCII, for file formats without Unicode."""
        return SPELLED_OUT.get(self.unit, self.unit)

    @property
    def heading(self) -> str:
        """Name and unit as one identifier, for example ``rmsd_angstrom``."""
        return f"{self.name}_{self.ascii_unit}" if self.unit else self.name
