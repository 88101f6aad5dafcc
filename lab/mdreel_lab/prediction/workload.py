"""Workloads: the cost of each frame of an analysis on one core."""

import math
from dataclasses import dataclass, replace

from mdreel.errors import MismatchError


@dataclass(frozen=True)
class Workload:
    """The cost of a run, measured on one core of an otherwise idle machine.

    Attributes
    ----------
    title : str
        Description.
    n_frames : int
        Number of frames of the trajectory.
    frame_bytes : float
        Bytes to read for each frame.
    read_s, decompress_s, compute_s, other_s : float
        Times of each frame: reading into memory, decoding to coordinates, the kernel, and other work, s. `read_s`
        includes decompression if it was not recorded separately.
    opening_s : float
        Time before the first frame can be read, including the topology, s.
    result_bytes : float
        Size of the results of each frame, bytes.
    """

    title: str
    n_frames: int
    frame_bytes: float
    read_s: float
    decompress_s: float
    compute_s: float
    other_s: float
    opening_s: float
    result_bytes: float

    def __post_init__(self) -> None:
        if self.n_frames < 1:
            raise MismatchError(f"a workload needs at least one frame, not {self.n_frames}")
        if self.frame_s <= 0 or min(self.read_s, self.decompress_s, self.compute_s, self.other_s, self.opening_s) < 0:
            raise MismatchError(f"{self.title}: the time of a frame must be positive, and none of its parts negative")

    @property
    def frame_s(self) -> float:
        """Time of a frame on one core, s."""
        return self.read_s + self.decompress_s + self.compute_s + self.other_s

    @property
    def ratio_comp_io(self) -> float:
        """R_comp/io on one core; infinite if nothing is read."""
        io = self.read_s + self.decompress_s
        return self.compute_s / io if io else float("inf")

    def repeated(self, times: float) -> "Workload":
        """Return the workload with the computation repeated `times` times."""
        return replace(self, title=f"{times:g} x {self.title}", compute_s=times * self.compute_s)

    def with_ratio(self, ratio: float) -> "Workload":
        """Return the workload with the computation repeated until R_comp/io is `ratio`.

        Raises
        ------
        MismatchError
            If nothing is read or computed, or if the ratio is not positive.
        """
        own = self.ratio_comp_io
        if not 0 < own < math.inf or not 0 < ratio < math.inf:
            raise MismatchError(f"{self.title}: its R_comp/io is {own:g} and cannot be changed to {ratio:g}")
        return self.repeated(ratio / own)

    def of_length(self, n_frames: int) -> "Workload":
        """Return the workload for a trajectory of another length."""
        return replace(self, title=f"{self.title}, {n_frames:,} frames", n_frames=n_frames)
