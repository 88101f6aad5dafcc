"""Relays, which publish a channel of another node on this node."""

import threading
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Self

from mdreel.errors import MismatchError, StreamTimeoutError
from mdreel.execution.memory import bytes_of
from mdreel.live.channels.consumer import Start, begin_of
from mdreel.live.channels.directory import place_of
from mdreel.live.channels.rejections import Rejects
from mdreel.live.channels.staging import Staging
from mdreel.live.nodes.endpoint import check_endpoint
from mdreel.live.nodes.link import connected
from mdreel.live.nodes.local_channel import LocalChannel
from mdreel.live.nodes.relay_session import Passing, Relayed
from mdreel.live.nodes.security import Security

_LOOK_SECONDS = 0.2


class Relay:
    """Publishes the frames of another node's channel on one of this node, where consumers find them as of any other.

    Each frame comes over the network once, however many consumers there are. It has the number, epoch, step and time
    that it has there, and the same bits, which is checked. The channel ends as that of the other node does.

    Parameters
    ----------
    endpoint : str
        Where a `Server` listens, as ``tcp/10.0.0.1:7447``.
    channel : str
        The channel's name there.
    name : str or path, optional
        The name, or the directory, of the channel here; by default the same name.
    security : Security, optional
        By what the server knows us, and we the server. A server of the same user at a loopback address needs nothing:
        its token is found.
    start : {"earliest", "latest"} or (str, float)
        The first frame, as of `Consumer`, for a channel that has none here.
    wait : float
        For how long the server, or its channel, may not be there at first, s.
    patience : float
        For how long the server may not be heard of later, s: then consumers are told that the producer was lost. It is
        waited for all the same.
    n_slots : int, optional
        How many frames the ring here holds; by default so many that it takes about 16 MiB, 4 to 64.
    staging : Staging, optional
        Where frames are kept on this node, for consumers that come late.
    memory : str or int
        The most that the ring here may take, bytes, or as ``"1G"``.
    report : callable, optional
        Called with a line of text when the server comes or goes, or says what is not understood.

    Attributes
    ----------
    path : Path
        The directory of the channel here.

    Raises
    ------
    MismatchError
        If an argument makes no sense.
    """

    def __init__(
        self,
        endpoint: str,
        channel: str,
        name: str | PathLike[str] | None = None,
        security: Security | None = None,
        *,
        start: Start = "earliest",
        wait: float = 0.0,
        patience: float = 60.0,
        n_slots: int | None = None,
        staging: Staging | None = None,
        memory: str | int = "1G",
        report: Callable[[str], object] | None = None,
    ) -> None:
        check_endpoint(endpoint)
        place_of(channel)
        if "/" in channel:
            raise MismatchError(f"a channel of another node is named by its name alone, not {channel!r}")
        self.endpoint = endpoint
        self.channel = channel
        self.path: Path = place_of(channel if name is None else name)
        self._security = security or Security()
        self._security.check(endpoint)
        self._wait = wait
        if n_slots is not None and n_slots < 2:
            raise MismatchError(f"{self.path}: expected 2 slots or more, got {n_slots}")
        self._local = LocalChannel(self.path, n_slots, staging, bytes_of(memory))
        rejects = Rejects(report or (lambda line: None))
        self._stops = threading.Event()
        self._ready = threading.Event()
        self._passing = Passing(channel, self._local, begin_of(start), patience, rejects, self._stops, self._ready)
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def run(self) -> str | None:
        """Relay until the channel ends, or `stop` is called.

        Returns
        -------
        str or None
            How the channel has ended: ``finished``, ``stopped`` or ``failed``; None if it was this relay that stopped,
            and consumers here were told that the producer was lost.

        Raises
        ------
        StreamTimeoutError
            If the server does not answer at first, or refuses us.
        FileNotFoundError
            If it has no such channel.
        StreamError
            If the channel here has a relay or a producer already; or the server cannot read its channel.
        MismatchError
            If the channel here has frames of another one, or takes more memory than it may.
        FormatError
            If a frame is asked for again and again, and is not what it should be.
        """
        try:
            with connected(self.endpoint, self._security, self._wait) as opened:
                self._passing.meet(opened, self._wait)
                return self._passing.run()
        finally:
            self._local.leave()

    def start(self) -> Self:
        """Relay in the background; returns when consumers can join here, and the producer there waits for them.

        Raises
        ------
        MdreelError, OSError
            As `run`, as far as it gets.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=self._run_aside, name=f"mdreel-relay-{self.channel}", daemon=True)
            self._thread.start()
        while not self._ready.wait(_LOOK_SECONDS):  # a signal may meet another thread: this one is to look for it
            pass
        if self._error is not None:
            raise self._error
        return self

    def wait(self, timeout: float | None = None) -> None:
        """Wait for the end of what was begun with `start`.

        Raises
        ------
        StreamTimeoutError
            If it did not come in time, s.
        MdreelError, OSError
            As `run`.
        """
        if self._thread is not None:
            self._thread.join(timeout)
            if self._thread.is_alive():
                raise StreamTimeoutError(f"{self.path}: no end came within {timeout} s")
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Have `run` return, from another thread or a signal handler."""
        self._stops.set()

    def close(self) -> None:
        """Stop what was begun with `start`, and wait for it."""
        self.stop()
        if self._thread is not None:
            self._thread.join()

    @property
    def relayed(self) -> Relayed:
        """What it has done so far."""
        return self._passing.relayed

    def _run_aside(self) -> None:
        try:
            self.run()
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            self._error = error
        finally:
            self._ready.set()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Relay of {self.endpoint}/{self.channel} on {self.path}>"


def relay(
    endpoint: str,
    channel: str,
    name: str | PathLike[str] | None = None,
    security: Security | None = None,
    *,
    start: Start = "earliest",
    wait: float = 0.0,
    patience: float = 60.0,
    n_slots: int | None = None,
    staging: Staging | None = None,
    memory: str | int = "1G",
    report: Callable[[str], object] | None = None,
) -> Relay:
    """Relay a channel of another node in the background; see `Relay`, whose `Relay.close` ends it."""
    return Relay(
        endpoint,
        channel,
        name,
        security,
        start=start,
        wait=wait,
        patience=patience,
        n_slots=n_slots,
        staging=staging,
        memory=memory,
        report=report,
    ).start()
