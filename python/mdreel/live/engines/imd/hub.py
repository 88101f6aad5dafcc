"""Hubs, which serve many IMD clients from one engine or channel."""

import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Self, get_args

from mdreel.errors import MdreelError, MismatchError, StreamError, StreamTimeoutError
from mdreel.execution.memory import bytes_of
from mdreel.live.channels.consumer import Start, begin_of
from mdreel.live.channels.directory import place_of, when_there
from mdreel.live.channels.rejections import Rejects
from mdreel.live.channels.status import Status
from mdreel.live.choices import ForwardedCommand
from mdreel.live.engines.imd.access import Access, token_of
from mdreel.live.engines.imd.address import Address
from mdreel.live.engines.imd.client import GO_SECONDS, Client, Serving
from mdreel.live.engines.imd.feed import Engine, Feed
from mdreel.live.engines.imd.lobby import Lobby
from mdreel.live.engines.imd.messages import VERSIONS

_LOOK_SECONDS = 0.1
_MOST_CLIENTS = 48
PASSED_ON: tuple[ForwardedCommand, ...] = get_args(ForwardedCommand)
"""What may be passed on to the engine."""


@dataclass(frozen=True)
class ClientStatus:
    """What a hub has done for a client.

    Attributes
    ----------
    address : str
        Where it has connected from.
    state : str
        ``served`` or ``paused``; or why it was left.
    n_sent, n_lost : int
        Frames that were sent; frames that were dropped, as it was too slow.
    """

    address: str
    state: str
    n_sent: int
    n_lost: int


class Hub:
    """Serves the frames of a channel to any number of clients that speak IMD, and fills it from an engine that does.

    Such an engine has one client at most, which must not die. The hub is that client, and its own clients may come
    late, be slow, pause, talk nonsense or be killed: neither the engine nor other clients notice.

    Parameters
    ----------
    channel : str or path
        The channel; see `mdreel.live.channel`. With an engine it is made; without, it is one that is there.
    listen : str
        Where clients come; a port of 0 takes a free one.
    engine : Engine or str, optional
        The engine, or its address.
    version : {3, 2}
        Of IMD, for clients: who serves says it, and clients cannot choose.
    start : {"earliest", "latest"} or (str, float)
        The first frame that a client gets: the first that there still is, in staging or in the ring; the next to come;
        or as of `Consumer`.
    wait : float
        For how long a channel without engine may not be there, s.
    restart : float
        For how long the producer of such a channel may be away when it was lost, s.
    allow : sequence of str
        Hosts, or networks as ``10.0.0.0/24``, whose users may all connect; by default it is this user on this machine.
    token_file : path, optional
        A token that clients must show, which only other hubs can.
    all_interfaces : bool
        Whether the address may be that of all interfaces.
    passes_on : sequence of {"pause", "kill"}
        What a client asks for that is passed on to the engine: it pauses as long as any client does.
    memory : str or int
        How much waits for each client that is slow or pauses, in bytes or as ``"64M"``, before it loses the oldest
        frames.
    patience : float
        How long clients may take for what is left when the channel has ended, s.
    linger : float
        For how long clients may still come then, s.
    report : callable, optional
        Called with lines of text, when an engine or a client comes or goes.

    Attributes
    ----------
    path : Path
        The channel's directory.

    Raises
    ------
    MismatchError
        If an argument makes no sense, or nothing keeps strangers out.
    FileNotFoundError, PermissionError
        If a token's file is not there, or others may read it.

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
        passes_on: Iterable[str] = (),
        memory: str | int = "64M",
        patience: float = 60.0,
        linger: float = 0.0,
        report: Callable[[str], object] | None = None,
    ) -> None:
        self.path: Path = place_of(channel)
        self._listen = Address.of(listen)
        if self._listen.is_everywhere and not all_interfaces:
            raise MismatchError(f"{listen}: this listens at all interfaces: name one, or ask for all of them")
        if version not in VERSIONS:
            raise MismatchError(f"expected version 2 or 3 of IMD, got {version!r}")
        self._passes_on = frozenset(passes_on)
        if unknown := self._passes_on.difference(PASSED_ON):
            raise MismatchError(f"passes_on is about {' and '.join(PASSED_ON)}, not {', '.join(sorted(unknown))}")
        if self._passes_on and engine is None:
            raise MismatchError("passes_on needs an engine: that of a channel is not connected with this hub")
        begin_of(start)
        self._access = Access(self._listen, allow, token_of(token_file))
        self._serving = Serving(version, start, restart, bytes_of(memory), patience)
        self._wait = wait
        self._restart = restart
        self._linger = linger
        self._rejects = Rejects(report or (lambda line: None))
        self._report = self._rejects.say
        engine = Engine(engine) if isinstance(engine, str) else engine
        self._feed = None if engine is None else Feed(engine, self.path, self._report)
        self._socket: socket.socket | None = None
        self._accepting: threading.Thread | None = None
        self._stops = threading.Event()
        self._lock = threading.Lock()
        # Who has connected is in the lobby until it has shown that it is a client, and may be.
        self._lobby: Lobby[Client] = Lobby(self._rejects.note)
        self._clients: list[Client] = []
        self._error: BaseException | None = None
        self._pausing: set[Client] = set()
        self._gone: list[ClientStatus] = []

    def open(self) -> Self:
        """Listen, and connect to the engine. Clients are served as soon as there is a channel.

        Raises
        ------
        OSError
            If the address cannot be listened at.
        FileNotFoundError
            If there is no such channel, and no engine.
        MdreelError
            If the engine does not answer, or not as it should.
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
                when_there(lambda: Status.of(self.path), self._wait)
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
        """Where clients come."""
        if self._socket is None:
            return str(self._listen)
        return str(Address(self._listen.host, self._socket.getsockname()[1]))

    @property
    def clients(self) -> list[ClientStatus]:
        """What was done for each client, those first that are gone."""
        with self._lock:
            return [*self._gone, *map(_status_of, [*self._clients, *self._lobby.all()])]

    @property
    def n_refused(self) -> int:
        """Connections that were not let in."""
        return self._rejects.n

    def wait(self, timeout: float | None = None) -> str:
        """Wait until the channel has ended, and clients have what is left of it.

        Parameters
        ----------
        timeout : float, optional
            For how long, s; by default as long as it takes.

        Returns
        -------
        str
            How it has ended: ``finished``, ``stopped``, ``failed`` or ``lost``.

        Raises
        ------
        StreamTimeoutError
            If that takes longer.
        StreamError
            If clients are let in no more, because the thread that does so has died.
        MdreelError, OSError
            If the frames of the engine could not be published.
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
                raise StreamTimeoutError(f"{self.path}: no end came within {timeout:g} s")
            self._stops.wait(_LOOK_SECONDS)  # a signal may meet another thread: this one is to look for it
        if self._feed is not None and self._feed.error is not None:
            raise self._feed.error
        return state

    def close(self) -> None:
        """Leave clients and the engine. The channel ends as *stopped*, if it was the engine's and has not ended."""
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
        self._rejects.say_number("connections")

    def admit(self, client: Client) -> str | None:
        """Take somebody who has connected among the clients; return why that cannot be."""
        with self._lock:
            self._lobby.leave(client)
            if len(self._clients) >= _MOST_CLIENTS:
                return f"there are {_MOST_CLIENTS} clients already"
            self._clients.append(client)
        return None

    def leave(self, client: Client) -> None:
        """Put down what was done for a client that has gone."""
        with self._lock:
            self._lobby.leave(client)
            if client in self._clients:
                self._clients.remove(client)
            self._gone.append(_status_of(client))
            del self._gone[:-_MOST_CLIENTS]

    def pause(self, client: Client, is_wanted: bool) -> None:
        """Note that a client pauses or goes on; as a whole they have the engine pause, if that is passed on."""
        if "pause" not in self._passes_on or self._feed is None:
            return
        with self._lock:
            (self._pausing.add if is_wanted else self._pausing.discard)(client)
            self._ask(self._feed.link.pause, bool(self._pausing))

    def kill(self, client: Client) -> None:
        """Note that a client wants the simulation to end; the engine is asked for it, if that is passed on."""
        if "kill" in self._passes_on and self._feed is not None:
            self._report(f"{client.name}: asks for the end of the simulation")
            self._ask(self._feed.link.kill)

    def _ask(self, request: Callable[..., None], *arguments: bool) -> None:
        with suppress(MdreelError):  # an engine that is gone says so elsewhere
            request(*arguments)

    def _state(self) -> str:
        """How the channel is."""
        if self._feed is not None:
            return "running" if self._feed.is_alive() else self._feed.end or "failed"
        try:
            return Status.of(self.path).state
        except FileNotFoundError:
            return "lost"  # it was removed

    def _check(self) -> None:
        if self._error is not None:
            message = f"the hub has died, and lets nobody in: {type(self._error).__name__}: {self._error}"
            raise StreamError(f"{self.address}: {message}: start it again") from self._error

    def _accept(self) -> None:
        """Let clients in, until the hub is closed."""
        try:
            if self._feed is not None:
                self._feed.is_open.wait()
            while not self._stops.is_set():
                self._accept_next()
        except BaseException as error:  # noqa: BLE001 - raised by `wait`: a process whose hub is dead must not look alive
            self._error = error

    def _accept_next(self) -> None:
        """Let the next connection into the lobby, whatever becomes of that."""
        assert self._socket is not None, "it was opened"
        try:
            connection, peer = self._socket.accept()
        except OSError as error:
            if not self._stops.is_set():
                self._rejects.note(f"{self.address}: {error.strerror}")  # as for want of descriptors
                self._stops.wait(_LOOK_SECONDS)
            return
        client: Client | None = None
        try:
            client = Client(connection, self.path, self._serving, self._access, self, self._rejects)
            with self._lock:
                self._lobby.enter(client)
            client.start()
        except Exception as error:  # noqa: BLE001 - as for want of threads, or of a channel: others may come yet
            if client is not None:
                with self._lock:
                    self._lobby.leave(client)
            self._rejects.note(f"{Address(peer[0], peer[1])}: refused: {error}")
            connection.close()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Hub of {self.path} at {self.address}>"


def _status_of(client: Client) -> ClientStatus:
    state = client.why or ("paused" if client.is_paused else "served")
    return ClientStatus(client.name, state, client.n_sent, client.n_lost)
