"""Stragglers and their causes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdreel.timing.observables import Observables, Times

STRAGGLER = 1.5
"""A straggler takes more than this many times the median."""

CAUSES = {
    "open": "slow open",
    "read": "slow read",
    "decompress": "slow decompression",
    "compute": "slow compute",
    "wait": "waited for the scheduler",
    "communicate": "slow communication",
}
"""What can make a straggler, by the kinds of spans that show it, and in words."""


@dataclass(frozen=True)
class Straggler:
    """A rank that takes more than 1.5 times the median.

    Attributes
    ----------
    rank : int
        Its number.
    seconds : float
        Its ``t_n``, s.
    times_median, times_fastest : float
        How many times as long as the median rank, and as the fastest.
    cause : {"open", "read", "decompress", "compute", "wait", "communicate"}
        In what it spent most more than the median rank.
    excess_seconds : float
        How much more, s.
    """

    rank: int
    seconds: float
    times_median: float
    times_fastest: float
    cause: str
    excess_seconds: float

    @property
    def reason(self) -> str:
        """The cause in words, as "slow read"."""
        return CAUSES[self.cause]


def typical_seconds(observables: Observables) -> float:
    """Return the median ``t_n`` of the ranks that had a block, s; 0 if none had."""
    worked = observables.t_n[observables.n_blocks > 0]
    return float(np.median(worked)) if len(worked) else 0.0


def stragglers_of(observables: Observables) -> tuple[Straggler, ...]:
    """Find the stragglers of a run.

    Parameters
    ----------
    observables : Observables
        What it took on each rank.

    Returns
    -------
    tuple of Straggler
        The slowest first.

    Notes
    -----
    The threshold is that of Khoshlessan et al. (2017); the publication of 2020 also compares with the fastest. Ranks
    that had no block take no part in the median: they are done before the others begin.
    """
    has_worked = observables.n_blocks > 0
    if not has_worked.any():
        return ()
    median, fastest = typical_seconds(observables), float(observables.t_n[has_worked].min())
    spent = _spent(observables)
    excess = spent - np.median(spent[:, has_worked], axis=1, keepdims=True)
    found = []
    for place in np.argsort(-observables.t_n, kind="stable").tolist():
        seconds = float(observables.t_n[place])
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
    """What each rank spent on each cause, shape (n_causes, n_ranks), s."""
    # What ends a loop is reading, too: that there is nothing more, and the closing of the file.
    reading = observables.t_io - observables.t_decompress + observables.t_end_loop
    spent = {
        "open": observables.t_open,
        "read": reading,
        "decompress": observables.t_decompress,
        "compute": observables.t_comp,
        "wait": observables.t_wait,
        "communicate": observables.t_comm,
    }
    return np.stack([spent[cause] for cause in CAUSES])
