"""A managed directory of mdreel: a file for each frame, published when it is whole."""

from mdreel.live.managed.reader import ManagedDirectory
from mdreel.live.managed.writer import ManagedProducer
from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.regions import Regions
from mdreel_lab.bench.exchange.solutions.side import Side
from mdreel_lab.bench.exchange.work import PATIENCE

_FOLDER = "managed"


def _name(number: int) -> str:
    return f"{number}.frame"


class Sender(Side):
    """Writes a file for each frame."""

    def open(self) -> None:
        """Make the directory."""
        self._producing = ManagedProducer(self.work.folder / _FOLDER)
        self._producing.__enter__()
        self.stack.callback(self._producing.end)

    def put(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Write one; it is published when it is closed."""
        with regions("write_single_buf"), self._producing.open(_name(number), "wb", buffering=0) as file:
            frame.write_to(file)


class Receiver(Side):
    """Reads the files, and removes them."""

    def open(self) -> None:
        """Wait for the directory."""
        self._directory = ManagedDirectory(self.work.folder / _FOLDER, wait=PATIENCE)

    def get(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Wait for one, and read it."""
        with regions("fetch"):
            file = self._directory.open(_name(number), "rb", PATIENCE, buffering=0)
        with regions("read_single_buf"), file:
            frame.read_from(file)
        self._had = self.work.folder / _FOLDER / _name(number)

    def done(self, regions: Regions) -> None:
        """Remove the file."""
        self._had.unlink()
