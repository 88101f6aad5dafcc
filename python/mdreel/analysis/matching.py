"""Matching: whether atoms that are compared with one another are of the same kind."""

import warnings
from typing import TYPE_CHECKING

import numpy as np

from mdreel.errors import MismatchError

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup


def check_masses(mobile: "AtomGroup", reference: "AtomGroup", tolerance: float) -> None:
    """Check that atoms have the masses of those that they are compared with.

    Parameters
    ----------
    mobile, reference : MDAnalysis.AtomGroup
        As many atoms, in the same order.
    tolerance : float
        By how much the masses of two atoms may differ, amu.

    Raises
    ------
    MismatchError
        If two atoms have different masses; the first are named.

    Warns
    -----
    UserWarning
        If there are no masses in one of the groups.
    """
    try:
        pairs = np.stack([mobile.masses, reference.masses], axis=1)
    except AttributeError:
        warnings.warn("atoms are compared in their order: they have no masses by which to match them", stacklevel=3)
        return
    wrong = np.flatnonzero(~(np.abs(pairs[:, 0] - pairs[:, 1]) <= tolerance))
    if len(wrong):
        first = wrong[0]
        mass, expected = pairs[first]
        raise MismatchError(
            f"{len(wrong):,} of {len(pairs):,} atoms do not match those of the reference: the first, "
            f"{_named(mobile, first)}, has a mass of {mass:g}, and {_named(reference, first)} there {expected:g}; "
            "match_atoms=False takes them as they are"
        )


def _named(group: "AtomGroup", place: int) -> str:
    atom = group[place]
    return f"atom {atom.ix} ({atom.name})" if hasattr(atom, "name") else f"atom {atom.ix}"
