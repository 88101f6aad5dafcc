"""Consumers, which take the frames of a channel one by one."""

import warnings
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Self, TypeAlias
from weakref import WeakSet

from mdreel._core import ChannelConsumer
from mdreel.errors import MdreelWarning, MismatchError
from mdreel.live.channels.directory import channel_path, wait_until_available
from mdreel.live.channels.frame import Frame
from mdreel.live.channels.manifest import Manifest

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
    group : str, optional
        Consumer group to join. A member records processed frames with `commit`; a member that joins again under the
        same name continues after its last commit.
    member : str
        Name of this member in the group.
    share : bool
        Whether each frame goes to one member of the group instead of to all members.

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
    Frames are views of the ring, not copies. The producer does not overwrite a slot while arrays refer to it, so frames
    in use reduce the free slots. If frames in use occupy all slots, `next` raises `MismatchError`. Use `Frame.copy` for
    frames that you keep.

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
        restart: float = 0.0,
        group: str | None = None,
        member: str = "0",
        share: bool = False,
    ) -> None:
        self.path: Path = channel_path(channel)
        self._begin = parse_start(start)
        self._timeout = timeout
        self._wait = wait
        self._restart = restart
        if share and group is None:
            raise MismatchError("share=True requires a group, whose members share the frames; set group=")
        self._group = None if group is None else (group, member, share)
        self._core: ChannelConsumer | None = None
        self._handed_out: WeakSet[Frame] = WeakSet()

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
            If the channel already has 64 consumers, or the group already has a member of this name.
        MismatchError
            If this member and the group differ in `share`.
        """
        if self._core is None:
            self._core = wait_until_available(self._join, self.path, self._wait)
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
            If frames in use occupy all slots of the ring.
        """
        self.open()
        core = self._require_open()
        found = core.next(self._timeout if timeout is None else timeout)
        if found is None:
            return None
        frame = Frame.from_core(found)
        self._handed_out.add(frame)
        return frame

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
        """Leave the channel. Frames in use remain valid as copies.

        Warns
        -----
        MdreelWarning
            If arrays of such frames are still referenced elsewhere while the simulation is running. The simulation
            waits for these arrays when its ring is full.
        """
        n_held = self._leave()
        if n_held:
            warnings.warn(
                f"{self.path}: arrays over {n_held} frames are still in use after their consumer was closed; the "
                "simulation waits for them when its ring is full, so copy arrays that you keep",
                MdreelWarning,
                stacklevel=2,
            )

    @property
    def manifest(self) -> Manifest:
        """Properties common to all frames."""
        self.open()
        return Manifest.from_core(self._require_open().manifest)

    @property
    def missed(self) -> int:
        """Number of frames that were overwritten before the consumer took them and that staging does not contain."""
        return self._require_open().missed

    @property
    def end(self) -> str | None:
        """End of the channel: ``finished``, ``stopped`` or ``failed``; None until the consumer has reached it."""
        end = self._require_open().end
        return None if end is None else end[0]

    def _join(self) -> ChannelConsumer:
        return ChannelConsumer(self.path, self._begin, self._restart, self._group)

    def _leave(self) -> int:
        """Leave the channel; return the number of frames whose arrays can still block the simulation."""
        core, self._core = self._core, None
        if core is None:
            return 0
        for frame in list(self._handed_out):
            frame.keep()
        self._handed_out.clear()
        n_held = core.n_held if core.end is None else 0
        core.close()
        return n_held

    def _require_open(self) -> ChannelConsumer:
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
        if error is None:
            self.close()
        else:
            self._leave()  # the traceback of the error still refers to the arrays

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
