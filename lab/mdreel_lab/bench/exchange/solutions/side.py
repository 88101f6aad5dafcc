"""The two sides of a solution."""

from contextlib import ExitStack
from importlib.util import find_spec
from typing import Self

from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.regions import Regions
from mdreel_lab.bench.exchange.work import Work


class Side(ExitStack):
    """One side of a solution, which is open within ``with``: a sender puts frames, and a receiver gets them.

    Each solution imports its library when it is opened.
    """

    packages: tuple[str, ...] = ()
    """Python packages that it needs."""

    def __init__(self, work: Work, regions: Regions) -> None:
        super().__init__()
        self.work = work
        self.regions = regions

    @classmethod
    def missing(cls, work: Work) -> str:
        """Return a message about missing software or settings, or an empty text; the sender answers for both sides."""
        del work
        absent = [name for name in cls.packages if find_spec(name) is None]
        return f"the Python package {absent[0]} is not installed" if absent else ""

    def open(self) -> None:
        """Connect to the other side."""

    def put(self, number: int, frame: SerialisedFrame) -> None:
        """Send a frame."""
        # Not abstract: a receiver does not define it, and calling it on a receiver is an error.
        raise NotImplementedError

    def get(self, number: int, frame: SerialisedFrame) -> None:
        """Wait for a frame and take it."""
        # Not abstract: a sender does not define it, and calling it on a sender is an error.
        raise NotImplementedError

    def done(self) -> None:
        """Release the frame after its analysis."""

    def __enter__(self) -> Self:
        self.open()
        return self
