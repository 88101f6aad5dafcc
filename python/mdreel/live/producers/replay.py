"""Replay of a trajectory file on a channel, as if the frames came from a simulation."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from time import monotonic, sleep
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameReader, FrameSet, Source
from mdreel.errors import MdreelWarning, MismatchError
from mdreel.execution.source_name import source_name
from mdreel.foundation.stack_level import caller_level
from mdreel.live.channels.staging import Staging
from mdreel.live.producers.groups import Group
from mdreel.live.producers.producer import Producer

_Array: TypeAlias = NDArray[np.float32]
_Read: TypeAlias = tuple[_Array, _Array | None, _Array | None, _Array | None, float]

_BATCH_BYTES = 8 << 20
_MOST_FRAMES = 64


@dataclass(frozen=True)
class Pace:
    """Publishing rate, in frames per second or in ps per second. If neither is set, there is no limit.

    Attributes
    ----------
    frames : float or None
        Number of frames per second.
    time : float or None
        Simulated time per second, in ps.
    """

    frames: float | None = None
    time: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("frames", self.frames), ("time", self.time)):
            if value is not None and not 0 < value < float("inf"):
                raise MismatchError(f"a pace must be more than 0 {name} a second, not {value}")

    def due(self, frame: int, time: float) -> float:
        """Return the delay of a frame in s, given the number of frames and the simulated time in ps before it."""
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
    groups: Sequence[str | Group] = (),
    staging: Staging | None = None,
    progress: Callable[[int], object] | None = None,
) -> int:
    """Publish the frames of a trajectory on a channel, and end the channel.

    Parameters
    ----------
    source : Source
        The trajectory.
    channel : str or path
        Name or directory of the channel.
    start, stop, step : int
        Range of frames, as in a Python slice. `start` and `stop` must not be negative, and `step` must be positive.
    pace : Pace, optional
        Publishing rate. By default, the rate is limited only by the consumers.
    n_consumers : int
        Number of consumers to wait for before the first frame.
    n_slots, full, timeout, groups, staging
        See `Producer`.
    progress : callable, optional
        Function that is called after each frame with the number of published frames.

    Returns
    -------
    int
        Number of published frames.

    Raises
    ------
    MismatchError
        If the range contains no frames.
    StreamError
        If the channel has a running producer.
    MdreelError, OSError
        If reading or publishing fails; see `Source.read` and `Producer.publish`. In this case, the channel ends as
        *failed*. On Ctrl-C, it ends as *stopped*.

    Notes
    -----
    Positions, velocities and forces are published unchanged in float32, as they are read by the core. Unit cells are
    published as row vectors. If you restart a replay that was killed, consumers recognise repeated frames by their
    steps and skip them. If the steps do not increase, for example because the same file is given twice, they are
    replaced by frame numbers.

    Warns
    -----
    MdreelWarning
        If the steps are replaced by frame numbers.
    """
    pace = pace or Pace()
    frames = range(source.n_frames)[slice(start, stop, step)]
    if not frames or min(start, stop or 0) < 0 or step < 1:
        message = f"no frame is left of start={start}, stop={stop}, step={step}"
        raise MismatchError(f"{message}; the trajectory has {source.n_frames} frames", path=source_name(source))
    has = source.quantities
    reader = source.reader(np.arange(source.n_atoms, dtype=np.uint32), has)
    first = reader.read(FrameSet.range(frames[0], 1, 1))
    steps = _increasing_steps(source, frames)
    producer = Producer(
        channel,
        source.n_atoms,
        velocities="velocities" in has,
        forces="forces" in has,
        n_slots=n_slots,
        full=full,
        timeout=timeout,
        groups=groups,
        staging=staging,
        resume_step=int(steps[0]),
        stride=step,
    )
    with producer:
        producer.await_consumers(n_consumers)
        began = monotonic()
        for i, read in enumerate(_each(reader, frames, source.n_atoms)):
            positions, velocities, forces, box, time = read
            late = pace.due(i, time - float(first.times[0])) - (monotonic() - began)
            if late > 0:
                sleep(late)
            producer.publish(positions, int(steps[i]), time, box, velocities, forces)
            if progress is not None:
                progress(i + 1)
    return len(frames)


def _increasing_steps(source: Source, frames: range) -> NDArray[np.int64]:
    """Return the step of each frame, shape (n_frames,), or the frame numbers if the steps do not increase."""
    reader = source.reader(np.empty(0, np.uint32), [])  # reads no positions
    steps: NDArray[np.int64] = reader.read(FrameSet.range(frames[0], frames.step, len(frames))).steps
    if (np.diff(steps) > 0).all():
        return steps
    message = f"{source_name(source)}: the steps do not increase, so their frame numbers are published instead"
    warnings.warn(message, MdreelWarning, stacklevel=caller_level())
    return np.arange(frames.start, frames.stop, frames.step)


def _each(reader: FrameReader, frames: range, n_atoms: int) -> Iterator[_Read]:
    """Read frames in batches and yield them one by one."""
    n = max(1, min(_MOST_FRAMES, _BATCH_BYTES // (12 * n_atoms)))
    for at in range(0, len(frames), n):
        some = frames[at : at + n]
        read = reader.read(FrameSet.range(some[0], some.step, len(some)))
        for i, frame in enumerate(some):
            if not read.has_positions[i]:
                raise MismatchError("no positions: the frame cannot be published", frame=frame)
            velocities = read.velocities[i] if read.velocities is not None and read.has_velocities[i] else None
            forces = read.forces[i] if read.forces is not None and read.has_forces[i] else None
            box = read.vectors[i] if read.has_cell[i] else None
            yield read.positions[i], velocities, forces, box, float(read.times[i])
