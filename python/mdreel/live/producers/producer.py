"""Producers, which publish frames on a channel."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Self

from numpy.typing import ArrayLike

from mdreel._core import ChannelProducer, channel_status
from mdreel.errors import MismatchError
from mdreel.live.archives.archiver_process import ArchiverProcess
from mdreel.live.archives.options import Archive
from mdreel.live.channels.directory import channel_path, make_folder_for
from mdreel.live.channels.epochs import NEW_RUN
from mdreel.live.channels.manifest import Manifest
from mdreel.live.channels.requests import Request, Requests
from mdreel.live.channels.sections import Encoder, declared_sections, max_frame_bytes
from mdreel.live.channels.staging import Staging
from mdreel.live.producers.awaited_consumers import await_consumers
from mdreel.live.producers.groups import Group, parse_groups
from mdreel.live.producers.patience import Patience
from mdreel.live.producers.published import Published
from mdreel.live.producers.step import parse_step
from mdreel.live.producers.termination import ExitOnSigterm

RING_BYTES = 16 << 20
"""Default size of a ring; small, because shared memory is scarce in containers."""

_SLOTS = (4, 64)


class Producer:
    """Producer that publishes the frames of a simulation on a channel, for analyses on the same node.

    As a context manager, the producer opens and ends the channel. The end is *finished*, *failed* with the message of
    an exception, or *stopped* on Ctrl-C and SIGTERM, which batch systems send at the time limit. Consumers then stop
    waiting for frames. A producer that dies is reported as lost. In the main thread, SIGTERM raises `SystemExit` within
    the ``with`` block, unless the program has a handler for it.

    Parameters
    ----------
    channel : str or path
        Name or directory of the channel; see `mdreel.live.channel`. It is created if it does not exist.
    n_atoms : int
        Number of atoms.
    velocities, forces : bool
        Whether frames may have velocities and forces.
    energies : sequence of str
        Names of the energies that frames may have.
    dtype : {"float32", "float64", "xtc", "type and float64"}
        Data type of positions, velocities and forces. ``"xtc"`` compresses positions like an XTC file, with rounding,
        to a third of the size; velocities and forces are then float32. ``"type and float64"`` stores an int32 type
        before each position, 28 bytes per atom; velocities and forces are then float64.
    precision : float
        Precision of XTC-compressed positions, integers per nm.
    n_slots : int, optional
        Number of slots of the ring; by default 4 to 64, so that the ring takes about 16 MiB.
    full : {"block", "drop-oldest", "spill"}
        Backpressure when the ring is full. ``"block"`` waits for the slowest consumer. ``"drop-oldest"`` never
        waits. It overwrites the oldest frame that no consumer holds, which is counted and reported to consumers.
        ``"spill"`` writes the frame only to `staging`, where consumers find it.
    timeout : float, optional
        Maximum time to wait for a free slot, s; by default unlimited.
    warn_after : float
        Time of waiting for a consumer, s, after which a `SlowConsumerWarning` names its process. A producer warns once
        of each process.
    groups : sequence of str or Group
        Consumer groups that exist before the first frame. With staging, their members receive all frames, whenever
        they join. Without staging, they miss the frames that leave the ring before they join. `Group` declares a group
        whose members share the frames.
    staging : Staging, optional
        Files to which frames are written before they are published. Without staging, frames survive the end of any
        process, but not of the machine.
    archive : path or Archive, optional
        File to which a separate process writes the frames, as XTC, H5MD or another format; see `mdreel.live.archive`.
    resume_step : int, optional
        First step to be published. It is required if the previous producer died without ending the channel; consumers
        then continue without a repeated step. By default, a new run starts, and consumers ignore earlier frames.
    time_step : float
        Time between two steps, ps.
    stride : int
        Number of steps between two frames.
    topology_hash : bytes, optional
        32 bytes that identify the topology.

    Attributes
    ----------
    path : Path
        Directory of the channel.
    manifest : Manifest
        Properties common to all frames.

    Raises
    ------
    MismatchError
        If an argument is invalid.

    Notes
    -----
    Publishing copies the arrays once and makes no system call unless a consumer is sleeping. Contiguous float32 arrays
    are copied directly; others are converted first. A child process that is forked without ``exec`` keeps the channel
    of its parent; see the page on channels.

    Examples
    --------
    >>> import numpy as np
    >>> import mdreel
    >>> with mdreel.live.Producer("run1", n_atoms=3) as producer:
    ...     for step in range(10):
    ...         published = producer.publish(np.zeros((3, 3), np.float32), step, 0.002 * step)
    >>> mdreel.live.channel("run1").status().n_published
    10
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
        warn_after: float = 5.0,
        groups: Sequence[str | Group] = (),
        staging: Staging | None = None,
        archive: "str | PathLike[str] | Archive | None" = None,
        resume_step: int | None = None,
        time_step: float = 0.0,
        stride: int = 0,
        topology_hash: bytes | None = None,
    ) -> None:
        self.path = channel_path(channel)
        if n_atoms < 1:
            raise MismatchError(f"expected 1 atom or more, got {n_atoms}", path=self.path)
        if not 0 < precision < float("inf"):
            raise MismatchError(f"the precision must be a positive number, not {precision!r}", path=self.path)
        if topology_hash is not None and len(topology_hash) != 32:
            raise MismatchError(f"expected a topology hash of 32 bytes, got {len(topology_hash)}", path=self.path)
        sections = declared_sections(dtype, velocities, forces)
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
        self._slot_bytes = max_frame_bytes(self.manifest)
        least, most = _SLOTS
        self._n_slots = max(least, min(most, RING_BYTES // self._slot_bytes)) if n_slots is None else int(n_slots)
        if self._n_slots < 2:
            raise MismatchError(f"expected 2 slots or more, got {n_slots}", path=self.path)
        if full == "spill" and staging is None:
            raise MismatchError(
                f'{self.path}: full="spill" requires staging: give staging=, or --staging on the command line'
            )
        self._full = full
        self._timeout = timeout
        self._patience = Patience(self.path, warn_after)
        self._groups = parse_groups(groups)
        self._staging = staging
        if archive is not None and not isinstance(archive, Archive):
            archive = Archive(archive)
        self._archiver = None if archive is None else ArchiverProcess(self.path, archive)
        self._resume_step = resume_step
        self._core: ChannelProducer | None = None
        self._process = os.getpid()
        self._requests: Requests | None = None
        self._sigterm = ExitOnSigterm()

    def open(self) -> Self:
        """Open the channel, if it is not open yet, so that consumers can join.

        Returns
        -------
        Producer
            This producer.

        Raises
        ------
        StreamError
            If the channel has a running producer.
        MismatchError
            If the existing channel has other sections or another size, or if its producer has died and `resume_step` is
            not set. Also if a declared group exists with another value of `share`.
        PermissionError
            If another user owns the directory or may enter it.
        OSError
            If the channel cannot be created, for example because memory is short.

        Warns
        -----
        MdreelWarning
            If the archive cannot be begun, for example because its file exists. The simulation runs without it.
        """
        if self._core is None:
            make_folder_for(self.path)
            is_to_start = self._archiver is not None and self._archiver.is_wanted()
            self._core = ChannelProducer(
                self.path, self.manifest, self._n_slots, self._slot_bytes, self._full, self._first_step(), self._staging
            )
            try:
                for group in self._groups:
                    group.declare(self.path)
                if self._archiver is not None and is_to_start:
                    self._archiver.start()
            except BaseException as error:  # also Ctrl-C, or a warning that is an error
                self._core.end("failed", f"{type(error).__name__}: {error}")
                self._core = None
                raise
        return self

    def await_consumers(self, n_consumers: int = 1, timeout: float | None = None) -> None:
        """Wait until a number of consumers have joined, so that they receive the first frame.

        A consumer that is still reading earlier frames from staging counts when it has read all of them.

        Parameters
        ----------
        n_consumers : int
            Number of consumers, at most 1,024. Consumers of the policy "latest" do not count.
        timeout : float, optional
            Maximum time to wait, s; by default unlimited.

        Raises
        ------
        StreamTimeoutError
            If too few consumers joined in time.
        MismatchError
            If a channel cannot have so many consumers.
        """
        self.open()
        await_consumers(self.path, lambda: self._require_open().n_consumers, n_consumers, timeout)

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
        *,
        timeout: float | None = None,
    ) -> Published:
        """Publish a frame.

        Parameters
        ----------
        positions : array_like, shape (n_atoms, 3), float
            Positions, Å. On a channel of "type and float64" also an array of shape (n_atoms,) with the fields ``type``
            (int32) and ``position`` (3 float64), which is copied directly.
        step : int
            Step of the simulation; an integer greater than the step of the frame before.
        time : float
            Time, ps.
        box : array_like, shape (3, 3) or (6,), float, optional
            Row vectors of the cell, Å; or its three lengths, Å, and three angles, degrees, as in MDAnalysis's
            ``dimensions``. None without a cell.
        velocities : array_like, shape (n_atoms, 3), float, optional
            Velocities, Å/ps.
        forces : array_like, shape (n_atoms, 3), float, optional
            Forces, kJ/(mol Å).
        energies : mapping of str to float, or array_like, shape (n_energies,), float, optional
            Energies, kJ/mol, by name or in the order of the manifest.
        types : array_like, shape (n_atoms,), int, optional
            Type of each atom, for a channel with types; by default 0.
        timeout : float, optional
            Maximum time to wait for a free slot, s; by default that of the producer.

        Returns
        -------
        Published
            Sequence number and durability of the frame.

        Raises
        ------
        MismatchError
            If an array has a wrong shape or type, or the channel was opened without it; or if the step is not an
            integer greater than the step before.
        StreamTimeoutError
            If no slot became free in time. The frame has no sequence number; you may publish it again.
        OSError
            If the frame cannot be staged, for example on a full disk. It was not published.
        """
        step = parse_step(self.path, step)
        cell = None if box is None else self._encoder.cell(box, step)
        sections = [self._encoder.positions(positions, step, time, cell, types)]
        for name, values in (("velocities", velocities), ("forces", forces)):
            if values is not None:
                sections.append(self._encoder.per_atom(name, values, step))
        if energies is not None:
            sections.append(self._encoder.energies(energies, step))
        self.open()
        if self._archiver is not None:
            self._archiver.check()
        wait = self._timeout if timeout is None else timeout
        frame = step, float(time), cell, sections
        return Published(*self._patience.publish(self._require_open(), frame, wait))

    def requests(self) -> list[Request]:
        """Return the new requests to the simulation; call the method between two frames.

        Returns
        -------
        list of Request
            Requests, oldest first. Answer or refuse each of them.
        """
        if self._requests is None:
            self._requests = Requests(self.path, self._require_open().epoch)
        return self._requests.take()

    def end(self, how: str = "finished", reason: str = "") -> None:
        """End the channel. A second call has no effect.

        Parameters
        ----------
        how : {"finished", "stopped", "failed"}
            End of the simulation. A failure raises an exception in consumers.
        reason : str
            Reason of a failure; it is truncated to 256 bytes.

        Notes
        -----
        The method waits until the archive is complete, unless the simulation has failed.
        """
        if self._core is not None:
            self._core.end(how, reason)
            if self._archiver is not None:
                self._archiver.end(is_failure=how == "failed")

    @property
    def epoch(self) -> int:
        """Number of earlier producers of the channel."""
        return self._require_open().epoch

    @property
    def dropped(self) -> int:
        """Number of frames that were overwritten before all consumers had read them."""
        return self._require_open().dropped

    @property
    def lag(self) -> int | None:
        """Lag of the slowest consumer, in frames; None without consumers."""
        return self._require_open().lag

    @property
    def n_consumers(self) -> int:
        """Number of consumers."""
        return self._require_open().n_consumers

    def _require_open(self) -> ChannelProducer:
        if self._core is None:
            raise MismatchError("the producer has not opened the channel; use `with` or call open()", path=self.path)
        return self._core

    def _first_step(self) -> int:
        """Return the first step; consumers ignore later frames of earlier producers."""
        if self._resume_step is not None:
            return int(self._resume_step)
        try:
            status = channel_status(self.path)
        except FileNotFoundError:
            return NEW_RUN
        if not status["has_producer"] and status["end"] is None:
            message = f"its producer died after {status['sequence']} frames"
            advice = "set resume_step= to the first step to publish, or remove the channel"
            raise MismatchError(f"{message}; {advice}", path=self.path)
        return NEW_RUN

    def __enter__(self) -> Self:
        self.open()
        self._sigterm.install()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        try:
            if error is not None and os.getpid() != self._process:
                return  # a forked child, which cannot end the channel of its parent, and ends with its own error
            if isinstance(error, Exception):
                self.end("failed", f"{type(error).__name__}: {error}")
            else:  # Ctrl-C and SIGTERM raise other exceptions
                self.end("finished" if error is None else "stopped")
        finally:
            self._sigterm.remove()

    def __repr__(self) -> str:
        return f"<Producer of {self.manifest.n_atoms:,} atoms on {self.path}>"
