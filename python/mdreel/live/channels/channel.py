"""Channels as trajectories for analyses and consumers."""

import errno
import shutil
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from mdreel._core import Source, channel_source
from mdreel.analysis.base.observer import ResultsView
from mdreel.errors import MismatchError, StreamError
from mdreel.execution.memory import bytes_of
from mdreel.live.channels.consumer import Consumer, Start, begin_of
from mdreel.live.channels.directory import place_of, when_there
from mdreel.live.channels.status import Status
from mdreel.live.notices.notice_board import NoticeBoard

_MISSED = ("raise", "skip")
_MOST_TRIES = 100


def channel(
    channel: str | PathLike[str],
    *,
    start: Start = "earliest",
    timeout: float | None = None,
    wait: float = 0.0,
    restart: float = 0.0,
    on_missed: str = "raise",
    memory: str | int = "256M",
) -> "Channel":
    """Say which channel is meant, and how it is to be read. Nothing is opened yet.

    Parameters
    ----------
    channel : str or path
        The channel's name, of letters, digits, ``.``, ``_`` and ``-``; or its directory: a path, or a text with a
        slash. Names are found in ``/dev/shm/mdreel-<user number>``, or in the folder that ``MDREEL_CHANNELS`` names.
    start : {"earliest", "latest"} or (str, float)
        The first frame: the first that there still is, in staging or in the ring; the next to come; or the first of
        this number, step or time (ps) or a later one: ``("sequence", 7)``, ``("step", 1000)``, ``("time", 2.0)``.
    timeout : float, optional
        For how long a frame may be waited for, s; by default as long as the producer lives.
    wait : float
        For how long the channel may not be there, s.
    restart : float
        For how long a producer that was lost may be away, s. One that comes back goes on without a repeated step.
    on_missed : {"raise", "skip"}
        What an analysis does about frames that were overwritten before it took them, where the producer may do so: it
        fails, or goes on without them.
    memory : str or int
        About how much an analysis keeps of frames that have come and are still wanted, in bytes or as ``"256M"``; 96
        MiB and 32 frames in any case. Nothing more is taken from the ring while so much is kept.

    Returns
    -------
    Channel
        To be given to analyses, or to be asked for a consumer.

    Raises
    ------
    MismatchError
        If the name is none, or an argument makes no sense.

    Examples
    --------
    >>> import mdreel
    >>> mdreel.RMSD(ca).run(source=mdreel.live.channel("run1", wait=60))  # doctest: +SKIP
    """
    return Channel(
        channel, start=start, timeout=timeout, wait=wait, restart=restart, on_missed=on_missed, memory=memory
    )


class Channel:
    """A channel of this user, and how it is to be read; see `channel`.

    Attributes
    ----------
    path : Path
        Its directory, which need not be there.
    """

    def __init__(
        self,
        channel: str | PathLike[str],
        *,
        start: Start = "earliest",
        timeout: float | None = None,
        wait: float = 0.0,
        restart: float = 0.0,
        on_missed: str = "raise",
        memory: str | int = "256M",
    ) -> None:
        if on_missed not in _MISSED:
            raise MismatchError(f"on_missed must be one of {', '.join(_MISSED)}, not {on_missed!r}")
        self.path: Path = place_of(channel)
        self._start = start
        self._begin = begin_of(start)
        self._timeout = timeout
        self._wait = wait
        self._restart = restart
        self._bears_missed = on_missed == "skip"
        self._memory = bytes_of(memory)

    @property
    def name(self) -> str:
        """The channel's name."""
        return self.path.name

    def source(self) -> Source:
        """Join the channel, and return its frames as a trajectory that grows.

        Returns
        -------
        Source
            The trajectory, to be read by one run: what is taken from the ring now counts as its first frame, whatever
            number it has there.

        Raises
        ------
        FileNotFoundError
            If there is no such channel.
        PermissionError
            If the directory belongs to somebody else, or others may enter.
        FormatError
            If what is there is no channel.
        StreamError
            If the channel has 64 consumers already.

        Notes
        -----
        Frames that are read are the bits that were published, as float32. A run over them ends when the simulation
        does, and raises `StreamError` if that has failed or was lost, and `StreamTimeoutError` if a frame is late.
        Frames that have gone by cannot be read again, nor can other processes read them: executors are threads, or
        serial.
        """

        def join() -> Source:
            return channel_source(
                self.path, self._begin, self._timeout, self._restart, self._memory, self._bears_missed
            )

        return when_there(join, self._wait)

    def observer(self, source: Source, views: Sequence[ResultsView]) -> NoticeBoard:
        """Return the notice board on which a run over the channel publishes its progress and results."""
        return NoticeBoard(source, views)

    def consumer(self) -> Consumer:
        """Return a consumer of one's own, which takes frames one by one."""
        return Consumer(self.path, start=self._start, timeout=self._timeout, wait=self._wait, restart=self._restart)

    def status(self) -> Status:
        """Look at the channel, without taking part."""
        return Status.of(self.path)

    def remove(self) -> None:
        """Remove the channel and what is in its ring. Consumers that are there see what is left to its end.

        Raises
        ------
        FileNotFoundError
            If there is no such channel.
        StreamError
            If its producer lives.
        """
        if self.status().state == "running":
            raise StreamError(f"{self.path}: the channel has a living producer: it is not removed")
        for n_left in reversed(range(_MOST_TRIES)):
            try:
                shutil.rmtree(self.path)
            except OSError as error:
                # An analysis that was on the channel may have put its last notice there meanwhile.
                if not n_left or error.errno not in (errno.ENOTEMPTY, errno.ENOENT):
                    raise
            else:
                return

    def __repr__(self) -> str:
        return f"<Channel {self.path}>"
