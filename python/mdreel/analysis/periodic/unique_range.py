"""Warnings about distances beyond the range in which each pair of atoms has a single image."""

import math
import warnings

from mdreel.errors import RangeWarning
from mdreel.execution.tally import Tally
from mdreel.foundation.stack_level import caller_level


def warn_of_range(tally: Tally, distance: float, what: str, remedy: str) -> None:
    """Warn if distances were counted beyond the range in which images are unique.

    Parameters
    ----------
    tally : Tally
        Output of the computation, with a record for each frame in which `distance` exceeds half of the shortest lattice
        vector of the cell. The record contains this half length in Å.
    distance : float
        The longest counted distance in Å.
    what : str
        Description of the problem, with ``{}`` for `distance`.
    remedy : str
        Instructions for the user, with ``{}`` for the longest distance in Å at which counts are complete in all frames.
    """
    if not len(tally.records):
        return
    frame, radius = tally.records[tally.records[:, 1].argmin()]
    complete = math.floor(radius * 1000) / 1000
    text = (
        f"{what.format(f'{distance:g} Å')}. In {len(tally.records):,} of {tally.n_frames:,} frames that is more than "
        f"half the shortest lattice vector of the cell (least in frame {int(frame)}: {complete:g} Å), where a pair of "
        f"atoms has several images, of which only the shortest counts. {remedy.format(f'{complete:g}')}"
    )
    warnings.warn(text, RangeWarning, stacklevel=caller_level())
