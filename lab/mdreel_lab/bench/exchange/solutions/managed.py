"""A managed directory of mdreel: a file for each frame, seen when it is whole."""

from pathlib import Path
from typing import Self

from mdreel.live.managed.reader import ManagedDirectory
from mdreel.live.managed.writer import Producing
from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.regions import Regions
from mdreel_lab.bench.exchange.work import PATIENCE, Work

_FOLDER = "managed"


def missing(work: Work) -> str:
    """Say what is not there."""
    del work
    return ""


def _name(number: int) -> str:
    return f"{number}.frame"


class Sender:
    """Writes a file for each frame."""

    def __init__(self, work: Work) -> None:
        self._producing = Producing(work.folder / _FOLDER)

    def put(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Write one; it is published when it is closed."""
        with regions("write_single_buf"), self._producing.open(_name(number), "wb", buffering=0) as file:
            frame.write_to(file)

    def __enter__(self) -> Self:
        self._producing.__enter__()
        return self

    def __exit__(self, *how: object) -> None:
        self._producing.end()


class Receiver:
    """Reads the files, and removes them."""

    def __init__(self, work: Work) -> None:
        self._folder = work.folder / _FOLDER
        self._directory: ManagedDirectory | None = None
        self._had: Path | None = None

    def get(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Wait for one, and read it."""
        assert self._directory is not None
        with regions("fetch"):
            file = self._directory.open(_name(number), "rb", PATIENCE, buffering=0)
        with regions("read_single_buf"), file:
            frame.read_from(file)
        self._had = self._folder / _name(number)

    def done(self, regions: Regions) -> None:
        """Remove the file."""
        del regions
        if self._had is not None:
            self._had.unlink()

    def __enter__(self) -> Self:
        self._directory = ManagedDirectory(self._folder, wait=PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""
