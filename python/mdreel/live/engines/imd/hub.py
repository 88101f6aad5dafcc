"""Hubs, which send the frames of an engine or a channel to any number of IMD clients."""

import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import Self, get_args

from mdreel.errors import MdreelError, MismatchError, StreamError, StreamTimeoutError
from mdreel.execution.memory import parse_memory
from mdreel.live.channels.consumer import Start, parse_start
from mdreel.live.channels.directory import channel_path, wait_until_available
from mdreel.live.channels.rejections import RejectionReporter
from mdreel.live.channels.status import Status
from mdreel.live.choices import ForwardedCommand
from mdreel.live.engines.imd.access import HubAccess, read_token_file
from mdreel.live.engines.imd.address import Address
from mdreel.live.engines.imd.client import GO_SECONDS, Client, ClientOptions
from mdreel.live.engines.imd.feed import Engine, Feed
from mdreel.live.engines.imd.messages import VERSIONS
from mdreel.live.lobby import Lobby

_POLL_SECONDS = 0.1
_MOST_CLIENTS = 48
FORWARDED: tuple[ForwardedCommand, ...] = get_args(ForwardedCommand)
"""Client messages that a hub can forward to the engine."""


@dataclass(frozen=True)
class ClientStatus:
    """Statistics of a client.

    Attributes
    ----------
    address : str
        Address of the client.
    state : str
        Either ``served`` or ``paused``, or the reason why the connection ended.
    n_sent, n_lost : int
        Number of frames sent, and number of frames dropped because the client was too slow.
    """

    address: str
    state: str
    n_sent: int
    n_lost: int


class Hub:
    """Server that sends the frames of a channel or an engine to any number of IMD clients.

    An IMD engine only accepts a single client, and this client must not disconnect. If you connect a hub to the engine,
    the hub will be this client. Your own clients can then join late, be slow, pause, send invalid messages or crash
    without affecting the engine or each other.

    Parameters
    ----------
    channel : str or path
        The channel; see `mdreel.live.channel`. If you specify an engine, the channel is created by the hub. Otherwise,
        it must exist.
    listen : str
        Address at which the hub listens. You can set the port to 0 to choose a free port.
    engine : Engine or str, optional
        The engine, or its address.
    version : {3, 2}
        IMD version for the clients. In the IMD protocol, the version is chosen by the server.
    start : {"earliest", "latest"} or (str, float)
        First frame that is sent to a client. This can be the oldest frame that is still available in staging or in the
        ring, the next frame to be published, or a later position; see `Consumer`.
    wait : float
        Maximum time to wait for the channel if there is no engine, in s.
    restart : float
        Maximum time to wait for a lost producer to restart if there is no engine, in s.
    allow : sequence of str
        Hosts, or networks such as ``10.0.0.0/24``, from which all users are allowed to connect. By default, only this
        user can connect, and only from this machine.
    token_file : path, optional
        File that contains the token that clients have to send. Note that tokens are only supported by other hubs.
    all_interfaces : bool
        Whether the hub is allowed to listen on all interfaces.
    forwards : sequence of {"pause", "kill"}
        Client messages to forward to the engine. If you forward ``"pause"``, the engine will be paused as long as any
        client is paused.
    memory : str or int
        Maximum size of the frames that are buffered for each slow or paused client, in bytes or as a str such as
        ``"64M"``. If this is exceeded, the oldest frames are dropped.
    patience : float
        Maximum time to send the remaining frames after the channel has ended, in s.
    linger : float
        Time after the end of the channel during which clients can still connect, in s.
    report : callable, optional
        Function that is called with a line of text when an engine or a client connects or disconnects.

    Attributes
    ----------
    path : Path
        Directory of the channel.

    Raises
    ------
    MismatchError
        When an argument is invalid, or anyone could connect.
    FileNotFoundError, PermissionError
        When the token file does not exist, or can be read by other users.

    Examples
    --------
    >>> import mdreel
    >>> with mdreel.live.Hub("run1", "127.0.0.1:8889", "127.0.0.1:8888") as hub:  # doctest: +SKIP
    ...     hub.wait()
    """

    def __init__(
        self,
        channel: str | PathLike[str],
        listen: str = "127.0.0.1:8889",
        engine: Engine | str | None = None,
        *,
        version: int = 3,
        start: Start = "earliest",
        wait: float = 0.0,
        restart: float = 0.0,
        allow: Sequence[str] = (),
        token_file: str | PathLike[str] | None = None,
        all_interfaces: bool = False,
        forwards: Iterable[str] = (),
        memory: str | int = "64M",
        patience: float = 60.0,
        linger: float = 0.0,
        report: Callable[[str], object] | None = None,
    ) -> None:
        self.path: Path = channel_path(channel)
        self._listen = Address.parse(listen)
        if self._listen.is_everywhere and not all_interfaces:
            raise MismatchError(f"{listen}: this address means all interfaces; choose one, or allow them all")
        if version not in VERSIONS:
            raise MismatchError(f"expected version 2 or 3 of IMD, got {version!r}")
        self._forwards = frozenset(forwards)
        if unknown := self._forwards.difference(FORWARDED):
            raise MismatchError(f"forwards supports {' and '.join(FORWARDED)}, not {', '.join(sorted(unknown))}")
        if self._forwards and engine is None:
            raise MismatchError("forwards requires an engine; set engine=")
        parse_start(start)
        self._access = HubAccess(self._listen, allow, read_token_file(token_file))
        self._options = ClientOptions(version, start, restart, parse_memory(memory), patience)
        self._wait = wait
        self._restart = restart
        self._linger = linger
        self._rejects = RejectionReporter(report or (lambda line: None))
        self._report = self._rejects.report
        engine = Engine(engine) if isinstance(engine, str) else engine
        self._feed = None if engine is None else Feed(engine, self.path, self._report)
        self._socket: socket.socket | None = None
        self._accepting: threading.Thread | None = None
        self._stops = threading.Event()
        self._lock = threading.Lock()
        # Connections stay in the lobby until their handshake is complete.
        self._lobby: Lobby[Client] = Lobby(self._rejects.reject)
        self._clients: list[Client] = []
        self._error: BaseException | None = None
        self._pausing: set[Client] = set()
        self._gone: list[ClientStatus] = []

    def open(self) -> Self:
        """Start listening, and connect to the engine. Clients are served as soon as the channel exists.

        Raises
        ------
        OSError
            When the hub cannot listen at the address.
        FileNotFoundError
            When the channel does not exist and no engine is given.
        MdreelError
            When the engine does not answer or sends an invalid message.
        """
        if self._socket is not None:
            return self
        family = socket.AF_INET6 if ":" in self._listen.host else socket.AF_INET
        try:
            self._socket = socket.create_server(self._listen, family=family, backlog=_MOST_CLIENTS)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._listen)) from error
        try:
            if self._feed is None:
                wait_until_available(lambda: Status.read(self.path), self.path, self._wait)
            else:
                self._feed.connect()
                self._feed.start()
        except BaseException:
            if self._feed is not None:
                self._feed.stop()
            self._socket.close()
            self._socket = None
            raise
        self._accepting = threading.Thread(target=self._accept, name="mdreel-hub", daemon=True)
        self._accepting.start()
        return self

    @property
    def address(self) -> str:
        """Address at which the hub listens."""
        if self._socket is None:
            return str(self._listen)
        return str(Address(self._listen.host, self._socket.getsockname()[1]))

    @property
    def clients(self) -> list[ClientStatus]:
        """Statistics of each client, with former clients first."""
        with self._lock:
            return [*self._gone, *map(_client_status, [*self._clients, *self._lobby.all()])]

    @property
    def n_refused(self) -> int:
        """Number of refused connections."""
        return self._rejects.n

    def wait(self, timeout: float | None = None) -> str:
        """Wait until the channel has ended and clients have received the remaining frames.

        Parameters
        ----------
        timeout : float, optional
            Maximum time to wait, in s. By default, there is no limit.

        Returns
        -------
        str
            How the channel has ended: ``finished``, ``stopped``, ``failed`` or ``lost``.

        Raises
        ------
        StreamTimeoutError
            If the timeout has passed.
        StreamError
            If the thread that accepts clients has died.
        MdreelError, OSError
            If the frames from the engine could not be published.
        """
        until = None if timeout is None else monotonic() + timeout
        ended: float | None = None
        lost: float | None = None
        while True:
            self._check()
            state = self._state()
            now = monotonic()
            lost = (now if lost is None else lost) if state == "lost" else None
            if state != "running" and not (lost is not None and now - lost < self._restart):
                ended = now if ended is None else ended
                rest = now - ended - self._linger
                with self._lock:
                    is_awaited = bool(self._clients) or (len(self._lobby) > 0 and rest < GO_SECONDS)
                if rest >= 0 and not is_awaited:
                    break
            if until is not None and now >= until:
                raise StreamTimeoutError(f"the channel did not end within {timeout:g} s", path=self.path)
            self._stops.wait(_POLL_SECONDS)  # wake up regularly, so that signals are handled
        if self._feed is not None and self._feed.error is not None:
            raise self._feed.error
        return state

    def close(self) -> None:
        """Disconnect from the clients and the engine. If the engine's channel is still open, it ends as *stopped*."""
        self._stops.set()
        if self._feed is not None:
            self._feed.stop()
            if self._feed.ident is not None:
                self._feed.join()
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
        if self._accepting is not None:
            self._accepting.join()
        with self._lock:
            clients = [*self._clients, *self._lobby.all()]
        for client in clients:
            client.stop()
        for client in clients:
            client.join()
        self._rejects.report_total("connections")

    def admit(self, client: Client) -> str | None:
        """Admit a client after its handshake. Return the reason if the client is refused."""
        with self._lock:
            self._lobby.leave(client)
            if len(self._clients) >= _MOST_CLIENTS:
                return f"there are {_MOST_CLIENTS} clients already"
            self._clients.append(client)
        return None

    def leave(self, client: Client) -> None:
        """Remove a client that has disconnected, but keep its statistics."""
        with self._lock:
            self._lobby.leave(client)
            if client in self._clients:
                self._clients.remove(client)
            self._gone.append(_client_status(client))
            del self._gone[:-_MOST_CLIENTS]

    def pause(self, client: Client, is_wanted: bool) -> None:
        """Record that a client has paused or resumed. Forward the message to the engine if enabled."""
        if "pause" not in self._forwards or self._feed is None:
            return
        with self._lock:
            (self._pausing.add if is_wanted else self._pausing.discard)(client)
            self._ask(self._feed.link.pause, bool(self._pausing))

    def kill(self, client: Client) -> None:
        """Record that a client has asked to end the simulation. Forward the message to the engine if enabled."""
        if "kill" in self._forwards and self._feed is not None:
            self._report(f"{client.name}: asks for the end of the simulation")
            self._ask(self._feed.link.kill)

    def _ask(self, request: Callable[..., None], *arguments: bool) -> None:
        with suppress(MdreelError):  # the feed reports a lost engine
            request(*arguments)

    def _state(self) -> str:
        """Return the state of the channel."""
        if self._feed is not None:
            return "running" if self._feed.is_alive() else self._feed.end or "failed"
        try:
            return Status.read(self.path).state
        except FileNotFoundError:
            return "lost"  # it was removed

    def _check(self) -> None:
        if self._error is not None:
            message = f"the hub has died and accepts no clients: {type(self._error).__name__}: {self._error}"
            raise StreamError(f"{self.address}: {message}; restart it") from self._error

    def _accept(self) -> None:
        """Accept connections until the hub is closed."""
        try:
            if self._feed is not None:
                self._feed.is_open.wait()
            while not self._stops.is_set():
                self._accept_next()
        except BaseException as error:  # noqa: BLE001 - `wait` raises it, so that a dead hub does not look alive
            self._error = error

    def _accept_next(self) -> None:
        """Accept the next connection. Errors affect only this connection."""
        assert self._socket is not None, "it was opened"
        try:
            connection, peer = self._socket.accept()
        except OSError as error:
            if not self._stops.is_set():
                self._rejects.reject(f"{self.address}: {error.strerror}")  # for example, too many open files
                self._stops.wait(_POLL_SECONDS)
            return
        client: Client | None = None
        try:
            client = Client(connection, self.path, self._options, self._access, self, self._rejects)
            with self._lock:
                self._lobby.enter(client)
            client.start()
        except Exception as error:  # noqa: BLE001 - other connections may still succeed
            if client is not None:
                with self._lock:
                    self._lobby.leave(client)
            self._rejects.reject(f"{Address(peer[0], peer[1])}: refused: {error}")
            connection.close()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Hub of {self.path} at {self.address}>"


def _client_status(client: Client) -> ClientStatus:
    state = client.why or ("paused" if client.is_paused else "served")
    return ClientStatus(client.name, state, client.n_sent, client.n_lost)
