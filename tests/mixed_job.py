"""A job with results of every kind, and its bits."""

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSet, Pass, Source, fluctuation, rmsd
from mdreel.executors.job import Job, Outcome


def mixed_job(source: Source, atoms: NDArray[np.uint32]) -> Job:
    """Values of each frame, of all atoms and of every third, and sums over frames."""
    reference = source.read(FrameSet.range(0, 1, 1), atoms).positions[0].astype(np.float64)
    third = np.arange(0, len(atoms), 3, dtype=np.uint32)
    members = [(rmsd(reference, None, True), None), (rmsd(reference[third], None, False), third)]
    return Job(source, atoms, Pass(len(atoms), [*members, (fluctuation(reference), None)]))


def bits_of(outcome: Outcome) -> NDArray[np.uint64]:
    """All that was found, rows, sums and counts, shape (n_numbers,)."""
    return np.concatenate([outcome.rows.view(np.uint64).ravel(), outcome.sums.view(np.uint64), outcome.counts])
