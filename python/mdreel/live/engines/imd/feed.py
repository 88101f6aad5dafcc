"""Publishing of an IMD engine's frames on a channel."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from mdreel._core import channel_status
from mdreel.errors import MismatchError, StreamError, StreamTimeoutError
from mdreel.execution.memory import bytes_of
from mdreel.live.channels.staging import Staging
from mdreel.live.engines.imd.access import token_of
from mdreel.live.engines.imd.address import Address
from mdreel.live.engines.imd.dialects import DIALECTS
from mdreel.live.engines.imd.engine import EngineFrame, EngineLink
from mdreel.live.engines.imd.messages import ENERGIES
from mdreel.live.producers.producer import Producer

_LEAST_SLOTS = 4
_LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class Engine:
    """A simulation that speaks IMD, and what is to be known of it that IMD does not say.

    Attributes
    ----------
    address : str
        Where it listens, as ``127.0.0.1:8888``.
    wait : float
        For how long it may not be there, s.
    n_atoms : int, optional
        How many atoms it must send.
    n_frames : int, optional
        How many frames it is to send. Then the channel ends as *finished* when they came, and as *failed* when the
        connection ends with another number. Without, it ends as *finished* where the engine says goodbye, and as
        *stopped* where it just closes the connection, which looks the same as its death between two frames.
    rate : int, optional
        Steps between two frames, which the engine is asked for.
    time_step : float, optional
        Time between two steps, ps: what times are made of where the engine sends none, as in version 2.
    stride : int, optional
        Steps between two frames: what steps are made of where the engine sends none, as in version 2 without energies.
    dialect : {"imd", "gromacs", "kcal", "metal", "real"}
        How it sends numbers: as version 3 says, in ps, Å and kJ/mol; as GROMACS does in version 2; with energies in
        kcal/mol, as others do there; or as LAMMPS does, in what it calls metal or real units.
    token_file : path, optional
        A token to be shown to the engine, which is another hub then.
    n_consumers : int
        How many consumers are waited for before the first frame is published: the engine waits meanwhile.
    n_slots, full, staging
        As of `Producer`.
    memory : str or int
        The most that the ring takes, in bytes or as ``"1G"``: what the engine says of sizes is not believed beyond it.
    resumes : bool
        Whether the channel goes on where a hub has died before.
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
    staging: Staging | None = None
    memory: str | int = "1G"
    resumes: bool = False

    def __post_init__(self) -> None:
        Address.of(self.address)
        if self.dialect not in DIALECTS:
            raise MismatchError(f"dialect must be one of {', '.join(DIALECTS)}, not {self.dialect!r}")
        for name in ("n_atoms", "n_frames", "rate", "stride", "time_step"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise MismatchError(f"{self.address}: {name} must be a positive number, not {value!r}")

    def link(self) -> EngineLink:
        """Return a connection that is still to be opened."""
        most_bytes = bytes_of(self.memory) // max(self.n_slots or 0, _LEAST_SLOTS)
        return EngineLink(Address.of(self.address), most_bytes, self.n_atoms, token_of(self.token_file))


class Feed(threading.Thread):
    """Publishes the frames of an engine on a channel until they end, or it is stopped.

    Parameters
    ----------
    engine : Engine
        The engine.
    path : Path
        The channel's directory.
    report : callable
        Called with lines of text.

    Attributes
    ----------
    is_open : Event
        Set when the channel is there, or will never be.
    end : str or None
        How the channel has ended, or is to be told to have ended.
    error : Exception or None
        Why the feed has failed.
    n_published : int
        Frames that are on the channel.
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
        self.link = engine.link()

    def connect(self) -> None:
        """Connect to the engine, and have its frames come.

        Raises
        ------
        MismatchError
            If it says too little, and nobody has said the rest.
        MdreelError
            As of `EngineLink.open`.
        """
        session = self.link.open(self.engine.wait, self._stops).session
        if not session.time and self.engine.time_step is None:
            message = f"version {session.version} of IMD says no times" if session.version == 2 else "it sends no times"
            raise MismatchError(
                f"{self.engine.address}: {message}: say the time between two steps (time_step, --time-step)"
            )
        order = {"<": "little", ">": "big"}[session.byte_order]
        self._report(f"{self.engine.address}: an engine that speaks version {session.version} of IMD, {order}-endian")
        self.link.go(self.engine.rate)

    def stop(self) -> None:
        """Leave the engine, and end the channel as stopped."""
        self._stops.set()
        if self.is_alive():
            self.link.leave()
        else:
            self.link.close()

    def run(self) -> None:
        """Publish until the end."""
        try:
            for frame in self.link.frames():
                self._publish(frame)
                if self._stops.is_set():
                    break
            self._conclude()
        except Exception as error:  # noqa: BLE001 - whatever an engine sends, the channel gets an end
            self._fail(error)
        finally:
            self.link.close()
            self.is_open.set()

    def _conclude(self) -> None:
        """Say how it has ended: that a connection is closed does not say that a simulation was done."""
        expected, n_frames = self.engine.n_frames, self.n_published
        if self._stops.is_set():
            self._end("stopped")
        elif expected is not None and n_frames != expected:
            raise StreamError(f"{self.engine.address}: expected {expected:,} frames, got {n_frames:,}")
        elif self._producer is None:
            raise StreamError(f"{self.engine.address}: the engine has closed the connection before its first frame")
        else:
            is_said = expected is not None or self.link.has_said_goodbye
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
        DIALECTS[self.engine.dialect].understand(frame)
        step = self._step_of(frame)
        time = frame.time if frame.time is not None else step * (self.engine.time_step or 0.0)
        if self._producer is None:
            self._producer = self._opened(frame, step)
            self._await_consumers(self._producer)
        while not self._stops.is_set():
            try:
                self._producer.publish(
                    frame.positions, step, time, frame.box, frame.velocities, frame.forces, frame.energies
                )
            except StreamTimeoutError:  # no room so far: the engine waits, and who wants to stop does not
                continue
            self.n_published += 1
            return

    def _step_of(self, frame: EngineFrame) -> int:
        if frame.step is not None:
            return frame.step
        if self.engine.stride is None:
            message = "the engine says no steps: say the steps between two frames (stride, --stride)"
            raise MismatchError(f"{self.engine.address}: {message}")
        return self.n_published * self.engine.stride

    def _opened(self, frame: EngineFrame, step: int) -> Producer:
        """Open the channel, which is of frames like the first."""
        session, engine = self.link.session, self.engine
        is_lost = _is_lost(self.path)
        if is_lost and not engine.resumes:
            message = "its hub has died: go on with it (resumes, --resume), or remove the channel"
            raise MismatchError(f"{self.path}: {message}")
        producer = Producer(
            self.path,
            len(frame.positions),
            velocities=session.velocities,
            forces=session.forces,
            energies=ENERGIES if frame.energies is not None else (),
            n_slots=engine.n_slots,
            full=engine.full,
            timeout=_LOOK_SECONDS,
            staging=engine.staging,
            resume_step=step if is_lost else None,
            time_step=frame.time_step or engine.time_step or 0.0,
            stride=engine.rate or engine.stride or 0,
        ).open()
        self.is_open.set()
        return producer

    def _await_consumers(self, producer: Producer) -> None:
        while not self._stops.is_set():
            try:
                producer.await_consumers(self.engine.n_consumers, _LOOK_SECONDS)
            except StreamTimeoutError:
                continue
            return


def _is_lost(path: Path) -> bool:
    """Whether a channel had a producer that has died without an end."""
    try:
        status = channel_status(path)
    except FileNotFoundError:
        return False
    return not status["has_producer"] and status["end"] is None
