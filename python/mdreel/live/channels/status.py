"""Status of channels, which can be read without joining them."""

import shlex
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import monotonic, sleep
from typing import Self

from mdreel.errors import FormatError, MdreelWarning
from mdreel.foundation.printable import printable
from mdreel.foundation.stack_level import caller_level
from mdreel.live.channels.core_without_arrays import channel_status
from mdreel.live.channels.directory import channel_path, channels_folder, check_folder
from mdreel.live.channels.manifest import Manifest
from mdreel.live.channels.participants import ConsumerStatus, Participant, name_consumers


@dataclass(frozen=True)
class Status:
    """Snapshot of the state of a channel.

    Attributes
    ----------
    path : Path
        Directory of the channel. It has the same name as the channel.
    manifest : Manifest
        Properties that all frames have in common.
    state : {"running", "lost", "finished", "stopped", "failed"}
        ``running`` if the channel has a producer. Otherwise, how the channel has ended, or ``lost`` if its producer
        died without ending it.
    reason : str or None
        Reason why the run failed, or why the producer was lost, with its process and host.
    epoch : int
        Number of earlier producers of the channel.
    n_published : int
        Number of frames published by all producers of all runs.
    n_dropped : int
        Number of frames that were overwritten before all consumers had read them.
    lags : tuple of int
        Lag of each consumer, in frames.
    n_slots : int
        Number of slots in the ring.
    n_bytes : int
        Size of the ring, in bytes.
    producer : Participant or None
        Process of the producer, or None if there is no producer or its process is unknown.
    consumers : tuple of ConsumerStatus
        All consumers, including those that only receive the newest frame or read from staging.
    waits : float or None
        Time for which the producer has been waiting for a free slot, in s, or None if it is not waiting.
    ended_at : float or None
        Time at which the run ended, in seconds since 1970, or None if the run is in progress or this time is unknown.
    first_of_run : int or None
        Number of frames that earlier runs have published, or None if it is unknown.

    Examples
    --------
    >>> import mdreel
    >>> with mdreel.live.Producer("run1", n_atoms=3):
    ...     print(mdreel.live.Status.read("run1").state)
    running
    >>> mdreel.live.Status.read("run1").state
    'finished'
    """

    path: Path
    manifest: Manifest
    state: str
    reason: str | None
    epoch: int
    n_published: int
    n_dropped: int
    lags: tuple[int, ...]
    n_slots: int
    n_bytes: int
    producer: Participant | None = None
    consumers: tuple[ConsumerStatus, ...] = ()
    waits: float | None = None
    ended_at: float | None = None
    first_of_run: int | None = None

    @classmethod
    def read(cls, channel: str | PathLike[str]) -> Self:
        """Read the status of a channel.

        Parameters
        ----------
        channel : str or path
            Name or directory of the channel.

        Raises
        ------
        FileNotFoundError
            When the channel does not exist.
        PermissionError
            When another user owns this directory or can access it.
        FormatError
            When the directory does not contain a channel.
        """
        path = channel_path(channel)
        seen = channel_status(path)
        state, reason = seen["end"] or ("lost", seen["loss"])
        return cls(
            path=path,
            manifest=Manifest.from_core(seen["manifest"]),
            state="running" if seen["has_producer"] else state,
            reason=None if seen["has_producer"] or reason is None else printable(reason),
            epoch=seen["epoch"],
            n_published=seen["n_published"],
            n_dropped=seen["n_dropped"],
            lags=tuple(seen["lags"]),
            n_slots=seen["n_slots"],
            n_bytes=seen["n_bytes"],
            producer=Participant.from_core(seen["producer"]),
            consumers=tuple(map(ConsumerStatus.from_core, seen["consumers"])),
            waits=seen["waits"],
            ended_at=None if seen["has_producer"] else seen["ended_at"],
            first_of_run=seen["first_of_run"],
        )

    @property
    def name(self) -> str:
        """Name of the channel."""
        return printable(self.path.name)

    @property
    def n_of_run(self) -> int:
        """Number of frames published in the current run, or in all runs if the runs cannot be told apart."""
        return self.n_published - (self.first_of_run or 0)

    @property
    def n_consumers(self) -> int:
        """Number of consumers."""
        return len(self.lags)

    @property
    def lag(self) -> int | None:
        """Number of frames by which the slowest consumer lags behind, or None if there are no consumers."""
        return max(self.lags, default=None)

    @property
    def waiting(self) -> str | None:
        """Description of the consumers that the producer is waiting for, or None if it is not waiting."""
        if self.waits is None:
            return None
        blockers = [consumer for consumer in self.consumers if consumer.is_waited_for]
        return f"the simulation has waited {self.waits:.1f} s for {name_consumers(blockers)}"


def list_channels(folder: str | PathLike[str] | None = None) -> list[Status]:
    """Return the status of all of this user's channels.

    Parameters
    ----------
    folder : path, optional
        Folder that contains the channels. By default, this is the folder of named channels.

    Returns
    -------
    list of Status
        Status of each channel, sorted by name.

    Raises
    ------
    PermissionError
        When another user owns this folder or can access it.

    Warns
    -----
    MdreelWarning
        When a channel cannot be read, for example because it was written by another version of mdreel.

    Examples
    --------
    >>> import mdreel
    >>> with mdreel.live.Producer("run1", n_atoms=3), mdreel.live.Producer("run2", n_atoms=5):
    ...     print([(status.name, status.manifest.n_atoms) for status in mdreel.live.list_channels()])
    [('run1', 3), ('run2', 5)]
    """
    found, unreadable = read_channels(channels_folder() if folder is None else Path(folder))
    for message in unreadable:
        warnings.warn(message, MdreelWarning, stacklevel=caller_level())
    return found


def read_channels(folder: Path) -> tuple[list[Status], list[str]]:
    """Return the status of all channels in a folder, and a message for each channel that cannot be read."""
    found, unreadable = [], []
    for path in list_channel_paths(folder):
        try:
            found.append(Status.read(path))
        except FileNotFoundError:
            continue  # it is being created or removed
        except (FormatError, OSError) as error:
            unreadable.append(explain_unreadable(path, error))
    return found, unreadable


def explain_unreadable(path: Path, error: Exception) -> str:
    """Return a message about a channel that cannot be read, with a remedy."""
    if not isinstance(error, FormatError):
        return printable(f"{path.name}: {getattr(error, 'strerror', None) or error}")
    cause = "another version of mdreel wrote this channel, or the directory is no channel"
    remedy = f"if its simulation has ended, remove it with: rm -r {shlex.quote(str(path))}"
    return printable(f"{path.name}: {cause}; use that version, or {remedy}")


def list_channel_paths(folder: Path) -> list[Path]:
    """Return the directories in a folder, which can be missing, sorted by name; see `check_folder` for the errors."""
    if not folder.exists():
        return []
    check_folder(folder)
    return sorted(path for path in folder.iterdir() if path.is_dir())


def measure_rates(seen: Sequence[Status], seconds: float) -> list[float]:
    """Measure the frames per second of channels for some time, in s. The rate of a channel that was removed is 0."""
    since = monotonic()
    sleep(seconds)
    found = []
    for before in seen:
        try:
            now = Status.read(before.path)
        except FileNotFoundError:
            found.append(0.0)
        else:
            found.append((now.n_published - before.n_published) / max(monotonic() - since, 1e-9))
    return found
