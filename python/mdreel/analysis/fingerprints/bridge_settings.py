"""Parameters of water bridges in interaction fingerprints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any

from mdreel.analysis.fingerprints.interactions import BRIDGE, numbers_of
from mdreel.errors import MismatchError
from mdreel.trajectory.selection import Selection, atoms_of

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe

MOST_WATERS = 10
"""Largest number of waters in a bridge, as in the core. The number of chains grows exponentially with it."""

_KNOWN = ("water", "order", "min_order", "hbdonor", "hbacceptor")


@dataclass(frozen=True)
class BridgeSettings:
    """Water bridges to find.

    Attributes
    ----------
    water : MDAnalysis.AtomGroup
        The waters.
    waters : tuple of int and int
        Fewest and most waters in a bridge.
    accepting, donating : sequence of float
        Longest distance (Å) and limits of the angle (degrees) of hydrogen bonds in which the residue that is nearer to
        the first group accepts, or donates.
    """

    water: AtomGroup
    waters: tuple[int, int]
    accepting: Sequence[float]
    donating: Sequence[float]

    @classmethod
    def of(cls, parameters: Mapping[str, Any], universe: Universe) -> BridgeSettings:
        """Return the water bridges that these parameters, named as in ProLIF, describe.

        Raises
        ------
        MismatchError
            If there is no group of waters, if a parameter is unknown or not valid, or if the waters are in another
            Universe.
        SelectionError, UnsupportedError
            If the waters are no group of atoms, or an UpdatingAtomGroup.
        """
        unknown = [one for one in parameters if one not in _KNOWN]
        if unknown:
            raise MismatchError(f"{BRIDGE} has no parameter {unknown[0]!r}: known are {', '.join(_KNOWN)}")
        if "water" not in parameters:
            remedy = f"parameters={{'{BRIDGE}': {{'water': universe.select_atoms('resname SOL')}}}}"
            raise MismatchError(f"{BRIDGE} needs the waters: give them with {remedy}")
        water = atoms_of(parameters["water"], name=f"water of {BRIDGE}")
        Selection.of(water, f"water of {BRIDGE}")
        if water.universe is not universe:
            raise MismatchError(f"water of {BRIDGE} is in another Universe than the groups")
        fewest, most = (_whole_number(name, parameters.get(name, 1)) for name in ("min_order", "order"))
        if not 1 <= fewest <= most <= MOST_WATERS:
            expected = f"must be ascending numbers from 1 to {MOST_WATERS}"
            raise MismatchError(f"min_order and order of {BRIDGE} {expected}, not {fewest} and {most}")
        bonds = []
        for name, interaction in (("hbacceptor", "HBAcceptor"), ("hbdonor", "HBDonor")):
            given = {} if parameters.get(name) is None else parameters[name]
            if not isinstance(given, Mapping):
                raise MismatchError(f"{name} of {BRIDGE} must map parameters to values, not {given!r}")
            bonds.append(numbers_of(interaction, given)[0])
        return cls(water.unique, (fewest, most), *bonds)


def _whole_number(name: str, value: Any) -> int:
    """Return a number of waters after checking that it is a whole number."""
    try:
        if not isinstance(value, bool):
            return index(value)
    except TypeError:
        pass
    raise MismatchError(f"{name} of {BRIDGE} must be a whole number, not {value!r}")
