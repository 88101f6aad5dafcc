"""Servers, which send channels of this node to relays on other nodes."""

import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Self

from mdreel._core import channel_status
from mdreel.errors import FormatError, MdreelError, MismatchError, StreamError
from mdreel.live.channels.directory import channel_path
from mdreel.live.channels.manifest import Manifest
from mdreel.live.channels.rejections import RejectionReporter
from mdreel.live.nodes.endpoint import check_endpoint, is_local
from mdreel.live.nodes.link import ignoring_transport_errors, listen_at
from mdreel.live.nodes.local_token import forget_token, make_token
from mdreel.live.nodes.messages import (
    ABSENT,
    KEY,
    MOST_RELAY_BYTES,
    REFUSED,
    ChannelDescription,
    Credit,
    Join,
    Leave,
    decode,
)
from mdreel.live.nodes.own_process import describe_own_process
from mdreel.live.nodes.security import Security
from mdreel.live.nodes.sender import Sender

if TYPE_CHECKING:
    import zenoh

_POLL_SECONDS = 0.2
_MOST_RELAYS = 64
_MOST_WAITING = 1024
"""Maximum number of queued messages from relays. Further messages are rejected, and relays send them again."""


@dataclass(frozen=True)
class RelayStatus:
    """Statistics of a relay.

    Attributes
    ----------
    channel, host : str
        Name of the channel, and host name that the relay reports.
    state : {"running", "away", "lost", "finished", "stopped", "failed"}
        State of the channel that was sent to the relay, or ``away`` if the relay has not sent any message for a few
        seconds.
    n_frames, n_again : int
        Number of frames sent, and number of frames that were sent again.
    n_bytes : int
        Number of bytes sent.
    n_taken : int
        Number of frames acknowledged by the relay.
    """

    channel: str
    host: str
    state: str
    n_frames: int
    n_again: int
    n_bytes: int
    n_taken: int


class Server:
    """Server that sends the channels of this node to relays on other nodes. Frames are sent to a node only once.

    Parameters
    ----------
    channels : str or path, or several
        Names or directories of the channels, which do not have to exist yet.
    listen : str
        Address at which to listen, such as ``tcp/10.0.0.1:7447``, or ``tls/10.0.0.1:7447`` if you use certificates.
    security : Security, optional
        Token or certificates. These are required unless the server listens at a loopback address. Only this user can
        then connect by default, because the server creates a private token, which the user's relays on this machine
        find automatically.
    all_interfaces : bool
        Whether the server is allowed to listen on all interfaces.
    without_authentication : bool
        Whether anyone who can reach the address is allowed to read the channels. At a loopback address, this means
        every user of this machine.
    patience : float
        Time after which frames are released when a relay is disconnected, in s. Until then, the producer will have to
        wait as soon as the ring is full. This is not necessary if you use staging, because the relay can read the
        frames from there later.
    report : callable, optional
        Function that is called with a line of text when a relay connects, disconnects or sends an invalid message.

    Raises
    ------
    MismatchError
        If an argument is invalid, or anyone could connect.

    Examples
    --------
    >>> import mdreel
    >>> with mdreel.live.Server("run1", "tcp/127.0.0.1:7447"):  # doctest: +SKIP
    ...     simulate()
    """

    def __init__(
        self,
        channels: str | PathLike[str] | Sequence[str | PathLike[str]],
        listen: str,
        security: Security | None = None,
        *,
        all_interfaces: bool = False,
        without_authentication: bool = False,
        patience: float = 10.0,
        report: Callable[[str], object] | None = None,
    ) -> None:
        several = [channels] if isinstance(channels, str | PathLike) else list(channels)
        paths = [channel_path(channel) for channel in several]
        self.paths: dict[str, Path] = {path.name: path for path in paths}
        if not paths or len(self.paths) < len(paths):
            raise MismatchError(f"expected channels of different names, got {[path.name for path in paths]}")
        self.listen = listen
        self._security = security or Security()
        check_endpoint(listen, listens=True, all_interfaces=all_interfaces)
        self._makes_token = not (self._security.is_set or without_authentication) and is_local(listen)
        if not (self._security.is_set or without_authentication or self._makes_token):
            message = "anyone who can reach this address could read the channels; set a token or certificates"
            raise MismatchError(f"{listen}: {message}, or allow it (without_authentication)")
        self._security.check(listen)
        self._patience = patience
        self._rejects = RejectionReporter(report or (lambda line: None))
        self._report = self._rejects.report
        self._senders: dict[tuple[str, str], Sender] = {}
        self._inbox: queue.Queue[tuple[str, object]] = queue.Queue(_MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._stack = ExitStack()
        self._lock = threading.Lock()

    def open(self) -> Self:
        """Start to listen.

        Raises
        ------
        OSError
            If the server cannot listen at the address.
        UnsupportedError
            If Zenoh is not installed.
        PermissionError
            If other users could read the token.
        """
        if self._thread is None:
            if self._makes_token:
                self._security = Security(make_token(self.listen))
            else:
                forget_token(self.listen)  # an old token, with which relays would be refused
            session = self._stack.enter_context(listen_at(self.listen, self._security))
            for name in self.paths:
                # Callbacks run on Zenoh's threads, which must not block.
                self._stack.callback(
                    session.declare_queryable(f"{KEY}/{name}/join", self._make_callback("query", name)).undeclare
                )
                self._stack.callback(
                    session.declare_subscriber(f"{KEY}/{name}/from/*", self._make_callback("said", name)).undeclare
                )
                self._stack.callback(session.liveliness().declare_token(f"{KEY}/{name}/server").undeclare)
            self._thread = threading.Thread(target=self._serve, args=(session,), name="mdreel-serve", daemon=True)
            self._thread.start()
        return self

    def close(self) -> None:
        """Close the server. Relays will then wait until the server is restarted."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        if thread.is_alive():
            self._inbox.put(("stop", None))
        thread.join()
        for sender in self._senders.values():
            sender.stop()
        for sender in self._senders.values():
            sender.join()
        self._stack.close()
        self._rejects.report_total("messages of relays")

    def check(self) -> None:
        """Check that the server is still answering relays.

        Raises
        ------
        StreamError
            If the thread that answers relays has died. This cannot be caused by messages from relays.
        """
        if self._error is not None:
            message = f"the server has died and answers no relays: {type(self._error).__name__}: {self._error}"
            raise StreamError(f"{self.listen}: {message}; restart it") from self._error

    @property
    def relays(self) -> tuple[RelayStatus, ...]:
        """Statistics of each current or former relay, in the order of their first connection."""
        with self._lock:
            return tuple(_relay_status(name, sender) for (name, _), sender in self._senders.items())

    @property
    def n_refused(self) -> int:
        """Number of messages that were invalid, or that could not be answered."""
        return self._rejects.n

    def _make_callback(self, kind: str, name: str) -> "Callable[[zenoh.Query | zenoh.Sample], None]":
        def take(said: "zenoh.Query | zenoh.Sample") -> None:
            n_bytes = 0 if said.payload is None else len(said.payload)
            if n_bytes > MOST_RELAY_BYTES:  # do not queue it, to limit the memory
                message = f"expected a message of at most {MOST_RELAY_BYTES:,} bytes, got {n_bytes:,}"
                self._rejects.reject(f"{name}: invalid message: {message}")
                return
            try:
                self._inbox.put_nowait((f"{kind} {name}", said))
            except queue.Full:
                self._rejects.reject(f"{name}: too many queued messages: refused")

        return take

    def _serve(self, session: "zenoh.Session") -> None:
        try:
            while self._process_next(session):
                pass
        except BaseException as error:  # noqa: BLE001 - `check` raises it, so that a dead server does not look alive
            self._error = error

    def _process_next(self, session: "zenoh.Session") -> bool:
        """Process the next message. Return False after the stop message."""
        what, said = self._inbox.get()
        kind, _, name = what.partition(" ")
        if kind == "stop":
            return False
        try:
            if kind == "query":
                self._answer(session, name, said)  # type: ignore[arg-type]
            else:
                self._process_message(name, said)  # type: ignore[arg-type]
        except FormatError as error:
            self._rejects.reject(f"{name}: invalid message: {error}")
        except Exception as error:  # noqa: BLE001 - no message may end the server
            self._rejects.reject(f"{name}: not answered: {type(error).__name__}: {error}")
        return True

    def _answer(self, session: "zenoh.Session", name: str, query: "zenoh.Query") -> None:
        """Answer a query with the description of the channel, and start to send frames if the relay wants to join."""
        try:
            asked = b"" if query.payload is None else query.payload.to_bytes()
            join = Join.decode(asked) if asked else None
            answer = describe_channel(self.paths[name])
            if join is not None:
                self._accept_relay(session, name, join)
        except FileNotFoundError:
            query.reply_err(f"{ABSENT}: the channel does not exist yet".encode())
        except Exception as error:
            query.reply_err(f"{REFUSED}: {error}".encode(errors="replace"))
            if isinstance(error, FormatError) or not isinstance(error, MdreelError | OSError):
                raise
            self._rejects.reject(f"{name}: {error}")
        else:
            query.reply(query.key_expr, answer.encode())
        finally:
            query.drop()  # type: ignore[no-untyped-call]

    def _accept_relay(self, session: "zenoh.Session", name: str, join: Join) -> None:
        sender = self._senders.get((name, join.relay))
        if sender is not None and sender.is_alive():
            sender.rejoin(join)
            self._report(f"{name}: relay on {join.host} joined again")
            return
        n_there = sum(there.is_alive() for there in self._senders.values())
        if n_there >= _MOST_RELAYS:
            raise MismatchError(f"{name}: the server already has {n_there} relays, the maximum")
        import zenoh

        to_relay = session.declare_publisher(
            f"{KEY}/{name}/to/{join.relay}",
            congestion_control=zenoh.CongestionControl.BLOCK,
            reliability=zenoh.Reliability.RELIABLE,
        )

        def put(sent: bytes) -> None:
            with ignoring_transport_errors():  # the relay notices the gap and joins again
                to_relay.put(sent)

        before = sender
        sender = Sender(self.paths[name], join, put, self._patience)
        if before is not None:  # continue the counts of the same relay
            sender.n_frames, sender.n_again = before.n_frames, before.n_again
            sender.n_bytes, sender.n_taken = before.n_bytes, before.n_taken
        with self._lock:
            self._senders[name, join.relay] = sender
        sender.start()
        self._report(f"{name}: relay on {join.host} joined")

    def _process_message(self, name: str, sample: "zenoh.Sample") -> None:
        session, message = decode(sample.payload.to_bytes())
        relay = str(sample.key_expr).rpartition("/")[2]
        if not isinstance(message, Credit | Leave):
            raise FormatError(f"a relay does not send {type(message).__name__}")
        sender = self._senders.get((name, relay))
        if sender is not None:
            sender.receive(session, message)
            if isinstance(message, Leave):
                self._report(f"{name}: relay on {sender.host} left after {sender.n_frames:,} frames")

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Server of {', '.join(self.paths)} at {self.listen}>"


def describe_channel(path: Path) -> ChannelDescription:
    """Return the description of a channel for relays."""
    status = channel_status(path)
    made = (path / "manifest").stat()  # written once, when the channel is created
    identity = f"{made.st_dev:x}-{made.st_ino:x}-{made.st_mtime_ns:x}"
    manifest, server = Manifest.from_core(status["manifest"]), describe_own_process()
    return ChannelDescription(identity, status["n_slots"], status["slot_bytes"], manifest, server)


def _relay_status(name: str, sender: Sender) -> RelayStatus:
    state = "away" if sender.is_alive() and sender.is_away else sender.state
    return RelayStatus(name, sender.host, state, sender.n_frames, sender.n_again, sender.n_bytes, sender.n_taken)
