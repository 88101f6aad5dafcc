"""Files on a file system, a file for each frame, and four ways of knowing that it is there.

``barrier-serialised`` is the published one: the analysis begins when the frame is written, and the simulation goes on
when it was analysed. ``barrier-pipelined`` lets the simulation go on at once. In both the file is written under its
name. With ``polling`` and ``inotify`` it is renamed when it is whole; who waits looks each millisecond, or is told.
"""

from contextlib import ExitStack
from pathlib import Path
from time import monotonic, sleep
from typing import Self

from mdreel_lab.bench.exchange.arrivals import Arrivals
from mdreel_lab.bench.exchange.barrier import Barrier
from mdreel_lab.bench.exchange.catalogue import INOTIFY, LOCAL, PIPELINED, POLLING, SERIALISED, XFS
from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.regions import Regions
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


class Sender:
    """Writes a file for each frame."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._renames = work.synchronisation in (POLLING, INOTIFY)
        self._barrier: Barrier | None = None

    def put(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Write one; return when the consumer knows, and if the two are serialised, has analysed it."""
        path = _path(self._work, number)
        with regions("write_single_buf"):
            part = path.with_suffix(".part") if self._renames else path
            with part.open("wb", buffering=0) as file:
                frame.write_to(file)
            if self._renames:
                part.rename(path)
        if self._barrier is not None:
            with regions("explicit_sync"):
                self._barrier.wait()
            if self._work.synchronisation == SERIALISED:
                with regions("await_analysis"):
                    self._barrier.wait()

    def __enter__(self) -> Self:
        if not self._renames:
            self._barrier = Barrier(self._work, listens=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._barrier is not None:
            self._barrier.__exit__()


class Receiver:
    """Reads the files, and removes them."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._stack = ExitStack()
        self._barrier: Barrier | None = None
        self._arrivals: Arrivals | None = None
        self._had: Path | None = None

    def get(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Wait for one, and read it."""
        path = _path(self._work, number)
        with regions("explicit_sync"):
            self._wait(path)
        with regions("read_single_buf"), path.open("rb", buffering=0) as file:
            frame.read_from(file)
        self._had = path

    def done(self, regions: Regions) -> None:
        """Remove the file, and let the simulation go on that waits for the analysis."""
        if self._barrier is not None and self._work.synchronisation == SERIALISED:
            with regions("release"):
                self._barrier.wait()
        if self._had is not None:
            self._had.unlink()

    def _wait(self, path: Path) -> None:
        if self._barrier is not None:
            self._barrier.wait()
        elif self._arrivals is not None:
            self._arrivals.wait(path.name, PATIENCE)
        else:
            until = monotonic() + PATIENCE
            while not path.exists():
                if monotonic() > until:
                    raise TimeoutError(f"{path} did not come within {PATIENCE:g} s")
                sleep(POLL_SECONDS)

    def __enter__(self) -> Self:
        if self._work.synchronisation in (SERIALISED, PIPELINED):
            self._barrier = self._stack.enter_context(Barrier(self._work, listens=False))
        elif self._work.synchronisation == INOTIFY:
            self._arrivals = self._stack.enter_context(Arrivals(self._work.folder))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
