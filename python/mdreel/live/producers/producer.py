"""Producers, which publish frames on a channel."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Self

from numpy.typing import ArrayLike

from mdreel._core import ChannelProducer, channel_status
from mdreel.errors import MismatchError
from mdreel.foundation.formatting import counted
from mdreel.live.archives.archiver_process import ArchiverProcess
from mdreel.live.archives.options import Archive
from mdreel.live.channels.directory import channel_path, make_folder_for
from mdreel.live.channels.epochs import NEW_RUN
from mdreel.live.channels.frame_size import max_frame_bytes
from mdreel.live.channels.manifest import Manifest
from mdreel.live.channels.requests import Request, Requests
from mdreel.live.channels.sections import Encoder, declared_sections
from mdreel.live.channels.staging import Staging
from mdreel.live.producers.awaited_consumers import await_consumers
from mdreel.live.producers.groups import Group, parse_groups
from mdreel.live.producers.patience import Patience
from mdreel.live.producers.published import Published
from mdreel.live.producers.step import parse_step
from mdreel.live.producers.termination import ExitOnSigterm

RING_BYTES = 16 << 20
"""Default size of a ring. It is small because shared memory is scarce in containers."""

_SLOTS = (4, 64)


class Producer:
    """Producer that publishes the frames of a simulation on a channel, for analyses on the same node.

    You should use the producer as a context manager, which opens the channel and ends it when the context exits. The
    final state is *finished*, *failed* with the message of an exception, or *stopped* on Ctrl-C and SIGTERM, which
    batch systems send at the time limit. Consumers then stop waiting for frames. A producer that dies is reported as
    lost. In the main thread, SIGTERM raises `SystemExit` in the ``with`` block, unless your program handles it.

    Parameters
    ----------
    channel : str or path
        Name or directory of the channel; see `mdreel.live.channel`. The channel will be created if it does not exist.
    n_atoms : int
        Number of atoms.
    velocities, forces : bool
        Whether frames can contain velocities and forces.
    energies : sequence of str
        Names of the energies that frames can contain.
    dtype : {"float32", "float64", "xtc", "type and float64"}
        Data type of positions, velocities and forces. ``"xtc"`` rounds and compresses positions to a third of their
        size as in an XTC file, and uses float32 for velocities and forces. ``"type and float64"`` stores an int32 type
        before each position (28 bytes per atom), and uses float64 for velocities and forces.
    precision : float
        Precision of XTC-compressed positions, in integers per nm.
    n_slots : int, optional
        Number of slots in the ring. By default, it is between 4 and 64, such that the ring is about 16 MiB large.
    full : {"block", "drop-oldest", "spill"}
        How to proceed when the ring is full. ``"block"`` waits for the slowest consumer. ``"drop-oldest"`` never waits,
        but overwrites the oldest frame that is not held by a consumer. Such frames are counted and reported to
        consumers. ``"spill"`` only writes the frame to `staging`, where consumers can read it.
    timeout : float, optional
        Maximum time to wait for a free slot, in s. By default, there is no limit.
    warn_after : float
        Waiting time, in s, after which the producer issues one `SlowConsumerWarning` for each slow process.
    groups : sequence of str or Group
        Consumer groups that are created before the first frame. If you use staging, their members will receive all
        frames. Otherwise, they miss those that leave the ring too early. Use a `Group` to share frames in a group.
    staging : Staging, optional
        Files that frames are written to before they are published. Without staging, frames survive the end of a
        process, but not the shutdown of the machine.
    archive : path or Archive, optional
        File that a separate process writes the frames to, in XTC, H5MD or another format; see `mdreel.live.archive`.
    resume_step : int, optional
        First step to be published, which is needed when the previous producer died without ending the channel.
        Consumers then continue without repeated steps. By default, a new run starts, and consumers ignore earlier
        frames.
    time_step : float
        Time between two steps, in ps.
    stride : int
        Number of steps between two frames.
    topology_hash : bytes, optional
        32 bytes that identify the topology.

    Attributes
    ----------
    path : Path
        Directory of the channel.
    manifest : Manifest
        Properties that all frames have in common.

    Raises
    ------
    MismatchError
        If an argument is invalid.

    Notes
    -----
    When you publish a frame, its arrays are copied once, and no system call is needed unless a consumer is sleeping.
    Contiguous float32 arrays are copied directly. Other arrays have to be converted first. If your process forks a
    child without ``exec``, the child keeps the channel; see the page on channels.

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
        """Open the channel so that consumers can join, if it is not open yet.

        Returns
        -------
        Producer
            This producer.

        Raises
        ------
        StreamError
            When the channel has a running producer.
        MismatchError
            When the channel has other sections or another size, or its producer has died without `resume_step`. When
            one of its groups has another value of `share`, or its commits are in another staging directory.
        PermissionError
            When another user owns this directory or can access it.
        OSError
            When the channel cannot be created, for example because there is not enough memory.

        Warns
        -----
        MdreelWarning
            When the archive cannot be started, for example because its file exists. The simulation will then run
            without an archive.
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

        A consumer that reads earlier frames from staging counts once it has read them. A missing archive need not join.

        Parameters
        ----------
        n_consumers : int
            Number of consumers, at most 1,024, including the archive but not those of the policy "latest".
        timeout : float, optional
            Maximum time to wait, in s. By default, there is no limit.

        Raises
        ------
        StreamTimeoutError
            If not enough consumers joined in time.
        MismatchError
            If the number exceeds the maximum.
        """
        self.open()
        n_wanted = n_consumers - bool(self._archiver and self._archiver.is_missing)
        await_consumers(self.path, lambda: self._require_open().n_consumers, n_wanted, timeout)

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
            Positions, in Å. If the data type of the channel is "type and float64", you can also pass a structured array
            of shape (n_atoms,). Its fields ``type`` (int32) and ``position`` (3 float64) will be copied directly.
        step : int
            Step of the simulation, which must be an integer greater than the step of the previous frame.
        time : float
            Time, in ps.
        box : array_like, shape (3, 3) or (6,), float, optional
            Row vectors of the cell in Å, or its three lengths in Å and three angles in degrees, as in MDAnalysis's
            ``dimensions``. Use None if there is no cell.
        velocities : array_like, shape (n_atoms, 3), float, optional
            Velocities, in Å/ps.
        forces : array_like, shape (n_atoms, 3), float, optional
            Forces, in kJ/(mol Å).
        energies : mapping of str to float, or array_like, shape (n_energies,), float, optional
            Energies in kJ/mol, by name or in the order of the manifest.
        types : array_like, shape (n_atoms,), int, optional
            Types of the atoms, if the channel has types. By default, all types are 0.
        timeout : float, optional
            Maximum time to wait for a free slot, in s. By default, this is the timeout of the producer.

        Returns
        -------
        Published
            Sequence number and durability of the frame.

        Raises
        ------
        MismatchError
            When your array has the wrong shape or type, the channel was opened without this quantity, or the step is
            not greater than the previous step.
        StreamTimeoutError
            When no slot became free in time. You can publish the frame again, since no sequence number was assigned to
            it.
        OSError
            When the frame cannot be staged, for example because your disk is full. It was then not published.
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
        """Return new requests to the simulation. You should call this method between two frames.

        Returns
        -------
        list of Request
            Requests, oldest first. You should answer or refuse each of them.
        """
        if self._requests is None:
            self._requests = Requests(self.path, self._require_open().epoch)
        return self._requests.take()

    def end(self, how: str = "finished", reason: str = "") -> None:
        """End the channel, and wait for the archive unless the simulation has failed. A second call has no effect.

        Parameters
        ----------
        how : {"finished", "stopped", "failed"}
            How the simulation ended. If it failed, an exception will be raised in consumers.
        reason : str
            Reason for a failure. It is truncated to 256 bytes.
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
        """Number of frames by which the slowest consumer lags behind, or None if there are no consumers."""
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
        """Return the first step. Consumers ignore any frames of earlier producers from this step on."""
        if self._resume_step is not None:
            return int(self._resume_step)
        try:
            status = channel_status(self.path)
        except FileNotFoundError:
            return NEW_RUN
        if not status["has_producer"] and status["end"] is None and status["sequence"]:
            message = f"its producer died after {counted(status['sequence'], 'frame')}"
            remove = f"remove the channel (mdreel channels {self.path} --remove)"
            advice = f"set resume_step= to the first step to publish, or {remove}"
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
