"""Columns of result tables."""

from collections.abc import Sequence
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
"""Units in ASCII notation."""


@dataclass(frozen=True)
class Column:
    """A quantity in a table, with one value per row.

    Attributes
    ----------
    name : str
        An identifier in lower case, such as ``frame``, ``time`` or ``rmsd``.
    unit : str
        Unit in its usual notation (``ps``, ``Å``), or an empty string for dimensionless values.
    values : ndarray, shape (n_rows,), int64, float64 or str
        The values in `unit`, or strings for labels.

    Examples
    --------
    >>> import numpy as np
    >>> from mdreel.results import Column
    >>> Column("rmsd", "Å", np.array([0.0, 1.2])).heading
    'rmsd_angstrom'
    """

    name: str
    unit: str
    values: NDArray[np.int64] | NDArray[np.float64] | NDArray[np.str_]

    @property
    def is_text(self) -> bool:
        """Whether the values are strings."""
        return self.values.dtype.kind == "U"

    @property
    def ascii_unit(self) -> str:
        """Unit in ASCII notation, for file formats without Unicode."""
        return SPELLED_OUT.get(self.unit, self.unit)

    @property
    def heading(self) -> str:
        """Name and unit as one identifier, for example ``rmsd_angstrom``."""
        return f"{self.name}_{self.ascii_unit}" if self.unit else self.name


def check_table(columns: Sequence[Column]) -> None:
    """Check that columns form a table.

    Raises
    ------
    ValueError
        If there are no columns, if columns differ in length, or if two columns have the same name.
    """
    lengths = {column.name: len(column.values) for column in columns}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"the columns of a table must have the same length, got {lengths}")
    if len(lengths) < len(columns):
        names = [column.name for column in columns]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the columns of a table must have different names, got {twice!r} twice")


def unique_names(names: Sequence[str]) -> list[str]:
    """Return column names, with a number appended to each repeated name: ``a``, ``a_2``."""
    taken, found = set(names), []
    seen: set[str] = set()
    for name in names:
        unique, number = name, 1
        while unique in seen or (number > 1 and unique in taken):
            number += 1
            unique = f"{name}_{number}"
        seen.add(unique)
        found.append(unique)
    return found
