"""Consumers, which receive the frames of a channel one by one."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Self, TypeAlias

from mdreel._core import ChannelConsumer
from mdreel.errors import MismatchError
from mdreel.execution.missed_frames import report_late_start
from mdreel.live.channels.directory import channel_path
from mdreel.live.channels.frame import Frame
from mdreel.live.channels.manifest import Manifest
from mdreel.live.channels.runs import join_run

_POLICIES = ("every", "latest")
_LATE = ("warn", "raise", "ignore")
_POLICY_STARTS = ("earliest", "latest")

Start: TypeAlias = str | tuple[str, int | float]
"""First frame of a consumer: ``earliest``, ``latest``, or a number after ``sequence``, ``step`` or ``time`` (in ps)."""


class Consumer:
    """Iterator over the frames of a channel, in order, until the simulation ends.

    Parameters
    ----------
    channel : str or path
        Name or directory of the channel; see `mdreel.live.channel`.
    start, timeout, wait, restart
        First frame, and maximum waiting times in s; see `mdreel.live.channel`.
    new_run : bool
        Whether to wait for the next run if the current run has ended; see `mdreel.live.channel`.
    group : str, optional
        Consumer group to join. As a member, you can record the frames that you have processed using `commit`. You can
        then join again under the same name to continue after your last commit.
    member : str
        Name of this member in the group.
    share : bool
        Whether the members of the group should share the frames, instead of each receiving all of them.
    policy : {"every", "latest"}
        Frames that the consumer receives. Use ``"every"`` to receive all frames in order, or ``"latest"`` to receive
        the newest frame and skip older frames, for example in a viewer. A producer will never wait for a consumer that
        uses ``"latest"``, regardless of its option `full`.
    on_late : {"warn", "raise", "ignore"}
        Whether to issue a `MissedFramesWarning`, to raise a `StreamError`, or to do neither if frames of the run had
        been removed from the channel before the consumer joined. This happens at the first frame. You can find the
        number of these frames in `missed_at_start`. If you use ``"ignore"``, you will also not be warned that a run has
        ended.

    Attributes
    ----------
    path : Path
        Directory of the channel.

    Raises
    ------
    MismatchError
        If an argument is invalid.

    Notes
    -----
    The arrays of a frame are views of the ring, and their contents never change. As long as an array refers to a slot
    of the ring, the producer skips this slot. It neither waits for the array nor overwrites it. If consumers hold half
    of the slots, or this consumer holds six slots, further frames will be copies. You can keep frames, but if you keep
    copies instead (see `Frame.copy`), more slots of the ring remain available.

    Receiving an available frame takes about a microsecond and does not need a system call. When you use staging, frames
    that are no longer in the ring can be copied from there.

    Examples
    --------
    >>> import numpy as np
    >>> import mdreel
    >>> with mdreel.live.Producer("run1", n_atoms=3) as producer, mdreel.live.Consumer("run1") as frames:
    ...     published = producer.publish(np.ones((3, 3), np.float32), step=10, time=0.02)
    ...     frame = frames.next()
    ...     print(frame.step, frame.positions.mean())
    10 1.0

    Usually, the simulation is a separate program, and you iterate over its frames:

    >>> with mdreel.live.Consumer("run1", timeout=60) as frames:  # doctest: +SKIP
    ...     for frame in frames:
    ...         print(frame.step, frame.positions.mean(axis=0))
    """

    def __init__(
        self,
        channel: str | PathLike[str],
        *,
        start: Start = "earliest",
        timeout: float | None = None,
        wait: float = 0.0,
        new_run: bool = False,
        restart: float = 0.0,
        group: str | None = None,
        member: str = "0",
        share: bool = False,
        policy: str = "every",
        on_late: str = "warn",
    ) -> None:
        self.path: Path = channel_path(channel)
        if on_late not in _LATE:
            raise MismatchError(f"on_late must be one of {', '.join(_LATE)}, not {on_late!r}", path=self.path)
        self._on_late = on_late
        if policy not in _POLICIES:
            raise MismatchError(f"policy must be one of {', '.join(_POLICIES)}, not {policy!r}", path=self.path)
        self._takes_latest = policy == "latest"
        if self._takes_latest and (group is not None or start not in _POLICY_STARTS):
            found = "a group" if group is not None else f"start={start!r}"
            message = f'policy="latest" takes the newest frame, and cannot be combined with {found}'
            raise MismatchError(message, path=self.path)
        self._begin = parse_start(start)
        self._timeout = timeout
        self._wait = wait
        self._new_run = new_run
        self._restart = restart
        if share and group is None:
            raise MismatchError("share=True requires a group, whose members share the frames; set group=")
        self._group = None if group is None else (group, member, share)
        self._core: ChannelConsumer | None = None
        self._is_closed = False
        self._has_begun = False

    def open(self) -> Self:
        """Join the channel if the consumer has not joined yet.

        Returns
        -------
        Consumer
            This consumer.

        Raises
        ------
        FileNotFoundError, PermissionError, FormatError
            See `Status.read`.
        StreamError
            When the channel already has 1,024 consumers, or the group already has a member with this name.
        StreamTimeoutError
            When no new run started in time.
        MismatchError
            When this member uses a different value of `share` than the group, or the consumer is closed.

        Warns
        -----
        EndedRunWarning
            When the run had ended before the call, unless you have chosen to wait for a new run.
        """
        self._refuse_closed()
        if self._core is None:
            reports_end = self._on_late != "ignore"
            self._core = join_run(self._join, self.path, self._wait, new_run=self._new_run, reports_end=reports_end)
        return self

    def next(self, timeout: float | None = None) -> Frame | None:
        """Return the next frame, waiting for it if necessary.

        Parameters
        ----------
        timeout : float, optional
            Maximum time to wait, in s. By default, this is the timeout of the consumer.

        Returns
        -------
        Frame or None
            The frame, or None if the simulation has finished or was stopped. If the members of the group share frames,
            you will get None immediately as long as this member has uncommitted frames. If another member dies, you
            will receive the remaining frames, but only once you have committed your own.

        Raises
        ------
        StreamError
            When the producer was lost, or reported that the simulation failed. You can call the method again to wait
            for a restarted producer.
        StreamTimeoutError
            When no frame was published in time. You can call the method again.
        MismatchError
            When the consumer is closed, also by another thread while this thread is waiting.

        Warns
        -----
        MissedFramesWarning
            At the first frame, when earlier frames of the run had been removed from the channel before you joined.
        """
        self.open()
        core = self._require_open()
        found = core.next(self._timeout if timeout is None else timeout)
        if found is None:
            return None
        if not self._has_begun:
            self._has_begun = True
            if (n_late := core.n_late) and self._on_late != "ignore":
                report_late_start(self.path, n_late, "consumer", is_error=self._on_late == "raise")
        return Frame.from_core(found)

    def commit(self, state: bytes = b"", through: Frame | None = None) -> None:
        """Commit the frames that this member of a group has received, together with the state of its result.

        Commits are atomic and have the same durability as the channel (its ring or its staging). When you restart a
        member, it will continue from the committed state after its last commit. This means that every frame is included
        in the state exactly once. However, other side effects, such as lines written to a file, can be repeated.

        Parameters
        ----------
        state : bytes
            State from which the member can continue, which can have up to 64 KiB.
        through : Frame, optional
            Last frame that the state includes. By default, this is always the frame that was received last.

        Raises
        ------
        MismatchError
            When the consumer does not have a group, your state is too long, or the consumer has not received the frame.
        OSError
            When the commit cannot be written. You can still use the previous commit.
        """
        frame = None if through is None else (through.epoch, through.sequence, through.step)
        self._require_open().commit(state, frame)

    @property
    def committed(self) -> bytes | None:
        """State from this member's last commit, even from before a restart, or None if it has never committed."""
        return self._require_open().committed()

    def members(self) -> dict[str, bytes | None]:
        """Return the last committed state of each member of the group, from which you can compute a shared result."""
        return dict(self._require_open().members())

    def close(self) -> None:
        """Leave the channel. A second call has no effect.

        You cannot use a closed consumer: `MismatchError` is raised by all of its other methods and properties, and also
        in a thread that is waiting for a frame in `next`. However, you can still use all frames that you have received.
        Their slots become free once no array uses them.
        """
        core, self._core, self._is_closed = self._core, None, True
        if core is not None:
            core.close()

    @property
    def manifest(self) -> Manifest:
        """Properties that all frames have in common."""
        self.open()
        return Manifest.from_core(self._require_open().manifest)

    @property
    def missed(self) -> int:
        """Number of frames that were overwritten before the consumer received them, and that are not in staging.

        If you use ``policy="latest"``, this includes frames that were skipped in favour of newer frames.
        """
        return self._require_open().missed

    @property
    def missed_at_start(self) -> int:
        """Number of frames of the run that were removed before the consumer joined. It is 0 before the first frame."""
        return self._require_open().n_late

    @property
    def end(self) -> str | None:
        """How the channel has ended (``finished``, ``stopped`` or ``failed``), or None before the end is reached."""
        end = self._require_open().end
        return None if end is None else end[0]

    def _join(self) -> ChannelConsumer:
        return ChannelConsumer(self.path, self._begin, self._restart, self._group, self._takes_latest)

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise MismatchError("the consumer is closed; create another one to read on", path=self.path)

    def _require_open(self) -> ChannelConsumer:
        self._refuse_closed()
        if self._core is None:
            raise MismatchError("the consumer has not joined the channel; use `with` or call open()", path=self.path)
        return self._core

    def __iter__(self) -> Iterator[Frame]:
        return self

    def __next__(self) -> Frame:
        frame = self.next()
        if frame is None:
            raise StopIteration
        return frame

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Consumer of {self.path}>"


def parse_start(start: Start) -> tuple[str, float | None]:
    """Parse the first frame of a consumer for the core. Raise MismatchError if the value is not a valid `Start`."""
    match start:
        case "earliest" | "latest":
            return start, None
        case ("sequence" | "step" as word, int(number)):
            return word, number
        case ("time", int(number) | float(number)):
            return "time", float(number)
    known = "'earliest', 'latest', ('sequence', n), ('step', n) or ('time', ps)"
    raise MismatchError(f"start must be one of {known}, not {start!r}")
