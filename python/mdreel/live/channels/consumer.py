"""Consumers, which take the frames of a channel one by one."""

import warnings
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias
from weakref import WeakSet

from mdreel._core import ChannelConsumer
from mdreel.errors import MismatchError
from mdreel.live.channels.directory import place_of, when_there
from mdreel.live.channels.frame import Frame
from mdreel.live.channels.manifest import Manifest

Start: TypeAlias = str | tuple[str, int | float]
"""Where a consumer begins: ``earliest``, ``latest``, or ``sequence``, ``step`` or ``time`` (ps) with a number."""


class Consumer:
    """Takes each frame of a channel, in order: an iterator, which ends when the simulation does.

    Parameters
    ----------
    channel : str or path
        The channel's name, or its directory; see `mdreel.live.channel`.
    start : {"earliest", "latest"} or (str, float)
        The first frame: the first that there still is, in staging or in the ring; the next to come; or the first of
        this number, step or time (ps) or a later one: ``("sequence", 7)``, ``("step", 1000)``, ``("time", 2.0)``.
    timeout : float, optional
        For how long a frame may be waited for, s; by default as long as the producer lives.
    wait : float
        For how long the channel may not be there, s.
    restart : float
        For how long a producer that was lost may be away, s. One that comes back goes on without a repeated step.
    group : str, optional
        The group to join: then `commit` says which frames are done, and who joins again under the same name goes on
        behind its last commit.
    member : str
        The name in the group.
    share : bool
        Whether each step goes to one member of the group, and not to each.

    Attributes
    ----------
    path : Path
        The channel's directory.

    Raises
    ------
    MismatchError
        If an argument makes no sense.

    Notes
    -----
    Frames lie in the ring, and are not copied. Those over which there are arrays are left alone by the producer: as
    many as the ring has slots may be in use at a time, so that a loop that still has the frame before is no fault, and
    one that keeps all frames is told so by a `MismatchError`. Meanwhile the producer has less room. `Frame.copy` makes
    a frame one's own.

    A frame that is there is taken in about a microsecond, without system call. Frames that the ring does not have any
    more come from staging, if the channel has one, as copies.

    Examples
    --------
    >>> import mdreel
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
        self.path: Path = place_of(channel)
        self._begin = begin_of(start)
        self._timeout = timeout
        self._wait = wait
        self._restart = restart
        if share and group is None:
            raise MismatchError("share=True needs a group: its members share the frames")
        self._group = None if group is None else (group, member, share)
        self._core: ChannelConsumer | None = None
        self._handed_out: WeakSet[Frame] = WeakSet()

    def open(self) -> Self:
        """Join the channel, if that has not been done.

        Returns
        -------
        Consumer
            This consumer.

        Raises
        ------
        FileNotFoundError
            If there is no such channel.
        PermissionError
            If the directory belongs to somebody else, or others may enter.
        FormatError
            If what is there is no channel.
        StreamError
            If the channel has 64 consumers already, or the group a member of this name.
        MismatchError
            If the group shares and this member does not, or the other way round.
        """
        if self._core is None:
            self._core = when_there(self._join, self._wait)
        return self

    def next(self, timeout: float | None = None) -> Frame | None:
        """Take the next frame, and wait for it if need be.

        Parameters
        ----------
        timeout : float, optional
            For how long, s; by default as was said when the consumer was made.

        Returns
        -------
        Frame or None
            The frame; None if the simulation has finished, or was stopped. A member that shares, and has frames that it
            has not committed, is told so at once: there may be more when it has, as other members may die.

        Raises
        ------
        StreamError
            If the producer was lost, or says that the simulation has failed. It may be called again, for one that comes
            back.
        StreamTimeoutError
            If no frame came in time. It may be called again.
        MismatchError
            If all slots of the ring hold frames over which there are arrays.
        """
        self.open()
        core = self._opened()
        found = core.next(self._timeout if timeout is None else timeout)
        if found is None:
            return None
        frame = Frame.of(found)
        self._handed_out.add(frame)
        return frame

    def commit(self, state: bytes = b"", through: Frame | None = None) -> None:
        """Commit frames that were taken as a member of a group, and the state of a result that has them, in one.

        When this returns, both are there, on the level of the channel: its staging's, or that of the ring. A member
        that dies goes on behind its last commit, from the state that was committed with it: nothing is in that state
        twice, and nothing is missing. What was done besides, as a line in a file, is done again.

        Parameters
        ----------
        state : bytes
            What is needed to go on, at most 64 KiB.
        through : Frame, optional
            The last frame that the state has; by default the last that was taken.

        Raises
        ------
        MismatchError
            If the consumer is in no group, the state is too long, or the frame was not taken.
        OSError
            If it cannot be written; then the commit before holds.
        """
        which = None if through is None else (through.epoch, through.sequence, through.step)
        self._opened().commit(state, which)

    @property
    def committed(self) -> bytes | None:
        """The state that this member has committed last, now or before it died; None if it never has."""
        return self._opened().committed()

    def members(self) -> dict[str, bytes | None]:
        """Return what each member of the group has committed last: what a result that was shared is made of."""
        return dict(self._opened().members())

    def close(self) -> None:
        """Leave the channel. Frames that were handed out stay, as copies.

        Warns
        -----
        UserWarning
            If somebody has arrays of such frames besides, which cannot be replaced, while the simulation goes on: it
            waits for them when its ring is full.
        """
        n_held = self._leave()
        if n_held:
            warnings.warn(
                f"{self.path}: arrays over {n_held} frames are still in use after their consumer was closed: the "
                "simulation waits for them when its ring is full; copy what is to be kept",
                stacklevel=2,
            )

    @property
    def manifest(self) -> Manifest:
        """What holds for all frames."""
        self.open()
        return Manifest.of(self._opened().manifest)

    @property
    def missed(self) -> int:
        """Frames that were overwritten before they were taken, as the producer may, and that staging has not."""
        return self._opened().missed

    @property
    def end(self) -> str | None:
        """How the channel ended: ``finished``, ``stopped`` or ``failed``; None as long as that has not been met."""
        end = self._opened().end
        return None if end is None else end[0]

    def _join(self) -> ChannelConsumer:
        return ChannelConsumer(self.path, self._begin, self._restart, self._group)

    def _leave(self) -> int:
        """Leave the channel; return over how many frames there are arrays for which a simulation may have to wait."""
        core, self._core = self._core, None
        if core is None:
            return 0
        for frame in list(self._handed_out):
            frame.keep()
        self._handed_out.clear()
        n_held = core.n_held if core.end is None else 0
        core.close()
        return n_held

    def _opened(self) -> ChannelConsumer:
        if self._core is None:
            raise MismatchError(f"{self.path}: the consumer has not joined the channel: use `with`, or open()")
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._leave()  # whoever looks at the error still has the arrays

    def __repr__(self) -> str:
        return f"<Consumer of {self.path}>"


def begin_of(start: Start) -> tuple[str, float | None]:
    """Return where a consumer begins, as the core wants it.

    Raises
    ------
    MismatchError
        If it is neither a word nor a word with a number.
    """
    match start:
        case "earliest" | "latest":
            return start, None
        case ("sequence" | "step" as word, int(number)):
            return word, number
        case ("time", int(number) | float(number)):
            return "time", float(number)
    known = "'earliest', 'latest', ('sequence', n), ('step', n) or ('time', ps)"
    raise MismatchError(f"start must be one of {known}, not {start!r}")
