"""Producers, which publish frames on a channel."""

import hashlib
from collections.abc import Mapping, Sequence
from os import PathLike
from time import monotonic, sleep
from types import TracebackType
from typing import NamedTuple, Self

from numpy.typing import ArrayLike

from mdreel._core import ChannelProducer, channel_status
from mdreel.errors import MismatchError, StreamTimeoutError
from mdreel.live.archives.archiver_process import Archiving
from mdreel.live.archives.options import Archive
from mdreel.live.channels.directory import make_folder_for, place_of
from mdreel.live.channels.manifest import Manifest
from mdreel.live.channels.requests import Request, Requests
from mdreel.live.channels.sections import Encoder, declared, most_bytes
from mdreel.live.channels.staging import Staging

RING_BYTES = 16 << 20
"""What a ring takes about, if nobody says how many frames it holds: shared memory is scarce in containers."""

_SLOTS = (4, 64)
_NEW_RUN = -(2**63)
_LOOK_SECONDS = 0.02


class Published(NamedTuple):
    """What became of a frame.

    Attributes
    ----------
    sequence : int
        Its number in the stream.
    level : {"ring", "file", "fsync"}
        What it survives now: the death of any process; of all processes; of the machine.
    """

    sequence: int
    level: str


class Producer:
    """Publishes the frames of a simulation on a channel, for analyses on the same node.

    Used with ``with``, it opens the channel there, and ends it: as *finished*, or as *failed* with the text of the
    exception, or as *stopped* on Ctrl-C. Consumers then know that no more frames will come. A producer that dies counts
    as lost.

    Parameters
    ----------
    channel : str or path
        The channel's name, or its directory; see `mdreel.live.channel`. It is made if it is not there.
    n_atoms : int
        Number of atoms.
    velocities, forces : bool
        Whether frames may have them.
    energies : sequence of str
        Names of the energies that frames may have.
    dtype : {"float32", "float64", "xtc", "type and float64"}
        As which numbers positions, velocities and forces are published. "xtc" compresses positions as XTC files do, so
        that staging and other nodes get a third of the bytes, and rounds them; "type and float64" has an int32 type
        before each position, 28 bytes an atom. Velocities and forces are float32 and float64 then.
    precision : float
        Of positions that are compressed: integers per nm.
    n_slots : int, optional
        How many frames the ring holds; by default so many that it takes about 16 MiB, 4 to 64.
    full : {"block", "drop-oldest", "spill"}
        What happens when the ring is full: the slowest consumer is waited for; or the oldest frame is overwritten,
        which is counted, and which consumers are told; or the frame is in `staging` alone, where consumers find it.
    timeout : float, optional
        For how long a frame waits for room, s; by default as long as it takes. A frame in use is waited for in any
        case.
    staging : Staging, optional
        Where frames are kept before they are published. Without, they survive any process, but not the memory.
    archive : path or Archive, optional
        A file in which a process of its own keeps the frames, as XTC, H5MD or another format; see
        `mdreel.live.archive`.
    resume_step : int, optional
        The first step that is published. Needed where the producer before has died without an end: consumers go on
        from there without a repeated step. By default it is a new run, and frames of earlier ones are not looked at.
    time_step : float
        Time between two steps, ps.
    stride : int
        Steps between two frames.
    topology_hash : bytes, optional
        32 bytes by which consumers may know the topology.

    Attributes
    ----------
    path : Path
        The channel's directory.
    manifest : Manifest
        What holds for all frames.

    Raises
    ------
    MismatchError
        If an argument makes no sense.

    Notes
    -----
    One copy of the arrays, about as long as the memory takes, and no system call unless a consumer sleeps. float32
    arrays that are contiguous are copied as they are, others are converted first. A child that is forked without
    ``exec`` keeps its parent's channel: see the page on channels.

    Examples
    --------
    >>> import numpy as np
    >>> import mdreel
    >>> with mdreel.live.Producer("example", n_atoms=3) as producer:  # doctest: +SKIP
    ...     for step in range(10):
    ...         producer.publish(np.zeros((3, 3), np.float32), step, 0.002 * step)
    """

    def __init__(
        self,
        channel: str | PathLike[str],
        n_atoms: int,
        *,
        velocities: bool = False,
        forces: bool = False,
        energies: Sequence[str] = (),
        dtype: str = "float32",
        precision: float = 1000.0,
        n_slots: int | None = None,
        full: str = "block",
        timeout: float | None = None,
        staging: Staging | None = None,
        archive: "str | PathLike[str] | Archive | None" = None,
        resume_step: int | None = None,
        time_step: float = 0.0,
        stride: int = 0,
        topology_hash: bytes | None = None,
    ) -> None:
        self.path = place_of(channel)
        if n_atoms < 1:
            raise MismatchError(f"{self.path}: expected 1 atom or more, got {n_atoms}")
        if not 0 < precision < float("inf"):
            raise MismatchError(f"{self.path}: the precision must be a positive number, not {precision!r}")
        if topology_hash is not None and len(topology_hash) != 32:
            raise MismatchError(f"{self.path}: expected a topology hash of 32 bytes, got {len(topology_hash)}")
        sections = declared(dtype, velocities, forces)
        self.manifest = Manifest(
            n_atoms=int(n_atoms),
            stream=int.from_bytes(hashlib.sha256(bytes(self.path)).digest()[:8], "little"),
            sections=(*sections, ("energies", "float64")) if energies else sections,
            energies=tuple(energies),
            time_step=float(time_step),
            stride=int(stride),
            topology_hash=topology_hash or bytes(32),
        )
        self._encoder = Encoder(self.path, self.manifest, precision)
        self._slot_bytes = most_bytes(self.manifest)
        least, most = _SLOTS
        self._n_slots = max(least, min(most, RING_BYTES // self._slot_bytes)) if n_slots is None else int(n_slots)
        if self._n_slots < 2:
            raise MismatchError(f"{self.path}: expected 2 slots or more, got {n_slots}")
        if full == "spill" and staging is None:
            raise MismatchError(f'{self.path}: full="spill" needs a staging, which gets the frames')
        self._full = full
        self._timeout = timeout
        self._staging = staging
        if archive is not None and not isinstance(archive, Archive):
            archive = Archive(archive)
        self._archiving = None if archive is None else Archiving(self.path, archive)
        self._resume_step = resume_step
        self._core: ChannelProducer | None = None
        self._requests: Requests | None = None

    def open(self) -> Self:
        """Open the channel, if that has not been done: consumers can join from now on.

        Returns
        -------
        Producer
            This producer.

        Raises
        ------
        StreamError
            If the channel has a producer that lives.
        MismatchError
            If the channel is there, and of other frames or of another size; or its producer has died, and nobody says
            with which step it goes on.
        PermissionError
            If the directory belongs to somebody else, or others may enter.
        FileExistsError
            If the archive exists and is not to be replaced.
        OSError
            If it cannot be made, as for want of memory.
        """
        if self._core is None:
            make_folder_for(self.path)
            is_to_start = self._archiving is not None and self._archiving.is_wanted()
            self._core = ChannelProducer(
                self.path, self.manifest, self._n_slots, self._slot_bytes, self._full, self._first_step(), self._staging
            )
            if self._archiving is not None and is_to_start:
                try:
                    self._archiving.start()
                except BaseException as error:
                    self._core.end("failed", f"{type(error).__name__}: {error}")
                    self._core = None
                    raise
        return self

    def await_consumers(self, n_consumers: int = 1, timeout: float | None = None) -> None:
        """Wait until so many consumers have joined, so that they see the first frame.

        Where there have been frames before, one that reads them in staging counts when it has come to their end.

        Parameters
        ----------
        n_consumers : int
            How many.
        timeout : float, optional
            For how long, s; by default as long as it takes.

        Raises
        ------
        StreamTimeoutError
            If they did not come in time.
        """
        until = None if timeout is None else monotonic() + timeout
        while (n_there := self.open().n_consumers) < n_consumers:
            if until is not None and monotonic() >= until:
                message = f"{n_there} of {n_consumers} consumers came within {timeout:g} s"
                raise StreamTimeoutError(f"{self.path}: {message}")
            sleep(_LOOK_SECONDS)

    def publish(
        self,
        positions: ArrayLike,
        step: int,
        time: float,
        box: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        forces: ArrayLike | None = None,
        energies: Mapping[str, float] | ArrayLike | None = None,
        types: ArrayLike | None = None,
    ) -> Published:
        """Publish a frame.

        Parameters
        ----------
        positions : array_like, shape (n_atoms, 3), float
            Positions, Å. On a channel of "type and float64" also an array of shape (n_atoms,) with the fields ``type``
            (int32) and ``position`` (3 float64), which is copied as it is.
        step : int
            The step of the simulation.
        time : float
            Time, ps.
        box : array_like, shape (3, 3), float, optional
            Row vectors of the cell, Å; None without a cell.
        velocities : array_like, shape (n_atoms, 3), float, optional
            Velocities, Å/ps.
        forces : array_like, shape (n_atoms, 3), float, optional
            Forces, kJ/(mol Å).
        energies : mapping of str to float, or array_like, shape (n_energies,), float, optional
            Energies, kJ/mol, by their names or in their order.
        types : array_like, shape (n_atoms,), int, optional
            The type of each atom, for a channel that has them; by default 0.

        Returns
        -------
        Published
            The number of the frame, and what it survives now.

        Raises
        ------
        MismatchError
            If an array has another shape or no numbers, or the channel was not opened for such.
        StreamTimeoutError
            If there was no room for it in time. It was not published, has no number, and may be published again.
        OSError
            If it could not be staged, as on a full disk. It was not published.
        """
        cell = None if box is None else self._encoder.numbers("box", box, (3, 3), step).ravel().tolist()
        sections = [self._encoder.positions(positions, step, time, cell, types)]
        for name, values in (("velocities", velocities), ("forces", forces)):
            if values is not None:
                sections.append(self._encoder.of_atoms(name, values, step))
        if energies is not None:
            sections.append(self._encoder.energies(energies, step))
        self.open()
        if self._archiving is not None:
            self._archiving.check()
        return Published(*self._opened().publish(int(step), float(time), cell, sections, self._timeout))

    def requests(self) -> list[Request]:
        """Return what the simulation was asked to do since; to be called between two frames.

        Returns
        -------
        list of Request
            The oldest first. Each is to be answered, or refused.
        """
        if self._requests is None:
            self._requests = Requests(self.path, self._opened().epoch)
        return self._requests.take()

    def end(self, how: str = "finished", reason: str = "") -> None:
        """Say that no more frames will come. Does nothing a second time.

        Parameters
        ----------
        how : {"finished", "stopped", "failed"}
            How the simulation has ended. A failure raises at the consumers.
        reason : str
            Of a failure; the first 256 bytes are kept.

        Notes
        -----
        An archive is waited for until it is whole, unless the simulation has failed.
        """
        if self._core is not None:
            self._core.end(how, reason)
            if self._archiving is not None:
                self._archiving.end(is_failure=how == "failed")

    @property
    def epoch(self) -> int:
        """How often the channel was opened before."""
        return self._opened().epoch

    @property
    def dropped(self) -> int:
        """Frames that were overwritten before every consumer had seen them."""
        return self._opened().dropped

    @property
    def lag(self) -> int | None:
        """How far the slowest consumer is behind, in frames; None without consumers."""
        return self._opened().lag

    @property
    def n_consumers(self) -> int:
        """How many consumers there are."""
        return self._opened().n_consumers

    def _opened(self) -> ChannelProducer:
        if self._core is None:
            raise MismatchError(f"{self.path}: the producer has not opened the channel: use `with`, or open()")
        return self._core

    def _first_step(self) -> int:
        """The step from which on frames of earlier producers are not looked at."""
        if self._resume_step is not None:
            return int(self._resume_step)
        try:
            status = channel_status(self.path)
        except FileNotFoundError:
            return _NEW_RUN
        if not status["has_producer"] and status["end"] is None:
            message = f"its producer has died after {status['sequence']} frames, without an end"
            advice = "say resume_step=, the first step that is published again, or remove the channel"
            raise MismatchError(f"{self.path}: {message}: {advice}")
        return _NEW_RUN

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.end()
        elif isinstance(error, Exception):
            self.end("failed", f"{type(error).__name__}: {error}")
        else:  # Ctrl-C, or the end of the program
            self.end("stopped")

    def __repr__(self) -> str:
        return f"<Producer of {self.manifest.n_atoms:,} atoms on {self.path}>"
