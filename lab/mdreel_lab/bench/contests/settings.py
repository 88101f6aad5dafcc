"""Settings of a run of benchmarks."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mdreel_lab.bench.data import System, make

LONG_FRAMES = 500_000


@dataclass(frozen=True)
class Settings:
    """Settings of a run: folders, frames of each system, and rounds; if quick, everything is small."""

    data: Path
    results: Path
    lengths: dict[str, int]
    rounds: int
    is_long: bool
    is_quick: bool
    log: Callable[[str], object]

    @property
    def cache(self) -> Path:
        """The folder of mdreel's index of frames."""
        return self.data / "cache"

    def long_frames(self, system: str) -> int:
        """Return the frames of a long trajectory."""
        return self.lengths[system] if self.is_quick else LONG_FRAMES

    def make(self, system: str, form: str, n_frames: int = 0) -> System:
        """Return a system with a trajectory of so many frames, or of those of its length."""
        return make(system, n_frames or self.lengths[system], self.data, (form,))
