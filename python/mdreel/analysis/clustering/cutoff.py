"""Cutoffs of methods that search for the neighbours of frames."""

import math

from mdreel.errors import MismatchError
from mdreel.foundation.unit_check import check_radius

MOST_PAIRS = 1 << 25
"""Pairs of neighbours that are kept in memory, 8 bytes each. Of more, neighbours are searched a second time."""


def checked_cutoff(cutoff: float) -> float:
    """Return a largest RMSD in Å after checking that it is plausible and finite."""
    cutoff = check_radius("cutoff", cutoff, doubtful=0.4)
    if not math.isfinite(cutoff):
        raise MismatchError(f"cutoff must be a finite length in Å, not {cutoff}")
    return cutoff
