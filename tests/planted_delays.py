"""Delays that are planted in a run, and a program that plants them in runs on ranks.

The trajectory is of frames that Python makes, and the analysis counts them: without a delay neither takes time.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np

from mdreel._core import FrameSet, Pass, Source, fold, foreign_source
from mdreel.analysis.user.user_functions import Batch, Fold
from mdreel.execution.executors.executor import Executor
from mdreel.execution.executors.mpi import result_transfer
from mdreel.execution.executors.mpi.executor import Mpi
from mdreel.execution.executors.mpi.launcher import launched
from mdreel.execution.executors.mpi.shared_counters import SharedCounters
from mdreel.execution.job import Job, Outcome
from mdreel.execution.pipeline import run
from mdreel.trajectory.mdanalysis_source import Frame

N_FRAMES = 300

OBSERVABLES = {
    "unpickle": "t_open",
    "open": "t_open",
    "read": "t_io",
    "compute": "t_comp",
    "communicate": "t_transfer",
    "put": "t_transfer",
    "gather": "t_transfer",
}
"""What is slow: a trajectory as it is unpickled, or opened; a frame as it is read, or computed; a result as it is sent,
put into a window, or made ready to be gathered. And the time that must show it."""

CAUSES = {"t_open": "open", "t_io": "read", "t_comp": "compute", "t_transfer": "communicate", "t_wait": "wait"}


@dataclass(frozen=True)
class Delay:
    """What is slow, by how much, and for whom.

    Attributes
    ----------
    kind : str
        One of `OBSERVABLES`; anything else for nothing.
    seconds : float
        How long it takes.
    share, n_shares : int
        In which share of the frames it is.
    claim : str
        The path of a file: where no frame is known, who first makes it is slow.
    more : tuple of Delay
        Further delays of the same run.
    """

    kind: str = ""
    seconds: float = 0.0
    share: int = 0
    n_shares: int = 1
    claim: str = ""
    more: "tuple[Delay, ...]" = ()

    @classmethod
    def of(cls, written: dict[str, Any]) -> "Delay":
        """The delay that `asdict` has written."""
        return cls(**{**written, "more": tuple(map(cls.of, written["more"]))})

    @property
    def frame(self) -> int:
        """The frame that is slow, in the middle of the share."""
        return N_FRAMES * (2 * self.share + 1) // (2 * self.n_shares)

    def strike(self, kind: str) -> None:
        """Take long, if this is slow."""
        if kind == self.kind:
            time.sleep(self.seconds)

    def strike_in(self, kind: str, frames: Sequence[int] | np.ndarray) -> None:
        """Take long, if this is slow for one of these frames."""
        for delay in (self, *self.more):
            if delay.frame in frames:
                delay.strike(kind)

    def strike_first(self, kind: str) -> None:
        """Take long, if this is slow and happens for the first time."""
        for delay in self.more:
            delay.strike_first(kind)
        if kind == self.kind:
            try:
                Path(self.claim).touch(exist_ok=False)
            except FileExistsError:
                return
            self.strike(kind)


@dataclass(frozen=True)
class _Trajectory:
    """Frames of one atom, which is where nothing is; what reads them, too."""

    delay: Delay

    def open(self) -> "_Trajectory":
        self.delay.strike_first("open")
        return self

    def times(self) -> list[float]:
        return [float(number) for number in range(N_FRAMES)]

    def expect(self, frames: FrameSet) -> None:
        pass

    def frame(self, number: int) -> Frame:
        self.delay.strike_in("read", [number])
        return [np.zeros((1, 3), np.float32), None, None], None, float(number), number


def source_of(delay: Delay) -> Source:
    facts = {"format": "numbers"}
    recipe = (_source_elsewhere, (delay,))
    return foreign_source(_Trajectory(delay), Path(), 1, N_FRAMES, 0, ["positions"], facts, recipe)


def _source_elsewhere(delay: Delay) -> Source:
    delay.strike_first("unpickle")
    return source_of(delay)


@dataclass(frozen=True)
class _Count(Fold):
    """Counts frames, and whether the slow one was among them."""

    delay: Delay

    def added(self, value: Any, batch: Batch) -> Any:
        n_frames, has_slow = value or (0, False)
        is_slow = self.delay.frame in batch.frames
        self.delay.strike_in("compute", batch.frames)
        return n_frames + len(batch.frames), has_slow or is_slow

    def merged(self, value: Any, following: Any) -> Any:
        self.delay.strike_first("merge")
        return value[0] + following[0], value[1] or following[1]

    def pack(self, value: Any) -> bytes:
        if value is not None and value[1]:
            self.delay.strike("communicate")
        return super().pack(value)


def delayed(delay: Delay, executor: Executor) -> Outcome:
    """Run with a delay; each worker has a share, which is one block."""
    atom = np.zeros(1, np.uint32)
    job = Job(source_of(delay), atom, Pass.of(fold(_Count(delay), 1, atom)))
    outcome = run(job, FrameSet.range(0, 1, N_FRAMES), executor)
    assert outcome.own == ((N_FRAMES, True),)
    return outcome


def main() -> None:
    """Do runs on ranks, one after another; rank 0 keeps the spans of each."""
    folder, runs = Path(sys.argv[1]), json.loads(sys.argv[2])
    place = launched()
    assert place is not None
    for i, (communication, wanted) in enumerate(runs):
        delay = Delay.of(wanted)
        executor = Mpi(schedule="static", communication=communication)
        whole = (result_transfer.Window.put, result_transfer.Gather.prepare)
        begin = SharedCounters.begin
        if place.rank in (late.share for late in delay.more if late.kind == "begin"):
            SharedCounters.begin = _slowed_first(begin, delay, "begin")
        if place.rank == delay.share:
            result_transfer.Window.put = _slowed(whole[0], delay, "put")
            result_transfer.Gather.prepare = _slowed(whole[1], delay, "gather")
        since = time.perf_counter()
        outcome = executor.share(lambda delay=delay, executor=executor: delayed(delay, executor))
        taken = time.perf_counter() - since
        result_transfer.Window.put, result_transfer.Gather.prepare = whole
        SharedCounters.begin = begin
        if place.rank == 0:
            np.save(folder / f"run{i}.spans.npy", outcome.spans)
            (folder / f"run{i}.seconds").write_text(str(taken))


def _slowed_first(function: Callable[..., Any], delay: Delay, kind: str) -> Callable[..., Any]:
    @wraps(function)
    def slowed(*arguments: Any) -> Any:
        delay.strike_first(kind)
        return function(*arguments)

    return slowed


def _slowed(function: Callable[..., Any], delay: Delay, kind: str) -> Callable[..., Any]:
    @wraps(function)
    def slowed(*arguments: Any) -> Any:
        delay.strike(kind)
        return function(*arguments)

    return slowed


def arguments_of(folder: Path, runs: list[tuple[str | None, Delay]]) -> list[str]:
    """What an interpreter is given to do runs, by a communication each."""
    return [__file__, str(folder), json.dumps([(communication, asdict(delay)) for communication, delay in runs])]


if __name__ == "__main__":
    main()
