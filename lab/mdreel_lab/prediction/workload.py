"""Workloads: what is done with each frame of a trajectory, and how long that takes on one core."""

from dataclasses import dataclass, replace

from mdreel.errors import MismatchError


@dataclass(frozen=True)
class Workload:
    """What a run does, as it was measured on one core without anybody else.

    Attributes
    ----------
    title : str
        What it is, in words.
    n_frames : int
        Frames of the trajectory.
    frame_bytes : float
        Bytes that are read of each, bytes.
    read_s, decompress_s, compute_s, other_s : float
        What each takes: to bring it into memory, to turn it into coordinates, in the kernel, and besides, s. Where
        decompression was not recorded on its own, it is in `read_s`.
    opening_s : float
        How long it takes until the first frame can be read, topology included, s.
    result_bytes : float
        Results of each, bytes.
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
            raise MismatchError(f"{self.title}: a frame must take some time, and no part of it less than none")

    @property
    def frame_s(self) -> float:
        """What a frame takes on one core, s."""
        return self.read_s + self.decompress_s + self.compute_s + self.other_s

    @property
    def ratio_comp_io(self) -> float:
        """R_comp/io, as one core has it; infinite where nothing is read."""
        io = self.read_s + self.decompress_s
        return self.compute_s / io if io else float("inf")

    def repeated(self, times: float) -> "Workload":
        """Return the workload whose computation is done so many times over."""
        return replace(self, title=f"{times:g} x {self.title}", compute_s=times * self.compute_s)

    def of_length(self, n_frames: int) -> "Workload":
        """Return the workload for a trajectory of another length."""
        return replace(self, title=f"{self.title}, {n_frames:,} frames", n_frames=n_frames)
