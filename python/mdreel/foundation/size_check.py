"""Plausibility checks for array sizes that result from arguments."""

from mdreel.errors import MismatchError
from mdreel.foundation.formatting import BYTES, amount
from mdreel.foundation.usable_memory import usable_memory


def check_size(what: str, n_bytes: float, remedy: str) -> None:
    """Reject an array that is larger than the memory that is available to this process.

    Parameters
    ----------
    what : str
        Name of the array, in the plural, for the message.
    n_bytes : float
        Size of the array, in bytes.
    remedy : str
        Hint for the message, which tells the user how to fix the problem.

    Raises
    ------
    MismatchError
        If the array does not fit into memory.
    """
    memory = usable_memory()
    if not n_bytes <= memory:
        needed, available = amount(n_bytes, BYTES), amount(memory, BYTES)
        raise MismatchError(f"{what} need {needed}, but this machine has {available} of memory left: {remedy}")
