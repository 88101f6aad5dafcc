"""Properties of a trajectory that an encoder needs before the first frame."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Outline:
    """Properties that file formats store before the first frame, with the same names as in the core.

    Attributes
    ----------
    n_atoms : int
        Number of atoms.
    quantities : list of str
        Quantities that frames can contain.
    has_unit_cell : bool
        Whether frames contain a unit cell.
    first_step, steps_per_frame : int
        Step of the first frame, and number of steps between two frames.
    first_time, interval : float
        Time of the first frame, and time between two frames, in ps.
    """

    n_atoms: int
    quantities: list[str]
    has_unit_cell: bool
    first_step: int
    steps_per_frame: int
    first_time: float
    interval: float

    def is_due(self, n_frames: int, time: float) -> bool:
        """Return whether the frame after `n_frames` frames has the time (in ps) that the file implies."""
        expected = self.first_time + n_frames * self.interval
        # Times may have been rounded to float32; 0.1 % of an interval is negligible.
        return abs(time - expected) <= 1e-6 * abs(expected) + 1e-3 * abs(self.interval)
