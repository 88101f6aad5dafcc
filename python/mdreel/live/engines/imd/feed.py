"""Feeds, which publish the frames of an IMD engine on a channel."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from mdreel._core import channel_status
from mdreel.errors import MismatchError, StreamError, StreamTimeoutError
from mdreel.execution.memory import parse_memory
from mdreel.live.channels.staging import Staging
from mdreel.live.engines.imd.access import read_token_file
from mdreel.live.engines.imd.address import Address
from mdreel.live.engines.imd.dialects import DIALECTS
from mdreel.live.engines.imd.engine import EngineFrame, EngineLink
from mdreel.live.engines.imd.messages import ENERGIES
from mdreel.live.producers.groups import Group
from mdreel.live.producers.producer import Producer

_LEAST_SLOTS = 4
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Engine:
    """Address and properties of a simulation engine that uses the IMD protocol.

    Attributes
    ----------
    address : str
        Address at which the engine listens, such as ``127.0.0.1:8888``.
    wait : float
        Maximum time to wait for the engine, in s.
    n_atoms : int, optional
        Number of atoms that the engine has to send.
    n_frames : int, optional
        Number of frames that the engine has to send. The channel will end as *finished* after these frames, and as
        *failed* when the connection ends after a different number of frames. If you do not set `n_frames`, the channel
        ends as *finished* when the engine sends a disconnect message. When the engine only closes the connection, the
        channel will end as *stopped*, since this cannot be distinguished from a crash between two frames.
    rate : int, optional
        Number of steps between two frames that the hub requests from the engine.
    time_step : float, optional
        Time between two steps, in ps. This is used to compute the times of frames if the engine does not send them, as
        in version 2.
    stride : int, optional
        Number of steps from one published frame to the next. Any frames in between are not published. When the engine
        does not send steps, as in version 2 without energies, you should use the number of steps between its frames,
        from which steps will be computed.
    dialect : {"imd", "gromacs", "kcal", "metal", "real"}
        Units and step numbers of the engine. Use ``"imd"`` for IMD version 3 (ps, Å and kJ/mol), ``"gromacs"`` for
        GROMACS with version 2, and ``"kcal"`` for version 2 with energies in kcal/mol. For LAMMPS, use ``"metal"`` or
        ``"real"``, depending on its units.
    token_file : path, optional
        File that contains the token to send to the engine, if the engine is another hub.
    n_consumers : int
        Number of consumers to wait for before the first frame is published. The engine will wait until they have
        joined.
    n_slots, full, groups, staging
        See `Producer`.
    memory : str or int
        Maximum size of the ring, in bytes or as a str such as ``"1G"``. This limits the frame size that the engine can
        announce.
    resumes : bool
        Whether to continue a channel whose hub has died.

    Examples
    --------
    >>> import mdreel
    >>> engine = mdreel.live.Engine("127.0.0.1:8888", wait=60, n_atoms=47681, dialect="gromacs", time_step=0.002)
    >>> with mdreel.live.Hub("run1", "127.0.0.1:8889", engine) as hub:  # doctest: +SKIP
    ...     hub.wait()
    """

    address: str
    wait: float = 0.0
    n_atoms: int | None = None
    n_frames: int | None = None
    rate: int | None = None
    time_step: float | None = None
    stride: int | None = None
    dialect: str = "imd"
    token_file: str | PathLike[str] | None = None
    n_consumers: int = 0
    n_slots: int | None = None
    full: str = "block"
    groups: Sequence[str | Group] = ()
    staging: Staging | None = None
    memory: str | int = "1G"
    resumes: bool = False

    def __post_init__(self) -> None:
        Address.parse(self.address)
        if self.dialect not in DIALECTS:
            raise MismatchError(f"dialect must be one of {', '.join(DIALECTS)}, not {self.dialect!r}")
        for name in ("n_atoms", "n_frames", "rate", "stride", "time_step"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise MismatchError(f"{self.address}: {name} must be a positive number, not {value!r}")

    def link(self) -> EngineLink:
        """Return a connection to the engine that has not been opened yet."""
        most_bytes = parse_memory(self.memory) // max(self.n_slots or 0, _LEAST_SLOTS)
        return EngineLink(Address.parse(self.address), most_bytes, self.n_atoms, read_token_file(self.token_file))


class Feed(threading.Thread):
    """Thread that publishes the frames of an engine on a channel until the engine ends or the feed is stopped.

    Parameters
    ----------
    engine : Engine
        The engine.
    path : Path
        Directory of the channel.
    report : callable
        Function that is called with lines of text.

    Attributes
    ----------
    is_open : Event
        Event that is set when the channel exists, or when it is known that the channel will not be created.
    end : str or None
        How the channel has ended.
    error : Exception or None
        Exception that caused the feed to fail.
    n_published : int
        Number of published frames.
    """

    def __init__(self, engine: Engine, path: Path, report: Callable[[str], object]) -> None:
        super().__init__(name=f"mdreel-feed-{path.name}", daemon=True)
        self.engine = engine
        self.path = path
        self.is_open = threading.Event()
        self.end: str | None = None
        self.error: Exception | None = None
        self.n_published = 0
        self._report = report
        self._stops = threading.Event()
        self._producer: Producer | None = None
        self._first_step = self._due = 0
        self.link = engine.link()

    def connect(self) -> None:
        """Connect to the engine and request its frames.

        Raises
        ------
        MismatchError
            When the engine does not send times, and you did not set `Engine.time_step`.
        MdreelError
            When the connection fails; see `EngineLink.open`.
        """
        session = self.link.open(self.engine.wait, self._stops).session
        if not session.time and self.engine.time_step is None:
            reason = "IMD version 2 has no times" if session.version == 2 else "the engine sends no times"
            raise MismatchError(f"{self.engine.address}: {reason}; set the time step (time_step, --time-step)")
        order = {"<": "little", ">": "big"}[session.byte_order]
        self._report(f"{self.engine.address}: engine with IMD version {session.version}, {order}-endian")
        self.link.go(self.engine.rate)

    def stop(self) -> None:
        """Disconnect from the engine, and end the channel as *stopped*."""
        self._stops.set()
        if self.is_alive():
            self.link.leave()
        else:
            self.link.close()

    def run(self) -> None:
        """Publish frames until the engine ends or the feed is stopped."""
        try:
            for frame in self.link.frames():
                self._publish(frame)
                if self._stops.is_set():
                    break
            self._end_channel()
        except Exception as error:  # noqa: BLE001 - the channel must end, whatever the engine sends
            self._fail(error)
        finally:
            self.link.close()
            self.is_open.set()

    def _end_channel(self) -> None:
        """End the channel. Note that a closed connection alone does not mean that the simulation has finished."""
        expected, n_frames = self.engine.n_frames, self.link.n_frames
        if self._stops.is_set():
            self._end("stopped")
        elif expected is not None and n_frames != expected:
            raise StreamError(f"{self.engine.address}: expected {expected:,} frames, got {n_frames:,}")
        elif self._producer is None:
            raise StreamError(f"{self.engine.address}: the engine closed the connection before its first frame")
        else:
            is_said = expected is not None or self.link.has_disconnected
            self._end("finished" if is_said else "stopped")

    def _fail(self, error: Exception) -> None:
        if self._stops.is_set():
            self._end("stopped")
            return
        self.error = error
        self._end("failed", f"{type(error).__name__}: {error}")

    def _end(self, how: str, reason: str = "") -> None:
        self.end = how
        if self._producer is not None:
            self._producer.end(how, reason)

    def _publish(self, frame: EngineFrame) -> None:
        DIALECTS[self.engine.dialect].convert(frame)
        step = self._step_number(frame)
        time = frame.time if frame.time is not None else step * (self.engine.time_step or 0.0)
        if self._producer is None:
            self._producer = self._open_channel(frame, step)
            self._await_consumers(self._producer)
            self._first_step = self._due = step
        if frame.step is not None and self.engine.stride is not None:
            if step < self._due:
                return
            n_past = (step - self._first_step) // self.engine.stride
            self._due = self._first_step + (n_past + 1) * self.engine.stride
        while not self._stops.is_set():
            try:
                self._producer.publish(
                    frame.positions, step, time, frame.box, frame.velocities, frame.forces, frame.energies
                )
            except StreamTimeoutError:  # while the ring is full, the engine waits, but `stop` takes effect
                continue
            self.n_published += 1
            return

    def _step_number(self, frame: EngineFrame) -> int:
        if frame.step is not None:
            return frame.step
        if self.engine.stride is None:
            message = "the engine sends no step numbers; set the number of steps between two frames (stride, --stride)"
            raise MismatchError(f"{self.engine.address}: {message}")
        return self.n_published * self.engine.stride

    def _open_channel(self, frame: EngineFrame, step: int) -> Producer:
        """Open the channel with the sections that the first frame contains."""
        session, engine = self.link.session, self.engine
        is_lost = _is_lost(self.path)
        if is_lost and not engine.resumes:
            message = "the hub of this channel has died; continue it (resumes, --resume) or remove the channel"
            raise MismatchError(message, path=self.path)
        producer = Producer(
            self.path,
            len(frame.positions),
            velocities=session.velocities,
            forces=session.forces,
            energies=ENERGIES if frame.energies is not None else (),
            n_slots=engine.n_slots,
            full=engine.full,
            timeout=_POLL_SECONDS,
            groups=engine.groups,
            staging=engine.staging,
            resume_step=step if is_lost else None,
            time_step=frame.time_step or engine.time_step or 0.0,
            stride=engine.stride or engine.rate or 0,
        ).open()
        self.is_open.set()
        return producer

    def _await_consumers(self, producer: Producer) -> None:
        while not self._stops.is_set():
            try:
                producer.await_consumers(self.engine.n_consumers, _POLL_SECONDS)
            except StreamTimeoutError:
                continue
            return


def _is_lost(path: Path) -> bool:
    """Return whether the producer of a channel died without ending the channel."""
    try:
        status = channel_status(path)
    except FileNotFoundError:
        return False
    return not status["has_producer"] and status["end"] is None
