"""Base class of executors that one process calls."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class SingleProcess:
    """Base class of executors that a single process calls."""

    def share(self, compute: Callable[[], T]) -> T:
        """Call `compute`; see `Executor.share`."""
        return compute()
