"""Definitions of interactions: the sites of both groups, and the distances and angles that they must have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mdreel.errors import MismatchError
from mdreel.foundation.unit_check import check_length

RADII = "VdWContact"
"""The interaction whose distances depend on van der Waals radii."""

BRIDGE = "WaterBridge"
"""The interaction that consists of several hydrogen bonds."""

Number = float | tuple[float, float]


@dataclass(frozen=True)
class Definition:
    """How two residues interact.

    Attributes
    ----------
    rules : tuple of str
        Rules of the core. One of them must hold.
    parts : tuple of str and str
        Sites of the first part and the second part of a rule; see `sites.FINDERS`.
    is_swapped : bool
        Whether the first part belongs to the second group.
    defaults : tuple of mapping of str to float or tuple of float and float
        For each rule, its parameters in the order of the core: distances in Å, and limits of angles in degrees.
    """

    rules: tuple[str, ...]
    parts: tuple[str, str]
    defaults: tuple[Mapping[str, Number], ...]
    is_swapped: bool = False

    @property
    def sites(self) -> tuple[str, str]:
        """Sites in the first group and the second group."""
        return self.parts[::-1] if self.is_swapped else self.parts


_BOND: Mapping[str, Number] = {"distance": 3.5, "DHA_angle": (130.0, 180.0)}
_HALOGEN: Mapping[str, Number] = {"distance": 3.5, "AXD_angle": (130.0, 180.0), "XAR_angle": (80.0, 140.0)}
_ABOVE: Mapping[str, Number] = {"distance": 4.5, "angle": (0.0, 30.0)}
_FACE: Mapping[str, Number] = {"distance": 5.5, "plane_angle": (0.0, 35.0), "normal_to_centroid_angle": (0.0, 33.0)}
_EDGE: Mapping[str, Number] = {
    "distance": 6.5,
    "plane_angle": (50.0, 90.0),
    "normal_to_centroid_angle": (0.0, 30.0),
    "intersect_radius": 1.5,
}
_RINGS = ("rings", "rings")

DEFINITIONS: Mapping[str, Definition] = {
    "Hydrophobic": Definition(("distance",), ("hydrophobic", "hydrophobic"), ({"distance": 4.5},)),
    "HBAcceptor": Definition(("angle",), ("acceptors", "donors"), (_BOND,)),
    "HBDonor": Definition(("angle",), ("acceptors", "donors"), (_BOND,), is_swapped=True),
    "XBAcceptor": Definition(("two-angles",), ("halogen acceptors", "halogen donors"), (_HALOGEN,)),
    "XBDonor": Definition(("two-angles",), ("halogen acceptors", "halogen donors"), (_HALOGEN,), is_swapped=True),
    "Cationic": Definition(("distance",), ("cations", "anions"), ({"distance": 4.5},)),
    "Anionic": Definition(("distance",), ("cations", "anions"), ({"distance": 4.5},), is_swapped=True),
    "CationPi": Definition(("above-ring",), ("cations", "rings"), (_ABOVE,)),
    "PiCation": Definition(("above-ring",), ("cations", "rings"), (_ABOVE,), is_swapped=True),
    "FaceToFace": Definition(("rings",), _RINGS, (_FACE,)),
    "EdgeToFace": Definition(("meeting-rings",), _RINGS, (_EDGE,)),
    "PiStacking": Definition(("rings", "meeting-rings"), _RINGS, (_FACE, _EDGE)),
    "MetalDonor": Definition(("distance",), ("metals", "ligands of metals"), ({"distance": 2.8},)),
    "MetalAcceptor": Definition(("distance",), ("metals", "ligands of metals"), ({"distance": 2.8},), is_swapped=True),
    RADII: Definition(("radii",), ("atoms", "atoms"), ({"tolerance": 0.0},)),
}
"""Definitions and default parameters of ProLIF 2, in its order."""

DEFAULT = (
    "Hydrophobic",
    "HBDonor",
    "HBAcceptor",
    "PiStacking",
    "Anionic",
    "Cationic",
    "CationPi",
    "PiCation",
    "VdWContact",
)
"""Interactions that a fingerprint has by default, as in ProLIF."""

_OF_RULES = {"PiStacking": ("ftf_kwargs", "etf_kwargs")}


def chosen_interactions(interactions: Sequence[str] | str | None) -> list[str]:
    """Return the names of the wanted interactions in the order of `DEFINITIONS`, followed by water bridges.

    Raises
    ------
    MismatchError
        If a name is unknown, or if there are none.
    """
    if interactions is None:
        wanted: Sequence[str] = DEFAULT
    elif isinstance(interactions, str):
        wanted = tuple(DEFINITIONS) if interactions == "all" else (interactions,)
    else:
        wanted = tuple(interactions)
    known = (*DEFINITIONS, BRIDGE)
    unknown = [name for name in wanted if name not in known]
    if unknown or not wanted:
        found = repr(unknown[0]) if unknown else "an empty list"
        raise MismatchError(f"interactions must be 'all' or names of {', '.join(known)}, not {found}")
    return [name for name in known if name in wanted]


def numbers_of(name: str, parameters: Mapping[str, Any]) -> list[list[float]]:
    """Return the numbers of each rule of an interaction, with the given parameters instead of its defaults.

    Parameters
    ----------
    name : str
        The interaction.
    parameters : mapping of str
        Its parameters, with the names that ProLIF gives them.

    Raises
    ------
    MismatchError
        If a parameter is unknown, or is not a valid distance or range of angles.

    Warns
    -----
    UnitWarning
        If a distance was probably given in nm.
    """
    definition = DEFINITIONS[name]
    groups = [parameters]
    known: Sequence[str] = tuple(definition.defaults[0])
    if name in _OF_RULES:
        known = _OF_RULES[name]
        groups = [parameters.get(one) or {} for one in known]
    _check_known(name, parameters, (*known, "vdwradii") if name == RADII else known)
    found = []
    for given, defaults in zip(groups, definition.defaults, strict=True):
        if name in _OF_RULES:
            if not isinstance(given, Mapping):
                raise MismatchError(f"{', '.join(known)} of {name} must map parameters to values, not {given!r}")
            _check_known(name, given, tuple(defaults))
        values = [_checked(name, one, given.get(one, default), default) for one, default in defaults.items()]
        found.append([number for value in values for number in value])
    return found


def _check_known(name: str, parameters: Mapping[str, Any], known: Sequence[str]) -> None:
    unknown = [one for one in parameters if one not in known]
    if unknown:
        raise MismatchError(f"{name} has no parameter {unknown[0]!r}: known are {', '.join(known)}")


def _checked(name: str, parameter: str, value: Any, default: Number) -> list[float]:
    """Return a parameter as a list of numbers after checking it."""
    called = f"{parameter} of {name}"
    if isinstance(default, tuple):
        try:
            low, high = (float(each) for each in value)
        except (TypeError, ValueError) as error:
            raise MismatchError(f"{called} must be two angles in degrees, such as {default}, not {value!r}") from error
        if not 0 <= low < high <= 180:
            raise MismatchError(
                f"{called} must be two ascending angles from 0 to 180 degrees, not {low:g} and {high:g}"
            )
        return [low, high]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise MismatchError(f"{called} must be a length in Å, not {value!r}")
    if parameter in ("tolerance", "intersect_radius"):
        if not 0 <= value <= 100:
            raise MismatchError(f"{called} must be a length from 0 to 100 Å, not {value:g}")
        if value == 0 and parameter == "intersect_radius":
            raise MismatchError(f"{called} must be more than 0 Å: no line meets a point exactly")
        return [float(value)]
    length = check_length(called, value, empty=0.0, doubtful=1.0)
    if not length <= 100:
        raise MismatchError(f"{called} must be at most 100 Å, not {length:g}")
    return [length]
