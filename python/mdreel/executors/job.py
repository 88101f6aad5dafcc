"""Jobs: what an executor runs, and what comes back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Blocks, RmsdKernel, Source
from mdreel._core import run as run_core
from mdreel.damage import DamagedFrame, damaged_frames
from mdreel.spans import spans_from_columns

Monitor: TypeAlias = Callable[[int], object]
"""Called with the number of frames done; what it raises stops the run."""


@dataclass(frozen=True)
class Outcome:
    """What blocks became, merged in their order.

    Attributes
    ----------
    series : ndarray, shape (n_frames, 3), float64
        Frame number, time (ps), and the kernel's value of each frame, in the kernel's unit.
    spans : ndarray, shape (n_spans,), SPAN
        What it cost.
    damage : tuple of DamagedFrame
        What was left out, if the source goes on where a frame is damaged.
    """

    series: NDArray[np.float64]
    spans: NDArray[np.void]
    damage: tuple[DamagedFrame, ...] = ()

    @property
    def frames(self) -> NDArray[np.uint64]:
        """Frame numbers, shape (n_frames,)."""
        return self.series[:, 0].astype(np.uint64)

    @property
    def times(self) -> NDArray[np.float64]:
        """Times, shape (n_frames,), ps."""
        return self.series[:, 1].copy()

    @property
    def values(self) -> NDArray[np.float64]:
        """The kernel's value of each frame, shape (n_frames,), in the kernel's unit."""
        return self.series[:, 2].copy()


@dataclass(frozen=True)
class Job:
    """A kernel over a source; an executor sees no more of it than `run`.

    Attributes
    ----------
    source : Source
        The trajectory.
    atoms : ndarray, shape (n_atoms,), uint32
        The atoms that the kernel is given, ascending.
    kernel : RmsdKernel
        The computation.
    """

    source: Source
    atoms: NDArray[np.uint32]
    kernel: RmsdKernel

    def run(self, blocks: Blocks, n_threads: int, monitor: Monitor | None = None) -> Outcome | None:
        """Run blocks in this process.

        Parameters
        ----------
        blocks : Blocks
            What to run.
        n_threads : int
            How many threads; with 1 the calling thread does everything.
        monitor : callable, optional
            Called with the number of frames done, about every 50 ms, on the calling thread.

        Returns
        -------
        Outcome or None
            None when blocks of bytes did not join, and the frames must be located first.
        """
        outcome = run_core(self.source, self.atoms, self.kernel, blocks, n_threads, monitor)
        if outcome is None:
            return None
        series, columns, damage = outcome
        return Outcome(series, spans_from_columns(columns), damaged_frames(damage))
