"""Atoms to which a selection refers although they do not belong to the group to which it is applied."""

import warnings

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import MdreelWarning
from mdreel.foundation.stack_level import caller_level

REFERRING = frozenset(
    (
        "AroundSelection",
        "IsoLayerSelection",
        "SphericalZoneSelection",
        "SphericalLayerSelection",
        "CylindricalZoneSelection",
        "CylindricalLayerSelection",
        "ByResSelection",
        "SameSelection",
        "BondedSelection",
    )
)
"""Names of the MDAnalysis classes for selections that select atoms by their relation to other atoms."""


def warn_of_missing_references(words: str, wanted: NDArray[np.integer], present: NDArray[np.integer]) -> None:
    """Warn if a selection refers to atoms outside the group to which it is applied, because they are ignored.

    Parameters
    ----------
    words : str
        The selection.
    wanted : ndarray, shape (n_wanted,), int
        Indices of all atoms in the system to which the selection refers.
    present : ndarray, shape (n_present,), int
        Indices of the atoms in the group to which the selection refers.

    Warns
    -----
    MdreelWarning
        If atoms of `wanted` are not among `present`.
    """
    n_missing = int(np.count_nonzero(~np.isin(wanted, present)))
    if n_missing:
        n_wanted = len(wanted)
        which = f"all {n_wanted:,}" if n_missing == n_wanted else f"{n_missing:,} of the {n_wanted:,}"
        message = (
            f"selection '{words}': {which} atoms that it refers to are outside the group "
            "that it applies to, and do not count: write 'global' before them, as in 'around 3.5 global protein', or "
            "apply the selection to all atoms (on the command line, without --select)"
        )
        warnings.warn(message, MdreelWarning, stacklevel=caller_level())
