"""Servers, which send channels of this node to relays."""

import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mdreel._core import channel_status
from mdreel.errors import FormatError, MdreelError, MismatchError, StreamError
from mdreel.live.channels.directory import place_of
from mdreel.live.channels.manifest import Manifest
from mdreel.live.channels.rejections import Rejects
from mdreel.live.nodes.endpoint import check_endpoint, is_local
from mdreel.live.nodes.link import listening
from mdreel.live.nodes.local_token import forget_token, make_token
from mdreel.live.nodes.messages import KEY, MOST_RELAY_BYTES, Answer, Bye, Credit, Join, decode
from mdreel.live.nodes.security import Security
from mdreel.live.nodes.sender import Sender

if TYPE_CHECKING:
    import zenoh

_LOOK_SECONDS = 0.2
_MOST_RELAYS = 64
_MOST_WAITING = 1024
"""So many messages of relays wait to be looked at; what comes beyond them is refused, and relays say it again."""


@dataclass(frozen=True)
class RelayStatus:
    """What a server has done for a relay.

    Attributes
    ----------
    channel, host : str
        The channel, and the node of the relay as that calls itself.
    state : {"running", "away", "lost", "finished", "stopped", "failed"}
        How the channel is as the relay was told; ``away`` if it has said nothing for some seconds.
    n_frames, n_again : int
        Frames that were sent, and frames of these that were sent once more.
    n_bytes : int
        Bytes that were sent.
    n_taken : int
        Frames that the relay has taken.
    """

    channel: str
    host: str
    state: str
    n_frames: int
    n_again: int
    n_bytes: int
    n_taken: int


class Server:
    """Serves channels of this node to relays on other nodes, which send each frame to a node once.

    Parameters
    ----------
    channels : str or path, or several
        Names of channels, or their directories. They need not be there yet.
    listen : str
        The address to listen at, as ``tcp/10.0.0.1:7447``, or ``tls/10.0.0.1:7447`` with certificates.
    security : Security, optional
        Who may connect. At a loopback address it is by default this user alone: the server makes a token that only he
        can read, which his relays on this machine find by themselves. At all other addresses it must be given.
    all_interfaces : bool
        Whether the address may be that of all interfaces.
    without_authentication : bool
        Whether everybody who reaches the address may read the channels: at a loopback address every user of this
        machine.
    patience : float
        For how long frames are held for a relay that is cut off, s: a full ring waits so long for it. Those of a
        channel with a staging are not held, as they are found there.
    report : callable, optional
        Called with a line of text when a relay comes or goes, or says what is not understood.

    Raises
    ------
    MismatchError
        If the address is none, or an argument makes no sense, or nothing keeps strangers out.

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
        paths = [place_of(channel) for channel in several]
        self.paths: dict[str, Path] = {path.name: path for path in paths}
        if not paths or len(self.paths) < len(paths):
            raise MismatchError(f"expected channels of different names, got {[path.name for path in paths]}")
        self.listen = listen
        self._security = security or Security()
        check_endpoint(listen, listens=True, all_interfaces=all_interfaces)
        self._makes_token = not (self._security.is_there or without_authentication) and is_local(listen)
        if not (self._security.is_there or without_authentication or self._makes_token):
            message = "anybody who reaches this address could read the channels: say a token or certificates"
            raise MismatchError(f"{listen}: {message}, or that it is to be so")
        self._security.check(listen)
        self._patience = patience
        self._rejects = Rejects(report or (lambda line: None))
        self._report = self._rejects.say
        self._senders: dict[tuple[str, str], Sender] = {}
        self._inbox: queue.Queue[tuple[str, object]] = queue.Queue(_MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._stack = ExitStack()
        self._lock = threading.Lock()

    def open(self) -> Self:
        """Listen from now on.

        Raises
        ------
        OSError
            If the address cannot be listened at.
        UnsupportedError
            If Zenoh is not installed.
        PermissionError
            If the token of this user on this machine could be read by others.
        """
        if self._thread is None:
            if self._makes_token:
                self._security = Security(make_token(self.listen))
            else:
                forget_token(self.listen)  # of a server before: relays would show it here, and be refused
            session = self._stack.enter_context(listening(self.listen, self._security))
            for name in self.paths:
                # Callbacks are on Zenoh's threads, which must not wait.
                self._stack.callback(
                    session.declare_queryable(f"{KEY}/{name}/join", self._taking("query", name)).undeclare
                )
                self._stack.callback(
                    session.declare_subscriber(f"{KEY}/{name}/from/*", self._taking("said", name)).undeclare
                )
                self._stack.callback(session.liveliness().declare_token(f"{KEY}/{name}/server").undeclare)
            self._thread = threading.Thread(target=self._serve, args=(session,), name="mdreel-serve", daemon=True)
            self._thread.start()
        return self

    def close(self) -> None:
        """Leave. Relays notice it, and wait for a server that comes back."""
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
        self._rejects.say_number("messages of relays")

    def check(self) -> None:
        """Check that relays are still answered.

        Raises
        ------
        StreamError
            If the thread that answers them has died of an error, which no message can bring about.
        """
        if self._error is not None:
            message = f"the server has died, and answers no relay: {type(self._error).__name__}: {self._error}"
            raise StreamError(f"{self.listen}: {message}: start it again") from self._error

    @property
    def relays(self) -> tuple[RelayStatus, ...]:
        """What has been done for each relay that there was, in the order of their coming."""
        with self._lock:
            return tuple(_status_of(name, sender) for (name, _), sender in self._senders.items())

    @property
    def n_refused(self) -> int:
        """Messages that were not understood, or could not be answered."""
        return self._rejects.n

    def _taking(self, kind: str, name: str) -> "Callable[[zenoh.Query | zenoh.Sample], None]":
        def take(said: "zenoh.Query | zenoh.Sample") -> None:
            n_bytes = 0 if said.payload is None else len(said.payload)
            if n_bytes > MOST_RELAY_BYTES:  # not even kept: what waits takes a limited memory
                message = f"expected a message of at most {MOST_RELAY_BYTES:,} bytes, got {n_bytes:,}"
                self._rejects.note(f"{name}: not understood: {message}")
                return
            try:
                self._inbox.put_nowait((f"{kind} {name}", said))
            except queue.Full:
                self._rejects.note(f"{name}: too many messages wait: refused")

        return take

    def _serve(self, session: "zenoh.Session") -> None:
        try:
            while self._hear_next(session):
                pass
        except BaseException as error:  # noqa: BLE001 - raised by `check`: a process whose server is dead must not look alive
            self._error = error

    def _hear_next(self, session: "zenoh.Session") -> bool:
        """Take the next message, whatever is in it; return whether more are to be taken."""
        what, said = self._inbox.get()
        kind, _, name = what.partition(" ")
        if kind == "stop":
            return False
        try:
            if kind == "query":
                self._answer(session, name, said)  # type: ignore[arg-type]
            else:
                self._hear(name, said)  # type: ignore[arg-type]
        except FormatError as error:
            self._rejects.note(f"{name}: not understood: {error}")
        except Exception as error:  # noqa: BLE001 - no message ends a server
            self._rejects.note(f"{name}: not answered: {type(error).__name__}: {error}")
        return True

    def _answer(self, session: "zenoh.Session", name: str, query: "zenoh.Query") -> None:
        """Say what the channel is, and if a relay wants to join, send to it."""
        try:
            asked = b"" if query.payload is None else query.payload.to_bytes()
            join = Join.decode(asked) if asked else None
            answer = answer_of(self.paths[name])
            if join is not None:
                self._take_in(session, name, join)
        except FileNotFoundError:
            query.reply_err(b"absent: there is no such channel yet")
        except Exception as error:
            query.reply_err(f"refused: {error}".encode(errors="replace"))
            if isinstance(error, FormatError) or not isinstance(error, MdreelError | OSError):
                raise
            self._rejects.note(f"{name}: {error}")
        else:
            query.reply(query.key_expr, answer.encode())
        finally:
            query.drop()  # type: ignore[no-untyped-call]

    def _take_in(self, session: "zenoh.Session", name: str, join: Join) -> None:
        sender = self._senders.get((name, join.relay))
        if sender is not None and sender.is_alive():
            sender.join_again(join)
            self._report(f"{name}: relay on {join.host} has joined again")
            return
        n_there = sum(there.is_alive() for there in self._senders.values())
        if n_there >= _MOST_RELAYS:
            raise MismatchError(f"{name}: {n_there} relays are here, and no more are served")
        import zenoh

        to_relay = session.declare_publisher(
            f"{KEY}/{name}/to/{join.relay}",
            congestion_control=zenoh.CongestionControl.BLOCK,
            reliability=zenoh.Reliability.RELIABLE,
        )
        before = sender
        sender = Sender(self.paths[name], join, to_relay.put, self._patience)
        if before is not None:  # of the same relay: it goes on counting
            sender.n_frames, sender.n_again = before.n_frames, before.n_again
            sender.n_bytes, sender.n_taken = before.n_bytes, before.n_taken
        with self._lock:
            self._senders[name, join.relay] = sender
        sender.start()
        self._report(f"{name}: relay on {join.host} has joined")

    def _hear(self, name: str, sample: "zenoh.Sample") -> None:
        session, message = decode(sample.payload.to_bytes())
        relay = str(sample.key_expr).rpartition("/")[2]
        if not isinstance(message, Credit | Bye):
            raise FormatError(f"a relay does not say {type(message).__name__}")
        sender = self._senders.get((name, relay))
        if sender is not None:
            sender.hear(session, message)
            if isinstance(message, Bye):
                self._report(f"{name}: relay on {sender.host} has left after {sender.n_frames:,} frames")

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Server of {', '.join(self.paths)} at {self.listen}>"


def serve(
    channels: str | PathLike[str] | Sequence[str | PathLike[str]],
    listen: str,
    security: Security | None = None,
    *,
    all_interfaces: bool = False,
    without_authentication: bool = False,
    patience: float = 10.0,
    report: Callable[[str], object] | None = None,
) -> Server:
    """Serve channels of this node from now on; see `Server`, whose `Server.close` ends it."""
    return Server(
        channels,
        listen,
        security,
        all_interfaces=all_interfaces,
        without_authentication=without_authentication,
        patience=patience,
        report=report,
    ).open()


def answer_of(path: Path) -> Answer:
    """Return what relays are told of a channel."""
    status = channel_status(path)
    made = (path / "manifest").stat()  # written once, when the channel is made
    identity = f"{made.st_dev:x}-{made.st_ino:x}-{made.st_mtime_ns:x}"
    return Answer(identity, status["n_slots"], status["slot_bytes"], Manifest.of(status["manifest"]))


def _status_of(name: str, sender: Sender) -> RelayStatus:
    state = "away" if sender.is_alive() and sender.is_away else sender.state
    return RelayStatus(name, sender.host, state, sender.n_frames, sender.n_again, sender.n_bytes, sender.n_taken)
