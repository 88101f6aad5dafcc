"""Units in H5MD files, such as ``kJ mol-1 nm-1``."""

import re
from collections import Counter
from math import prod

from mdreel.errors import UnsupportedError

AVOGADRO = 6.02214076e23  # 1/mol, exact in the SI of 2019

# Each unit in Å, ps, kJ and mol, and its dimensions.
LENGTHS = {"Angstrom": 1.0, "angstrom": 1.0, "A": 1.0, "nm": 10.0, "pm": 0.01, "fm": 1e-5, "um": 1e4, "m": 1e10}
TIMES = {
    "ps": 1.0,
    "fs": 1e-3,
    "ns": 1e3,
    "us": 1e6,
    "ms": 1e9,
    "s": 1e12,
    "sec": 1e12,
    "second": 1e12,
    "AKMA": 4.888821e-2,
}
ENERGIES = {"kJ": 1.0, "J": 1e-3, "kcal": 4.184, "cal": 4.184e-3, "eV": 1.602176634e-22}
FORCES = {"N": 1e-13, "Newton": 1e-13}  # in kJ/Å
AMOUNTS = {"mol": 1.0}

DIMENSIONS: dict[str, dict[str, int]] = {
    **{name: {"length": 1} for name in LENGTHS},
    **{name: {"time": 1} for name in TIMES},
    **{name: {"energy": 1} for name in ENERGIES},
    **{name: {"energy": 1, "length": -1} for name in FORCES},
    **{name: {"amount": 1} for name in AMOUNTS},
}
FACTORS = LENGTHS | TIMES | ENERGIES | FORCES | AMOUNTS

# Dimensions of each kind of quantity, in Å, ps, Å/ps and kJ/(mol Å).
KINDS = {
    "length": {"length": 1},
    "time": {"time": 1},
    "velocity": {"length": 1, "time": -1},
    "force": {"energy": 1, "length": -1, "amount": -1},
}


def conversion_factor(unit: str, kind: str, where: str) -> float:
    """Return the conversion factor for a unit.

    Parameters
    ----------
    unit : str
        Units separated by spaces. Each unit is followed by its power unless the power is 1.
    kind : {"length", "time", "velocity", "force"}
        Type of quantity.
    where : str
        Name of the dataset, for error messages.

    Returns
    -------
    float
        Factor that converts to Å, ps, Å/ps or kJ/(mol Å).

    Raises
    ------
    UnsupportedError
        If the unit is unknown, or if it is the unit of a different type of quantity.

    Notes
    -----
    The syntax follows the units module of H5MD (https://nongnu.org/h5md/modules/units.html). Forces without ``mol-1``
    are forces per particle, and are converted to forces per mole of particles.
    """
    dimensions: Counter[str] = Counter()
    factors = []
    for word in unit.split():
        parts = re.fullmatch(r"([A-Za-z]+)([+-]?[0-9]+)?", word)
        if parts is None or parts[1] not in FACTORS:
            raise UnsupportedError(
                f"{where}: the unit {unit!r} is unknown; known are {', '.join(FACTORS)} and powers of them"
            )
        power = int(parts[2] or 1)
        factors.append(_power(FACTORS[parts[1]], power))
        for name, own in DIMENSIONS[parts[1]].items():
            dimensions[name] += own * power
    found = {name: power for name, power in dimensions.items() if power}
    wanted = KINDS[kind]
    if kind == "force" and found == {name: power for name, power in wanted.items() if name != "amount"}:
        factors.append(AVOGADRO)
    elif found != wanted:
        raise UnsupportedError(f"{where}: {unit!r} is not a unit of {kind}")
    return prod(factors)


def _power(factor: float, power: int) -> float:
    return factor**power if power > 0 else 1 / factor**-power
