"""Base class of executors that one process calls."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Alone:
    """What executors have in common whose caller is one process."""

    def share(self, compute: Callable[[], T]) -> T:
        """Compute, here; see `Executor.share`."""
        return compute()
