"""Conversion of simulation steps that are passed to a producer."""

from operator import index
from pathlib import Path
from typing import SupportsIndex

import numpy as np

from mdreel.errors import MismatchError


def parse_step(path: Path, step: SupportsIndex) -> int:
    """Convert a step to an int.

    Parameters
    ----------
    path : Path
        Directory of the channel, for the error message.
    step : int
        The step. NumPy integers are also accepted.

    Returns
    -------
    int
        The step.

    Raises
    ------
    MismatchError
        If the step is not an integer. Floating-point numbers and booleans are not accepted.
    """
    try:
        if isinstance(step, bool | np.bool_):
            raise TypeError
        return index(step)
    except TypeError:
        raise MismatchError(f"the step must be an integer, not {step!r}", path=path) from None
