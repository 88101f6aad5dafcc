"""Files on a file system, one for each frame, with four ways of synchronising.

``barrier-serialised`` is the published way: the analysis begins when the producer has written the frame, and the
simulation continues when the frame has been analysed. With ``barrier-pipelined`` the simulation continues at once. In
both ways the producer writes the file under its final name. With ``polling`` and ``inotify`` the producer renames the
complete file. The consumer polls each millisecond, or inotify notifies it.
"""

from pathlib import Path
from time import monotonic, sleep

from mdreel_lab.bench.exchange.arrivals import Arrivals
from mdreel_lab.bench.exchange.barrier import Barrier
from mdreel_lab.bench.exchange.catalogue import INOTIFY, LOCAL, PIPELINED, POLLING, SERIALISED, XFS
from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.solutions.side import Side
from mdreel_lab.bench.exchange.work import PATIENCE, Work

POLL_SECONDS = 0.001


def _path(work: Work, number: int) -> Path:
    return work.folder / f"{number}.frame"


class Sender(Side):
    """Writes a file for each frame."""

    @classmethod
    def missing(cls, work: Work) -> str:
        """Return a message about missing software or settings, or an empty text."""
        if work.far and work.solution in (LOCAL, XFS):
            return "files on this file system are seen on one node only"
        if work.far and work.synchronisation == INOTIFY:
            return "inotify tells of what is done on its own node, and of nothing that another one does"
        return ""

    def open(self) -> None:
        """Connect to the consumer, if the way of synchronising has a barrier."""
        self._renames = self.work.synchronisation in (POLLING, INOTIFY)
        if not self._renames:
            self._barrier = self.enter_context(Barrier(self.work, listens=True))

    def put(self, number: int, frame: SerialisedFrame) -> None:
        """Write one; return when the consumer knows, and if the two are serialised, has analysed it."""
        path = _path(self.work, number)
        with self.regions("write_single_buf"):
            part = path.with_suffix(".part") if self._renames else path
            with part.open("wb", buffering=0) as file:
                frame.write_to(file)
            if self._renames:
                part.rename(path)
        if not self._renames:
            with self.regions("explicit_sync"):
                self._barrier.wait()
            if self.work.synchronisation == SERIALISED:
                with self.regions("await_analysis"):
                    self._barrier.wait()


class Receiver(Side):
    """Reads the files, and removes them."""

    def open(self) -> None:
        """Connect to the producer, or watch the folder."""
        self._way = self.work.synchronisation
        if self._way in (SERIALISED, PIPELINED):
            self._barrier = self.enter_context(Barrier(self.work, listens=False))
        elif self._way == INOTIFY:
            self._arrivals = self.enter_context(Arrivals(self.work.folder))

    def get(self, number: int, frame: SerialisedFrame) -> None:
        """Wait for one, and read it."""
        self._had = _path(self.work, number)
        with self.regions("explicit_sync"):
            self._wait(self._had)
        with self.regions("read_single_buf"), self._had.open("rb", buffering=0) as file:
            frame.read_from(file)

    def done(self) -> None:
        """Remove the file, and let a simulation that waits for the analysis continue."""
        if self._way == SERIALISED:
            with self.regions("release"):
                self._barrier.wait()
        self._had.unlink()

    def _wait(self, path: Path) -> None:
        if self._way == INOTIFY:
            self._arrivals.wait(path.name, PATIENCE)
        elif self._way != POLLING:
            self._barrier.wait()
        else:
            until = monotonic() + PATIENCE
            while not path.exists():
                if monotonic() > until:
                    raise TimeoutError(f"{path} did not come within {PATIENCE:g} s")
                sleep(POLL_SECONDS)
