"""Openers: what a trajectory is opened from, and is neither a file nor a source yet."""

from typing import Protocol, runtime_checkable

from mdreel._core import Source


@runtime_checkable
class Opener(Protocol):
    """What says how a trajectory is opened, as a channel does."""

    def source(self) -> Source:
        """Open the trajectory."""
