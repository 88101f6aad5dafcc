"""Stragglers and their causes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdreel.timing.observables import Observables, Times

STRAGGLER = 1.5
"""Ratio to the median time above which a rank is a straggler."""

CAUSES = {
    "open": "slow open",
    "read": "slow read",
    "decompress": "slow decompression",
    "compute": "slow compute",
    "wait": "waited for the scheduler",
    "communicate": "slow communication",
}
"""Names of the causes of stragglers, by the kind of span in which they appear."""


@dataclass(frozen=True)
class Straggler:
    """A rank that takes more than 1.5 times the median time.

    Attributes
    ----------
    rank : int
        Number of the rank.
    seconds : float
        ``t_own`` of the rank, in s, which is its time without waiting for other ranks.
    times_median, times_fastest : float
        Its time divided by that of the median rank, and by that of the fastest rank.
    cause : {"open", "read", "decompress", "compute", "wait", "communicate"}
        Activity whose time exceeds that of the median rank by the largest amount.
    excess_seconds : float
        Amount by which the time of this activity exceeds that of the median rank, in s.
    """

    rank: int
    seconds: float
    times_median: float
    times_fastest: float
    cause: str
    excess_seconds: float

    @property
    def reason(self) -> str:
        """Name of the cause, such as "slow read"."""
        return CAUSES[self.cause]


def typical_seconds(observables: Observables) -> float:
    """Return the median ``t_own`` of all ranks that had a block, in s, or 0 if there was no such rank."""
    worked = observables.t_own[observables.n_blocks > 0]
    return float(np.median(worked)) if len(worked) else 0.0


def stragglers_of(observables: Observables) -> tuple[Straggler, ...]:
    """Find the stragglers of a run.

    Parameters
    ----------
    observables : Observables
        Observables of the run.

    Returns
    -------
    tuple of Straggler
        The stragglers, starting with the slowest rank.

    Notes
    -----
    The threshold is taken from Khoshlessan et al. (2017). Their publication from 2020 also compares with the fastest
    rank. Ranks without blocks are not included in the median.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from mdreel.timing.stragglers import stragglers_of
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> timing = mdreel.RMSD(mda.Universe(PSF, DCD), select="name CA").run(backend="serial").timing
    >>> stragglers_of(timing.observables)
    ()
    """
    has_worked = observables.n_blocks > 0
    if not has_worked.any():
        return ()
    median, fastest = typical_seconds(observables), float(observables.t_own[has_worked].min())
    spent = _spent(observables)
    excess = spent - np.median(spent[:, has_worked], axis=1, keepdims=True)
    found = []
    for place in np.argsort(-observables.t_own, kind="stable").tolist():
        seconds = float(observables.t_own[place])
        if seconds <= STRAGGLER * median:
            break
        most = int(excess[:, place].argmax())
        found.append(
            Straggler(
                rank=int(observables.ranks[place]),
                seconds=seconds,
                times_median=seconds / max(median, 1e-9),
                times_fastest=seconds / max(fastest, 1e-9),
                cause=list(CAUSES)[most],
                excess_seconds=float(excess[most, place]),
            )
        )
    return tuple(found)


def _spent(observables: Observables) -> Times:
    """Return the time that each rank spent on each cause, shape (n_causes, n_ranks), in s."""
    # The end of the loop counts as reading: the reader finds the end of the file and closes it.
    reading = observables.t_io - observables.t_decompress + observables.t_end_loop
    spent = {
        "open": observables.t_open,
        "read": reading,
        "decompress": observables.t_decompress,
        "compute": observables.t_comp,
        "wait": observables.t_wait,
        "communicate": observables.t_transfer,
    }
    return np.stack([spent[cause] for cause in CAUSES])
