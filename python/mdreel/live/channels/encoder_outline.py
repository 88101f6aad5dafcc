"""Description of frames that an encoder needs before the first one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Outline:
    """What formats say before the first frame; the names are the core's.

    Attributes
    ----------
    n_atoms : int
        Number of atoms.
    quantities : list of str
        What frames may have.
    has_unit_cell : bool
        Whether frames have a cell.
    first_step, steps_per_frame : int
        The first step, and how many there are between two frames.
    first_time, interval : float
        The time of the first frame, and between two, ps.
    """

    n_atoms: int
    quantities: list[str]
    has_unit_cell: bool
    first_step: int
    steps_per_frame: int
    first_time: float
    interval: float

    def is_due(self, n_frames: int, time: float) -> bool:
        """Return whether a frame behind `n_frames` others has the time (ps) that the file says."""
        expected = self.first_time + n_frames * self.interval
        # Times may come from float32, and 0.1 % of an interval is nothing to anybody.
        return abs(time - expected) <= 1e-6 * abs(expected) + 1e-3 * abs(self.interval)
