"""Units of engines: version 3 of IMD says which they are, and not all engines keep to it."""

from dataclasses import dataclass

from mdreel.insitu.imd.engine import EngineFrame
from mdreel.insitu.imd.messages import KILOJOULES_PER_KILOCALORIE

_KILOJOULES_PER_ELECTRONVOLT = 96.48533212331002
"""Of a mole: the product of Faraday's and Avogadro's constants (CODATA 2018)."""


@dataclass(frozen=True)
class EngineUnits:
    """What the numbers of an engine are multiplied with to be ps and kJ/mol. Lengths are in Å in any case.

    Attributes
    ----------
    time : float
        ps.
    energy : float
        kJ/mol.
    """

    time: float = 1.0
    energy: float = 1.0

    def convert(self, frame: EngineFrame) -> None:
        """Convert a frame in place."""
        if self.time != 1.0:
            if frame.time is not None:
                frame.time *= self.time
            if frame.time_step is not None:
                frame.time_step *= self.time
            if frame.velocities is not None:
                frame.velocities /= self.time
        if self.energy != 1.0:
            if frame.forces is not None:
                frame.forces *= self.energy
            if frame.energies is not None:
                frame.energies[1:] *= self.energy  # the first is a temperature


UNITS = {
    "imd": EngineUnits(),
    "kcal": EngineUnits(energy=KILOJOULES_PER_KILOCALORIE),
    "metal": EngineUnits(energy=_KILOJOULES_PER_ELECTRONVOLT),
    "real": EngineUnits(time=0.001, energy=KILOJOULES_PER_KILOCALORIE),
}
"""Units by the names that users say: the last two are those of LAMMPS (https://docs.lammps.org/units.html)."""
