"""Union of the atoms of several groups."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def union_of(groups: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    """Return the indices of all atoms of some groups, in ascending order and without repetitions.

    A single group that is in this order already is returned without a copy.
    """
    if len(groups) == 1 and (groups[0][1:] > groups[0][:-1]).all():
        return groups[0]
    return np.unique(np.concatenate(groups))
