"""Differences of engines from IMD version 3."""

from dataclasses import dataclass

from mdreel.live.engines.imd.engine import EngineFrame
from mdreel.live.engines.imd.messages import KILOJOULES_PER_KILOCALORIE

_KILOJOULES_PER_ELECTRONVOLT = 96.48533212331002
"""Of a mole: the product of Faraday's and Avogadro's constants (CODATA 2018)."""


@dataclass(frozen=True)
class Dialect:
    """How the numbers of an engine become steps, ps and kJ/mol. Lengths are in Å in any case.

    Attributes
    ----------
    time : float
        Its unit of time, ps.
    energy : float
        Its unit of energy, kJ/mol.
    steps_ahead : int
        By how much the step beside positions is ahead of the step that they are of.
    """

    time: float = 1.0
    energy: float = 1.0
    steps_ahead: int = 0

    def understand(self, frame: EngineFrame) -> None:
        """Convert a frame in place."""
        if frame.step is not None:
            frame.step -= self.steps_ahead
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


DIALECTS = {
    "imd": Dialect(),
    "gromacs": Dialect(steps_ahead=1),
    "kcal": Dialect(energy=KILOJOULES_PER_KILOCALORIE),
    "metal": Dialect(energy=_KILOJOULES_PER_ELECTRONVOLT),
    "real": Dialect(time=0.001, energy=KILOJOULES_PER_KILOCALORIE),
}
"""By the names that users say.

``gromacs`` is that of GROMACS up to 2022 at least, in version 2; ``kcal`` that of version 2 as VMD's header has it;
``metal`` and ``real`` those of LAMMPS, which sends its own units (https://docs.lammps.org/units.html) in both versions.
"""
