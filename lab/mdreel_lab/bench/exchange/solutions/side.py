"""The two sides of a solution."""

from collections.abc import Callable
from contextlib import ExitStack
from importlib.util import find_spec
from typing import Self

from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.regions import Regions
from mdreel_lab.bench.exchange.work import Work


class Side:
    """One side of a solution, which is open within ``with``: a sender puts frames, and a receiver gets them."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.stack = ExitStack()
        """What is ended at the end."""

    def open(self) -> None:
        """Meet the other side."""

    def put(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Send a frame."""
        # Not abstract: a receiver does not define it, and calling it on a receiver is an error.
        raise NotImplementedError

    def get(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Wait for a frame and take it."""
        # Not abstract: a sender does not define it, and calling it on a sender is an error.
        raise NotImplementedError

    def done(self, regions: Regions) -> None:
        """Be told that the frame was analysed."""

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()


def needs(*packages: str) -> Callable[[Work], str]:
    """Return a function that says which of some packages is not installed."""

    def missing(work: Work) -> str:
        del work
        absent = [name for name in packages if find_spec(name) is None]
        return f"the Python package {absent[0]} is not installed" if absent else ""

    return missing
