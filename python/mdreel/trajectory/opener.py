"""Objects that open a trajectory, such as channels."""

from typing import Protocol, TypeAlias, runtime_checkable

from mdreel._core import Source
from mdreel.trajectory.open import Stored


@runtime_checkable
class Opener(Protocol):
    """Object that opens a trajectory, such as a channel."""

    def source(self) -> Source:
        """Open the trajectory."""


Trajectory: TypeAlias = Stored | Opener
"""One file, several files, a source, or an object that opens one, such as a channel."""
