"""A managed directory of mdreel: a file for each frame, published when it is complete."""

from mdreel.live.managed.reader import ManagedDirectory
from mdreel.live.managed.writer import ManagedProducer
from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.solutions.side import Side
from mdreel_lab.bench.exchange.work import PATIENCE

_FOLDER = "managed"


class Sender(Side):
    """Writes a file for each frame."""

    def open(self) -> None:
        """Make the directory."""
        self._producing = self.enter_context(ManagedProducer(self.work.folder / _FOLDER))

    def put(self, number: int, frame: SerialisedFrame) -> None:
        """Write one; it is published when it is closed."""
        with self.regions("write_single_buf"), self._producing.open(f"{number}.frame", "wb", buffering=0) as file:
            frame.write_to(file)


class Receiver(Side):
    """Reads the files, and removes them."""

    def open(self) -> None:
        """Wait for the directory."""
        self._directory = ManagedDirectory(self.work.folder / _FOLDER, wait=PATIENCE)

    def get(self, number: int, frame: SerialisedFrame) -> None:
        """Wait for one, and read it."""
        with self.regions("fetch"):
            file = self._directory.open(f"{number}.frame", "rb", PATIENCE, buffering=0)
        with self.regions("read_single_buf"), file:
            frame.read_from(file)
        self._had = self.work.folder / _FOLDER / f"{number}.frame"

    def done(self) -> None:
        """Remove the file."""
        self._had.unlink()
