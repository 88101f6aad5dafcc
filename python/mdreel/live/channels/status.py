"""Status of channels."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import monotonic, sleep
from typing import Self

from mdreel._core import channel_status
from mdreel.foundation.printable import printable
from mdreel.live.channels.directory import check_folder, folder_of_channels, place_of
from mdreel.live.channels.manifest import Manifest


@dataclass(frozen=True)
class Status:
    """What can be seen of a channel at a moment.

    Attributes
    ----------
    path : Path
        Its directory, whose name is that of the channel.
    manifest : Manifest
        What holds for all frames.
    state : {"running", "lost", "finished", "stopped", "failed"}
        Whether it has a producer, and if not, how it ended; ``lost`` without an end.
    reason : str or None
        Of a failure.
    epoch : int
        How often the channel was opened before.
    n_published : int
        Frames that it has had, of all producers.
    n_dropped : int
        Frames that were overwritten before every consumer had seen them.
    lags : tuple of int
        How far each consumer is behind, in frames.
    n_slots : int
        How many frames the ring holds.
    n_bytes : int
        Memory that the ring takes, bytes.
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

    @classmethod
    def of(cls, channel: str | PathLike[str]) -> Self:
        """Look at a channel.

        Parameters
        ----------
        channel : str or path
            Its name, or its directory.

        Raises
        ------
        FileNotFoundError
            If there is none.
        PermissionError
            If the directory belongs to somebody else, or others may enter.
        FormatError
            If what is there is no channel.
        """
        path = place_of(channel)
        seen = channel_status(path)
        state, reason = seen["end"] or ("lost", None)
        return cls(
            path=path,
            manifest=Manifest.of(seen["manifest"]),
            state="running" if seen["has_producer"] else state,
            reason=None if seen["has_producer"] or reason is None else printable(reason),
            epoch=seen["epoch"],
            n_published=seen["n_published"],
            n_dropped=seen["n_dropped"],
            lags=tuple(seen["lags"]),
            n_slots=seen["n_slots"],
            n_bytes=seen["n_bytes"],
        )

    @property
    def name(self) -> str:
        """The channel's name."""
        return printable(self.path.name)

    @property
    def n_consumers(self) -> int:
        """How many consumers there are."""
        return len(self.lags)

    @property
    def lag(self) -> int | None:
        """How far the slowest consumer is behind, in frames; None without consumers."""
        return max(self.lags, default=None)


def list_channels(folder: str | PathLike[str] | None = None) -> list[Status]:
    """Look at all channels of this user.

    Parameters
    ----------
    folder : path, optional
        Where they are; by default where channels are found by name.

    Returns
    -------
    list of Status
        One for each, by name.

    Raises
    ------
    PermissionError
        If the folder, or a channel in it, belongs to somebody else, or others may enter.
    FormatError
        If what is there is no channel.
    """
    found = []
    for path in paths_of_channels(folder_of_channels() if folder is None else Path(folder)):
        try:
            found.append(Status.of(path))
        except FileNotFoundError:
            continue  # it is being made, or removed
    return found


def paths_of_channels(folder: Path) -> list[Path]:
    """Return the directories of channels in a folder, by name; of some of them it may turn out that they are none.

    Parameters
    ----------
    folder : Path
        The folder, which need not be there.

    Raises
    ------
    PermissionError
        If it belongs to somebody else, or others may enter.
    """
    if not folder.exists():
        return []
    check_folder(folder)
    return sorted(path for path in folder.iterdir() if path.is_dir())


def rates(seen: Sequence[Status], seconds: float) -> list[float]:
    """Measure how fast channels get frames.

    Parameters
    ----------
    seen : sequence of Status
        The channels, as they were just seen.
    seconds : float
        For how long to wait, s.

    Returns
    -------
    list of float
        Frames a second of each channel; 0 of one that is gone.
    """
    since = monotonic()
    sleep(seconds)
    found = []
    for before in seen:
        try:
            now = Status.of(before.path)
        except FileNotFoundError:
            found.append(0.0)
        else:
            found.append((now.n_published - before.n_published) / max(monotonic() - since, 1e-9))
    return found
