"""Van der Waals radii of elements and atoms."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel.errors import MismatchError, SelectionError
from mdreel.foundation.unit_check import check_radius

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

# fmt: off
RADII: Mapping[str, float] = {
    "H": 1.20, "He": 1.40, "Li": 1.82, "Be": 1.53, "B": 1.92, "C": 1.70, "N": 1.55, "O": 1.52, "F": 1.47, "Ne": 1.54,
    "Na": 2.27, "Mg": 1.73, "Al": 1.84, "Si": 2.10, "P": 1.80, "S": 1.80, "Cl": 1.75, "Ar": 1.88, "K": 2.75, "Ca": 2.31,
    "Ni": 1.63, "Cu": 1.40, "Zn": 1.39, "Ga": 1.87, "Ge": 2.11, "As": 1.85, "Se": 1.90, "Br": 1.85, "Kr": 2.02,
    "Rb": 3.03, "Sr": 2.49, "Pd": 1.63, "Ag": 1.72, "Cd": 1.58, "In": 1.93, "Sn": 2.17, "Sb": 2.06, "Te": 2.06,
    "I": 1.98, "Xe": 2.16, "Cs": 3.43, "Ba": 2.68, "Pt": 1.75, "Au": 1.66, "Hg": 1.55, "Tl": 1.96, "Pb": 2.02,
    "Bi": 2.07, "Po": 1.97, "At": 2.02, "Rn": 2.20, "Fr": 3.48, "Ra": 2.83, "U": 1.86,
}
# fmt: on
"""Radii in Å by element, from A. Bondi, J. Phys. Chem. 68 (1964) 441. Other main-group elements are from
M. Mantina, A. C. Chamberlin, R. Valero, C. J. Cramer, D. G. Truhlar, J. Phys. Chem. A 113 (2009) 5806."""


def radii_of(atomgroup: "AtomGroup", radii: Mapping[str, float] | ArrayLike | None) -> NDArray[np.float64]:
    """Return the van der Waals radii of atoms.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms.
    radii : mapping of str to float, or array_like, shape (n_atoms,), float64, optional
        Radii in Å, either by element to replace entries of `RADII`, or one radius per atom.

    Returns
    -------
    ndarray, shape (n_atoms,), float64
        Radii in Å, in the order of the group.

    Raises
    ------
    MismatchError
        If the number of radii is wrong, if a radius is not a valid length, or if an element has no radius.
    SelectionError
        If the topology has neither elements nor atom names.
    """
    if radii is None or isinstance(radii, Mapping):
        found = _by_element(atomgroup, radii or {})
    else:
        found = np.array(radii, np.float64)
        if found.shape != (len(atomgroup),):
            raise MismatchError(f"radii must have the shape ({len(atomgroup)},), got {found.shape}")
    given = np.array([*radii.values()] if isinstance(radii, Mapping) else [] if radii is None else radii, np.float64)
    if given.size and np.isfinite(given).all() and given.min() >= 0:
        check_radius("the largest of the radii", float(given.max()), doubtful=0.5)
    is_length = np.isfinite(found) & (found >= 0)
    if not is_length.all():
        raise MismatchError(f"a radius is {found[~is_length][0]} Å: expected 0 or more")
    return found


def elements_of(atomgroup: "AtomGroup") -> NDArray[Any]:
    """Return the elements of atoms, such as ``"Na"``, from the topology or as guessed from atom names.

    Returns
    -------
    ndarray, shape (n_atoms,), object
        Element symbols as str.

    Raises
    ------
    SelectionError
        If the topology has neither elements nor atom names.
    """
    from MDAnalysis.guesser.default_guesser import DefaultGuesser

    elements = np.array(getattr(atomgroup, "elements", [""] * len(atomgroup)), dtype=object)
    is_unknown = elements == ""
    if is_unknown.any():
        try:
            names = atomgroup.names[is_unknown]
        except AttributeError as error:
            raise SelectionError("the topology has neither elements nor atom names: give radii of all atoms") from error
        guesser = DefaultGuesser(None)
        guessed = {name: guesser.guess_atom_element(name) for name in set(names)}
        elements[is_unknown] = [guessed[name] for name in names]
    return np.array([element.capitalize() for element in elements], dtype=object)


def _by_element(atomgroup: "AtomGroup", changed: Mapping[str, float]) -> NDArray[np.float64]:
    known = {**RADII, **{element.capitalize(): float(radius) for element, radius in changed.items()}}
    elements = elements_of(atomgroup)
    unknown = [element for element in changed if element.capitalize() not in {*RADII, *elements}]
    if unknown:
        raise MismatchError(f"radii has {unknown[0]!r}, which is no element of an atom: give symbols such as 'C'")
    for element in dict.fromkeys(elements):
        if element not in known:
            first = atomgroup[np.flatnonzero(elements == element)[0]]
            message = f"the element {element!r} of atom {first.index} ({first.name}) has no known radius"
            raise MismatchError(f"{message}: give one with radii={{{element!r}: ...}}")
    return np.array([known[element] for element in elements])
