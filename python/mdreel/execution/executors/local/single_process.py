"""Base class of executors that are called by a single process."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class SingleProcess:
    """Base class of executors that are called by a single process."""

    def share(self, compute: Callable[[], T]) -> T:
        """Call `compute`; see `Executor.share`."""
        return compute()
