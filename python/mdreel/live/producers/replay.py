"""Replay of a trajectory file on a channel, as if a simulation published it."""

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
    """Rate at which frames are published, in frames or in ps per second; without either as fast as possible.

    Attributes
    ----------
    frames : float or None
        Frames per second.
    time : float or None
        Simulated time per second, ps.
    """

    frames: float | None = None
    time: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("frames", self.frames), ("time", self.time)):
            if value is not None and not 0 < value < float("inf"):
                raise MismatchError(f"a pace must be more than 0 {name} a second, not {value}")

    def due(self, frame: int, time: float) -> float:
        """Return when a frame is due, s after the first one, given the frames and simulated time, ps, since then."""
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
    """Publish frames of a trajectory on a channel, and end the channel.

    Parameters
    ----------
    source : Source
        The trajectory.
    channel : str or path
        Name or directory of the channel.
    start, stop, step : int
        Range of frames, as in a Python slice; start and stop not negative, step 1 or more.
    pace : Pace, optional
        Rate of publishing; by default as fast as consumers take the frames.
    n_consumers : int
        Number of consumers to wait for before the first frame.
    n_slots, full, timeout, groups, staging
        See `Producer`.
    progress : callable, optional
        Callable that receives the number of published frames after each frame.

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
        If reading or publishing fails; see `Source.read` and `Producer.publish`. The channel then ends as failed, and
        on Ctrl-C as stopped.

    Notes
    -----
    Positions, velocities and forces are published bit for bit as the core reads them, as float32, and unit cells as
    row vectors. If a killed replay is started again, consumers recognise repeated frames by their steps and skip them.
    Steps that do not increase, as in a file that is given twice, are replaced by the frame numbers.

    Warns
    -----
    MdreelWarning
        If frame numbers replace the steps.
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
    """Return the steps of the frames, or the frame numbers if the steps do not increase; shape (n_frames,)."""
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
