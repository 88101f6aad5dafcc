"""Deviations of individual engines from the specification of IMD version 3."""

from dataclasses import dataclass

from mdreel.live.engines.imd.engine import EngineFrame
from mdreel.live.engines.imd.messages import KILOJOULES_PER_KILOCALORIE

_KILOJOULES_PER_ELECTRONVOLT = 96.48533212331002
"""kJ/mol per eV (CODATA 2018)."""


@dataclass(frozen=True)
class Dialect:
    """Units and step offset that an engine uses. Lengths are always in Å.

    Attributes
    ----------
    time : float
        Unit of time, in ps.
    energy : float
        Unit of energy, in kJ/mol.
    steps_ahead : int
        Difference between the step that the engine sends and the step of the positions.
    """

    time: float = 1.0
    energy: float = 1.0
    steps_ahead: int = 0

    def convert(self, frame: EngineFrame) -> None:
        """Convert a frame to ps and kJ/mol in place."""
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
                frame.energies[1:] *= self.energy  # the first element is the temperature


DIALECTS = {
    "imd": Dialect(),
    "gromacs": Dialect(steps_ahead=1),
    "kcal": Dialect(energy=KILOJOULES_PER_KILOCALORIE),
    "metal": Dialect(energy=_KILOJOULES_PER_ELECTRONVOLT),
    "real": Dialect(time=0.001, energy=KILOJOULES_PER_KILOCALORIE),
}
"""Dialects by name.

``gromacs`` is IMD version 2 as implemented in GROMACS (at least up to 2022). ``kcal`` is version 2 as defined by VMD's
header. ``metal`` and ``real`` are the dialects of LAMMPS, which sends its own units
(https://docs.lammps.org/units.html) in both versions.
"""
