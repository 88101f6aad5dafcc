"""Relays, which receive the frames of a channel on another node, and publish them on a channel of this node."""

import threading
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Self

from mdreel.errors import MismatchError, StreamTimeoutError
from mdreel.execution.memory import parse_memory
from mdreel.live.channels.consumer import Start, parse_start
from mdreel.live.channels.directory import channel_path
from mdreel.live.channels.rejections import RejectionReporter
from mdreel.live.channels.staging import Staging
from mdreel.live.nodes.endpoint import check_endpoint
from mdreel.live.nodes.link import connect_to
from mdreel.live.nodes.local_channel import LocalChannel
from mdreel.live.nodes.relay_client import RelayClient, RelayStatistics
from mdreel.live.nodes.security import Security
from mdreel.live.producers.groups import Group, parse_groups

_POLL_SECONDS = 0.2


class Relay:
    """Relay that receives the frames of a channel on another node, and publishes them on a channel of this node.

    This allows you to use any number of consumers on this node, although the server only sends each frame over the
    network once. The frames are verified by the relay. The consumers receive frames that are bitwise identical to the
    original frames, and have the same sequence number, epoch, step and time. The channel ends in the same way as the
    remote channel.

    Parameters
    ----------
    endpoint : str
        Address of a `Server`, such as ``tcp/10.0.0.1:7447``.
    channel : str
        Name of the channel on the other node.
    name : str or path, optional
        Name or directory of the channel on this node. By default, the name on the other node is used.
    security : Security, optional
        Token or certificates. These are not needed for a server of the same user at a loopback address, because its
        token is found automatically.
    start : {"earliest", "latest"} or (str, float)
        First frame, if the channel on this node is empty; see `Consumer`.
    wait : float
        Maximum time to wait for the server and its channel when the relay is started, in s.
    patience : float
        Time in s after which consumers are told that the producer was lost, if the server has not sent any message. The
        relay itself will continue to wait for the server.
    n_slots : int, optional
        Number of slots of the local ring. By default, this is between 4 and 64, such that the ring has a size of about
        16 MiB.
    staging : Staging, optional
        Staging on this node, for late consumers.
    memory : str or int
        Maximum size of the local ring, in bytes or as a str such as ``"1G"``.
    n_consumers : int
        Number of local consumers to wait for before the relay requests the first frame. Until then, a remote producer
        that waits for consumers will not publish.
    groups : sequence of str or Group
        Consumer groups of this node that exist before the first frame. If you use staging, their members will receive
        all frames, whenever they join. Otherwise, they miss the frames that leave the ring before they join.
    report : callable, optional
        Function that is called with a line of text when the server connects, disconnects or sends an invalid message.

    Attributes
    ----------
    path : Path
        Directory of the channel on this node.

    Raises
    ------
    MismatchError
        If an argument is invalid.

    Examples
    --------
    Receive the channel ``run1`` from another node, and analyse it on this node:

    >>> import mdreel
    >>> security = mdreel.live.Security(token_file="token")  # doctest: +SKIP
    >>> with mdreel.live.Relay("tcp/10.0.0.1:7447", "run1", security=security):  # doctest: +SKIP
    ...     rmsd = mdreel.RMSD(alpha).run(source=mdreel.live.channel("run1"))
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
        n_consumers: int = 0,
        groups: Sequence[str | Group] = (),
        report: Callable[[str], object] | None = None,
    ) -> None:
        check_endpoint(endpoint)
        channel_path(channel)
        if "/" in channel:
            raise MismatchError(f"a channel of another node must be given by its name, not by the path {channel!r}")
        self.endpoint = endpoint
        self.channel = channel
        self.path: Path = channel_path(channel if name is None else name)
        self._security = security or Security()
        self._security.check(endpoint)
        self._wait = wait
        if n_slots is not None and n_slots < 2:
            raise MismatchError(f"expected 2 slots or more, got {n_slots}", path=self.path)
        self._local = LocalChannel(self.path, n_slots, staging, parse_memory(memory), parse_groups(groups))
        rejects = RejectionReporter(report or (lambda line: None))
        self._stops = threading.Event()
        self._ready = threading.Event()
        self._client = RelayClient(
            channel, self._local, parse_start(start), patience, rejects, self._stops, self._ready, n_consumers
        )
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def run(self) -> str | None:
        """Relay frames until the channel ends or `stop` is called.

        Returns
        -------
        str or None
            How the channel has ended: ``finished``, ``stopped`` or ``failed``. If the relay was stopped, this is None,
            and local consumers are told that the producer was lost.

        Raises
        ------
        StreamTimeoutError
            When the server does not answer when the relay is started, or refuses the connection.
        FileNotFoundError
            When the server does not have this channel.
        StreamError
            When the local channel already has a relay or a producer, or the server cannot read its channel.
        MismatchError
            When the local channel contains frames from another channel, or would be too large.
        FormatError
            When a frame is still invalid after several retries.
        """
        try:
            with connect_to(self.endpoint, self._security, self._wait) as opened:
                self._client.join_channel(opened, self._wait)
                return self._client.run()
        finally:
            self._local.leave()

    def start(self) -> Self:
        """Relay frames in a background thread. Return when consumers can join and the remote producer waits for them.

        If the relay waits for consumers (see `n_consumers`), the method returns as soon as they can join.

        Raises
        ------
        MdreelError, OSError
            If `run` fails before this method returns.
        """
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run_in_thread, name=f"mdreel-relay-{self.channel}", daemon=True
            )
            self._thread.start()
        while not self._ready.wait(_POLL_SECONDS):  # wake up regularly, so that signals are handled
            pass
        if self._error is not None:
            raise self._error
        return self

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the background thread has ended.

        Parameters
        ----------
        timeout : float, optional
            Maximum time to wait, in s. By default, there is no limit.

        Raises
        ------
        StreamTimeoutError
            If the thread did not end in time.
        MdreelError, OSError
            If `run` has failed.
        """
        if self._thread is not None:
            self._thread.join(timeout)
            if self._thread.is_alive():
                raise StreamTimeoutError(f"the channel did not end within {timeout} s", path=self.path)
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Make `run` return. You can call this method from another thread or a signal handler."""
        self._stops.set()

    def close(self) -> None:
        """Stop the background thread, and wait until it has ended."""
        self.stop()
        if self._thread is not None:
            self._thread.join()

    @property
    def statistics(self) -> RelayStatistics:
        """Statistics so far."""
        return self._client.statistics

    def _run_in_thread(self) -> None:
        try:
            self.run()
        except BaseException as error:  # noqa: BLE001 - `start` and `wait` raise it
            self._error = error
        finally:
            self._ready.set()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Relay of {self.endpoint}/{self.channel} on {self.path}>"
