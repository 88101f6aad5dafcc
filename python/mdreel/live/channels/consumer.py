"""Consumers, which take the frames of a channel one by one."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Self, TypeAlias

from mdreel._core import ChannelConsumer, channel_most_consumers
from mdreel.errors import MismatchError
from mdreel.execution.missed_frames import report_late_start
from mdreel.live.channels.directory import channel_path
from mdreel.live.channels.frame import Frame
from mdreel.live.channels.manifest import Manifest
from mdreel.live.channels.runs import join_run

MOST_CONSUMERS: int = channel_most_consumers()
"""Maximum number of consumers of a channel at a time."""

_POLICIES = ("every", "latest")
_LATE = ("warn", "raise", "ignore")
_POLICY_STARTS = ("earliest", "latest")

Start: TypeAlias = str | tuple[str, int | float]
"""Start of a consumer: ``earliest``, ``latest``, or ``sequence``, ``step`` or ``time`` (ps) with a number."""


class Consumer:
    """Iterator over the frames of a channel, in order, until the simulation ends.

    Parameters
    ----------
    channel : str or path
        Name or directory of the channel; see `mdreel.live.channel`.
    start, timeout, wait, restart
        First frame, and maximum times to wait, s; see `mdreel.live.channel`.
    new_run : bool
        Whether to wait for the next run if the run of the channel has ended; see `mdreel.live.channel`.
    group : str, optional
        Consumer group to join. A member records processed frames with `commit`; a member that joins again under the
        same name continues after its last commit.
    member : str
        Name of this member in the group.
    share : bool
        Whether each frame goes to one member of the group instead of to all members.
    policy : {"every", "latest"}
        Frames that the consumer takes. ``"every"`` takes each frame in order. ``"latest"`` takes the newest frame and
        skips older ones: no producer waits for such a consumer, whatever its `full` is. Use it for viewers.
    on_late : {"warn", "raise", "ignore"}
        Whether the first frame gives a `MissedFramesWarning`, a `StreamError` or neither if earlier frames of the run
        had left the channel before the consumer joined. `missed_at_start` counts these frames. With ``"ignore"``, the
        consumer does not report an ended run either.

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
    Frames are views of the ring, and a view never changes. While arrays refer to a slot, the producer skips it, so that
    it neither waits for these arrays nor overwrites them. If consumers hold half of the slots, or this consumer holds
    six, further frames are copies. You may keep frames, but `Frame.copy` leaves the ring more slots.

    Taking an available frame takes about a microsecond and no system call. Frames that have left the ring are copied
    from staging, if the channel has one.

    Examples
    --------
    >>> import numpy as np
    >>> import mdreel
    >>> with mdreel.live.Producer("run1", n_atoms=3) as producer, mdreel.live.Consumer("run1") as frames:
    ...     published = producer.publish(np.ones((3, 3), np.float32), step=10, time=0.02)
    ...     frame = frames.next()
    ...     print(frame.step, frame.positions.mean())
    10 1.0

    Usually the simulation is another program, and the consumer iterates over its frames:

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
        """Join the channel, if the consumer has not joined yet.

        Returns
        -------
        Consumer
            This consumer.

        Raises
        ------
        FileNotFoundError, PermissionError, FormatError
            See `Status.read`.
        StreamError
            If the channel already has 1,024 consumers, or the group already has a member of this name.
        StreamTimeoutError
            If no new run began in time.
        MismatchError
            If this member and the group differ in `share`, or the consumer is closed.

        Warns
        -----
        EndedRunWarning
            If the run had ended before the call, unless the consumer waits for a new run.
        """
        self._refuse_closed()
        if self._core is None:
            reports_end = self._on_late != "ignore"
            self._core = join_run(self._join, self.path, self._wait, new_run=self._new_run, reports_end=reports_end)
        return self

    def next(self, timeout: float | None = None) -> Frame | None:
        """Return the next frame, and wait for it if necessary.

        Parameters
        ----------
        timeout : float, optional
            Maximum time to wait, s; by default the timeout of the consumer.

        Returns
        -------
        Frame or None
            The frame; None if the simulation has finished or was stopped. A sharing member with uncommitted frames
            receives None immediately. More frames may follow after its commit if another member dies.

        Raises
        ------
        StreamError
            If the producer was lost, or reported that the simulation failed. You may call the method again to wait for
            a restarted producer.
        StreamTimeoutError
            If no frame was published in time. You may call the method again.
        MismatchError
            If the consumer is closed, also if another thread closes it while this one waits.

        Warns
        -----
        MissedFramesWarning
            At the first frame, if earlier frames of the run had left the channel before the consumer joined.
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
        """Commit the frames taken by this member of a group, together with the state of its result.

        The commit is atomic and as durable as the channel (its ring or its staging). A member that restarts continues
        after its last commit from the committed state, so that the state contains every frame exactly once. Other side
        effects, such as lines written to a file, may be repeated.

        Parameters
        ----------
        state : bytes
            State from which the member can continue, at most 64 KiB.
        through : Frame, optional
            Last frame that the state includes; by default the last frame that the consumer took.

        Raises
        ------
        MismatchError
            If the consumer has no group, the state is too long, or the frame was not taken.
        OSError
            If the commit cannot be written; the previous commit then remains valid.
        """
        frame = None if through is None else (through.epoch, through.sequence, through.step)
        self._require_open().commit(state, frame)

    @property
    def committed(self) -> bytes | None:
        """State of the last commit of this member, also from before a restart; None if it has never committed."""
        return self._require_open().committed()

    def members(self) -> dict[str, bytes | None]:
        """Return the last committed state of each member of the group, to be combined into a shared result."""
        return dict(self._require_open().members())

    def close(self) -> None:
        """Leave the channel. A second call has no effect.

        All other methods and properties of a closed consumer raise `MismatchError`, and so does `next` in a thread that
        waits for a frame. Frames in use remain valid. Their slots are free again when no array refers to them.
        """
        core, self._core, self._is_closed = self._core, None, True
        if core is not None:
            core.close()

    @property
    def manifest(self) -> Manifest:
        """Properties common to all frames."""
        self.open()
        return Manifest.from_core(self._require_open().manifest)

    @property
    def missed(self) -> int:
        """Number of frames that were overwritten before the consumer took them and that staging does not contain.

        With ``policy="latest"``, this number includes the frames that the consumer skipped for newer ones.
        """
        return self._require_open().missed

    @property
    def missed_at_start(self) -> int:
        """Number of frames of the run that had left the channel before the consumer joined; 0 at first."""
        return self._require_open().n_late

    @property
    def end(self) -> str | None:
        """End of the channel: ``finished``, ``stopped`` or ``failed``; None until the consumer has reached it."""
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
    """Parse the start of a consumer for the core. Raise MismatchError if the value has none of the forms of `Start`."""
    match start:
        case "earliest" | "latest":
            return start, None
        case ("sequence" | "step" as word, int(number)):
            return word, number
        case ("time", int(number) | float(number)):
            return "time", float(number)
    known = "'earliest', 'latest', ('sequence', n), ('step', n) or ('time', ps)"
    raise MismatchError(f"start must be one of {known}, not {start!r}")
