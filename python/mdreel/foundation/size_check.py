"""Plausibility of the sizes of arrays that arguments imply."""

import os

from mdreel.errors import MismatchError
from mdreel.foundation.formatting import BYTES, amount


def check_size(what: str, n_bytes: float, remedy: str) -> None:
    """Refuse an array that is larger than the memory of this machine.

    Parameters
    ----------
    what : str
        Name of the array, in the plural, for the message.
    n_bytes : float
        Size of the array, bytes.
    remedy : str
        Advice to the user, for the message.

    Raises
    ------
    MismatchError
        If the array does not fit into the memory.
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if not n_bytes <= memory:
        needed, available = amount(n_bytes, BYTES), amount(memory, BYTES)
        raise MismatchError(f"{what} need {needed}, but this machine has {available} of memory: {remedy}")
