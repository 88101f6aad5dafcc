"""Replay of a trajectory on a channel."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from time import monotonic, sleep
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameReader, FrameSet, Source
from mdreel.errors import MismatchError
from mdreel.execution.source_name import name_of
from mdreel.live.channels.staging import Staging
from mdreel.live.producers.producer import Producer

_Array: TypeAlias = NDArray[np.float32]
_Read: TypeAlias = tuple[_Array, _Array | None, _Array | None, _Array | None, float, int]

_BATCH_BYTES = 8 << 20
_MOST_FRAMES = 64


@dataclass(frozen=True)
class Pace:
    """How fast frames are published: frames a second, or ps a second by their times; without either as fast as can be.

    Attributes
    ----------
    frames : float or None
        Frames a second.
    time : float or None
        ps of the trajectory a second.
    """

    frames: float | None = None
    time: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("frames", self.frames), ("time", self.time)):
            if value is not None and not 0 < value < float("inf"):
                raise MismatchError(f"a pace is more than 0 {name} a second, not {value}")

    def due(self, frame: int, time: float) -> float:
        """Return when a frame is due, s after the first.

        Parameters
        ----------
        frame : int
            How many frames come before it.
        time : float
            Its time after the first, ps.
        """
        if self.frames is not None:
            return frame / self.frames
        return 0.0 if self.time is None else time / self.time


def replay(
    source: Source,
    channel: str | PathLike[str],
    *,
    start: int = 0,
    stop: int | None = None,
    step: int = 1,
    pace: Pace | None = None,
    n_consumers: int = 0,
    n_slots: int | None = None,
    full: str = "block",
    timeout: float | None = None,
    staging: Staging | None = None,
    progress: Callable[[int], object] | None = None,
) -> int:
    """Publish frames of a trajectory on a channel, and end it.

    Parameters
    ----------
    source : Source
        The trajectory.
    channel : str or path
        The channel's name, or its directory.
    start, stop, step : int
        Which frames, as of a Python slice; not negative, and a step of 1 or more.
    pace : Pace, optional
        How fast; by default as fast as consumers take them.
    n_consumers : int
        How many consumers are waited for before the first frame.
    n_slots, full, timeout, staging
        As of `Producer`.
    progress : callable, optional
        Called with the number of frames done, after each.

    Returns
    -------
    int
        How many frames were published.

    Raises
    ------
    MismatchError
        If there are no such frames.
    StreamError
        If the channel has a producer that lives.
    MdreelError, OSError
        As of `Source.read` and `Producer.publish`. The channel then ends as failed, as stopped on Ctrl-C.

    Notes
    -----
    What is published are the positions, velocities and forces that the core reads, to the bit, as float32, and cells as
    row vectors. Frames that a replay before had published are recognised by their steps: after a kill, consumers go on
    without a repeated step. For that steps must ascend.
    """
    pace = pace or Pace()
    frames = range(source.n_frames)[slice(start, stop, step)]
    if not frames or min(start, stop or 0) < 0 or step < 1:
        message = f"no frame is left of start={start}, stop={stop}, step={step}"
        raise MismatchError(f"{name_of(source)}: {message}: the trajectory has {source.n_frames} frames")
    has = source.quantities
    reader = source.reader(np.arange(source.n_atoms, dtype=np.uint32), has)
    first = reader.read(FrameSet.range(frames[0], 1, 1))
    producer = Producer(
        channel,
        source.n_atoms,
        velocities="velocities" in has,
        forces="forces" in has,
        n_slots=n_slots,
        full=full,
        timeout=timeout,
        staging=staging,
        resume_step=int(first.steps[0]),
        stride=step,
    )
    with producer:
        producer.await_consumers(n_consumers)
        began = monotonic()
        for i, read in enumerate(_each(reader, frames, source.n_atoms)):
            positions, velocities, forces, box, time, frame_step = read
            late = pace.due(i, time - float(first.times[0])) - (monotonic() - began)
            if late > 0:
                sleep(late)
            producer.publish(positions, frame_step, time, box, velocities, forces)
            if progress is not None:
                progress(i + 1)
    return len(frames)


def _each(reader: FrameReader, frames: range, n_atoms: int) -> Iterator[_Read]:
    """Read frames, some at a time."""
    n = max(1, min(_MOST_FRAMES, _BATCH_BYTES // (12 * n_atoms)))
    for at in range(0, len(frames), n):
        some = frames[at : at + n]
        read = reader.read(FrameSet.range(some[0], some.step, len(some)))
        for i, frame in enumerate(some):
            if not read.has_positions[i]:
                raise MismatchError(f"frame {frame} has no positions, and cannot be published")
            velocities = read.velocities[i] if read.velocities is not None and read.has_velocities[i] else None
            forces = read.forces[i] if read.forces is not None and read.has_forces[i] else None
            box = read.vectors[i] if read.has_cell[i] else None
            yield read.positions[i], velocities, forces, box, float(read.times[i]), int(read.steps[i])
