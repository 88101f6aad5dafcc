"""Plausibility of the sizes of arrays that arguments imply."""

from mdreel.errors import MismatchError
from mdreel.foundation.formatting import BYTES, amount
from mdreel.foundation.usable_memory import usable_memory


def check_size(what: str, n_bytes: float, remedy: str) -> None:
    """Refuse an array that is larger than the memory that this process can use.

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
    memory = usable_memory()
    if not n_bytes <= memory:
        needed, available = amount(n_bytes, BYTES), amount(memory, BYTES)
        raise MismatchError(f"{what} need {needed}, but this machine has {available} of memory left: {remedy}")
