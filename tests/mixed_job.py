"""A job with results of every kind, and its bits."""

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSet, Pass, Source, fluctuation, hydrogen_bonds, rmsd
from mdreel.execution.job import Job, Outcome
from mdreel.trajectory.parallel_hdf5 import SharedPositions


def mixed_job(source: Source, atoms: NDArray[np.uint32]) -> Job:
    """Values of each frame, of all atoms and of every third, sums over frames, and records of near atoms."""
    reference = source.read(FrameSet.range(0, 1, 1), atoms).positions[0].astype(np.float64)
    third = np.arange(0, len(atoms), 3, dtype=np.uint32)
    members = [(rmsd(reference, None, True), None), (rmsd(reference[third], None, False), third)]
    # Few donors: some tests run this over a hundred thousand frames.
    donors, hydrogens = third[:2], np.roll(third, 1)[:2]
    near = hydrogen_bonds(len(atoms), donors, hydrogens, third, None, 9.0, 40.0)
    kernel = Pass(len(atoms), [*members, (fluctuation(reference), None), (near, None)])
    return Job(source, atoms, kernel, SharedPositions.of)


def bits_of(outcome: Outcome) -> NDArray[np.uint64]:
    """All that was found, rows, sums, counts and records, shape (n_numbers,)."""
    (records,) = outcome.records
    assert len(records), "some atoms are near one another"
    numbers = [outcome.rows, outcome.sums, outcome.counts, records]
    return np.concatenate([array.view(np.uint64).ravel() for array in numbers])
