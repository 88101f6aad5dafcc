"""Files on a file system, a file for each frame, and four ways of knowing that it is there.

``barrier-serialised`` is the published one: the analysis begins when the frame is written, and the simulation goes on
when it was analysed. ``barrier-pipelined`` lets the simulation go on at once. In both the file is written under its
name. With ``polling`` and ``inotify`` it is renamed when it is whole; who waits looks each millisecond, or is told.
"""

from pathlib import Path
from time import monotonic, sleep

from mdreel_lab.bench.exchange.arrivals import Arrivals
from mdreel_lab.bench.exchange.barrier import Barrier
from mdreel_lab.bench.exchange.catalogue import INOTIFY, LOCAL, PIPELINED, POLLING, SERIALISED, XFS
from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.regions import Regions
from mdreel_lab.bench.exchange.solutions.side import Side
from mdreel_lab.bench.exchange.work import PATIENCE, Work

POLL_SECONDS = 0.001

_OF_ONE_NODE = (LOCAL, XFS)


def missing(work: Work) -> str:
    """Say what is not there."""
    if work.far and work.solution in _OF_ONE_NODE:
        return "files on this file system are seen on one node only"
    if work.far and work.synchronisation == INOTIFY:
        return "inotify tells of what is done on its own node, and of nothing that another one does"
    return ""


def _path(work: Work, number: int) -> Path:
    return work.folder / f"{number}.frame"


class Sender(Side):
    """Writes a file for each frame."""

    def open(self) -> None:
        """Meet the consumer at a barrier, if there is one."""
        self._renames = self.work.synchronisation in (POLLING, INOTIFY)
        if not self._renames:
            self._barrier = self.stack.enter_context(Barrier(self.work, listens=True))

    def put(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Write one; return when the consumer knows, and if the two are serialised, has analysed it."""
        path = _path(self.work, number)
        with regions("write_single_buf"):
            part = path.with_suffix(".part") if self._renames else path
            with part.open("wb", buffering=0) as file:
                frame.write_to(file)
            if self._renames:
                part.rename(path)
        if not self._renames:
            with regions("explicit_sync"):
                self._barrier.wait()
            if self.work.synchronisation == SERIALISED:
                with regions("await_analysis"):
                    self._barrier.wait()


class Receiver(Side):
    """Reads the files, and removes them."""

    def open(self) -> None:
        """Meet the producer at a barrier, or watch the folder."""
        self._way = self.work.synchronisation
        if self._way in (SERIALISED, PIPELINED):
            self._barrier = self.stack.enter_context(Barrier(self.work, listens=False))
        elif self._way == INOTIFY:
            self._arrivals = self.stack.enter_context(Arrivals(self.work.folder))

    def get(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Wait for one, and read it."""
        self._had = _path(self.work, number)
        with regions("explicit_sync"):
            self._wait(self._had)
        with regions("read_single_buf"), self._had.open("rb", buffering=0) as file:
            frame.read_from(file)

    def done(self, regions: Regions) -> None:
        """Remove the file, and let the simulation go on that waits for the analysis."""
        if self._way == SERIALISED:
            with regions("release"):
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
