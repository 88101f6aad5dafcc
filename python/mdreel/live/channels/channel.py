"""References to channels, which analyses and consumers use to read frames."""

import errno
import shutil
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from mdreel._core import Source, channel_source
from mdreel.analysis.base.observer import ResultsView
from mdreel.errors import MismatchError, StreamError
from mdreel.execution.memory import parse_memory
from mdreel.live.channels.consumer import Consumer, Start, parse_start
from mdreel.live.channels.directory import channel_path
from mdreel.live.channels.runs import join_run
from mdreel.live.channels.status import Status
from mdreel.live.notices.notice_board import NoticeBoard

_MISSED = ("raise", "skip")
_LATE = ("warn", "raise")
_MOST_TRIES = 100


def channel(
    channel: str | PathLike[str],
    *,
    start: Start = "earliest",
    timeout: float | None = None,
    wait: float = 0.0,
    new_run: bool = False,
    restart: float = 0.0,
    on_missed: str = "raise",
    on_late: str = "warn",
    memory: str | int = "256M",
) -> "Channel":
    """Return a reference to a channel without opening it.

    Parameters
    ----------
    channel : str or path
        Name of the channel (letters, digits, ``.``, ``_`` and ``-``), or its directory as a path object or a string
        that contains a slash. You will find named channels in ``/dev/shm/mdreel-<user ID>``, or in the folder that you
        set using ``MDREEL_CHANNELS``.
    start : {"earliest", "latest"} or (str, float)
        First frame to read. ``"earliest"`` is the oldest frame that is still available in staging or in the ring, and
        ``"latest"`` the next frame to be published. You can also pass a pair to select the first frame at or after a
        sequence number, a step or a time in ps, such as ``("sequence", 7)``, ``("step", 1000)`` or ``("time", 2.0)``.
    timeout : float, optional
        Maximum time to wait for a frame, in s. By default, there is no limit as long as the producer is alive.
    wait : float
        Maximum time to wait until the channel is created, in s. If `new_run` is true, this is also the maximum time to
        wait for the next run.
    new_run : bool
        Whether to wait for the next run if the current run has ended or its producer was lost. If you set `wait` to 0,
        there will then be no time limit. By default, you will see an `EndedRunWarning`, and the remaining frames of the
        old run are read.
    restart : float
        Maximum time to wait for a lost producer to restart, in s. After the restart, reading will continue without
        repeating any steps.
    on_missed : {"raise", "skip"}
        Whether an analysis fails (``"raise"``) or continues (``"skip"``) if the producer has overwritten frames that
        the analysis has not read yet.
    on_late : {"warn", "raise"}
        Whether an analysis should issue a `MissedFramesWarning` or fail if frames of the run had been removed from the
        channel before it joined. If you need a complete result, you should use ``"raise"``.
    memory : str or int
        Approximate memory limit for frames that an analysis has taken from the ring and still needs, in bytes or as a
        str such as ``"256M"``. This is always at least 96 MiB and 32 frames. An analysis that has reached the limit
        does not take any more frames from the ring.

    Returns
    -------
    Channel
        Reference that can be passed to an analysis as its trajectory, or used to create a consumer.

    Raises
    ------
    MismatchError
        If the name or another argument is invalid.

    Examples
    --------
    >>> import mdreel
    >>> mdreel.RMSD(ca).run(source=mdreel.live.channel("run1", wait=60))  # doctest: +SKIP
    """
    return Channel(
        channel,
        start=start,
        timeout=timeout,
        wait=wait,
        new_run=new_run,
        restart=restart,
        on_missed=on_missed,
        on_late=on_late,
        memory=memory,
    )


class Channel:
    """Reference to one of this user's channels, with options for reading it; see `channel`.

    Parameters
    ----------
    channel, start, timeout, wait, new_run, restart, on_missed, on_late, memory
        To create these objects, use `mdreel.live.channel`.

    Attributes
    ----------
    path : Path
        Directory of the channel. It does not have to exist yet.

    Examples
    --------
    >>> import numpy as np
    >>> import mdreel
    >>> with mdreel.live.Producer("run1", n_atoms=3) as producer:
    ...     frame = producer.publish(np.zeros((3, 3), np.float32), step=0, time=0.0)
    >>> channel = mdreel.live.channel("run1")
    >>> channel.status().state
    'finished'
    >>> channel.remove()
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
        on_missed: str = "raise",
        on_late: str = "warn",
        memory: str | int = "256M",
    ) -> None:
        if on_missed not in _MISSED:
            raise MismatchError(f"on_missed must be one of {', '.join(_MISSED)}, not {on_missed!r}")
        if on_late not in _LATE:
            raise MismatchError(f"on_late must be one of {', '.join(_LATE)}, not {on_late!r}")
        self._bears_late = on_late == "warn"
        self.path: Path = channel_path(channel)
        self._start = start
        self._begin = parse_start(start)
        self._timeout = timeout
        self._wait = wait
        self._new_run = new_run
        self._restart = restart
        self._bears_missed = on_missed == "skip"
        self._memory = parse_memory(memory)

    @property
    def name(self) -> str:
        """Name of the channel."""
        return self.path.name

    def source(self) -> Source:
        """Join the channel and return its frames as a growing trajectory.

        Returns
        -------
        Source
            The trajectory, which can be used for a single run. Frame 0 is the first frame that is taken from the ring,
            regardless of its sequence number.

        Raises
        ------
        FileNotFoundError, PermissionError, FormatError
            See `Status.read`.
        StreamError
            If the channel already has 1,024 consumers.
        StreamTimeoutError
            If no new run started in time.

        Warns
        -----
        EndedRunWarning
            When the run had ended before the call, unless you have chosen to wait for a new run.

        Notes
        -----
        You will receive frames in float32, which are bitwise identical to the published frames. A run over the channel
        ends when the simulation ends. The run raises a `StreamError` if the simulation failed or was lost, and a
        `StreamTimeoutError` if a frame does not arrive in time. As frames cannot be read twice or by other processes,
        you can only use the serial executor or the threads executor.
        """

        def join() -> Source:
            return channel_source(
                self.path, self._begin, self._timeout, self._restart, self._memory, self._bears_missed, self._bears_late
            )

        return join_run(join, self.path, self._wait, new_run=self._new_run)

    def observer(self, source: Source, views: Sequence[ResultsView]) -> NoticeBoard:
        """Return the notice board that a run over the channel uses to publish its progress and results."""
        return NoticeBoard(source, views)

    def consumer(self) -> Consumer:
        """Return a consumer that receives the frames one by one."""
        late = "warn" if self._bears_late else "raise"
        return Consumer(
            self.path,
            start=self._start,
            timeout=self._timeout,
            wait=self._wait,
            new_run=self._new_run,
            restart=self._restart,
            on_late=late,
        )

    def status(self) -> Status:
        """Return the status of the channel without joining it."""
        return Status.read(self.path)

    def remove(self) -> None:
        """Remove the channel and its ring. Consumers that have joined can still read the remaining frames.

        Raises
        ------
        FileNotFoundError
            If the channel does not exist.
        StreamError
            If the channel has a running producer.
        """
        status = self.status()
        if status.state == "running":
            name = f", {status.producer}" if status.producer is not None else ""
            raise StreamError(f"the channel has a running producer{name}; end the simulation first", path=self.path)
        for n_left in reversed(range(_MOST_TRIES)):
            try:
                shutil.rmtree(self.path)
            except OSError as error:
                # An analysis may have written its last notice meanwhile.
                if not n_left or error.errno not in (errno.ENOTEMPTY, errno.ENOENT):
                    raise
            else:
                return

    def __repr__(self) -> str:
        return f"<Channel {self.path}>"
