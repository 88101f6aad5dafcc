"""Archiving of a channel to a file, each frame once and in order."""

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import monotonic

from mdreel.errors import MismatchError
from mdreel.foundation.atomic_files import check_target
from mdreel.live.archives.archiver import Archiver, Choices
from mdreel.live.archives.options import GROUP
from mdreel.live.archives.part_file import PartFile
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.directory import place_of, when_there
from mdreel.live.channels.status import Status
from mdreel.trajectory.output_file import check_settings

_MISSED = ("raise", "skip")


@dataclass(frozen=True)
class Archived:
    """An archive that is whole.

    Attributes
    ----------
    path : Path
        The file.
    n_frames : int
        Frames in it.
    n_missed : int
        Frames that could not be had any more, and are not in it.
    """

    path: Path
    n_frames: int
    n_missed: int

    @property
    def n_bytes(self) -> int:
        """Size of the file."""
        return self.path.stat().st_size


def archive(
    channel: str | PathLike[str],
    path: str | PathLike[str],
    *,
    precision: float | None = None,
    group: str = GROUP,
    timeout: float | None = None,
    wait: float = 0.0,
    restart: float = 0.0,
    on_missed: str = "raise",
    finish: bool = False,
    force: bool = False,
    progress: Callable[[int], object] | None = None,
) -> Archived:
    """Write each frame of a channel to a file, as they come, until the simulation ends.

    Parameters
    ----------
    channel : str or path
        The channel's name, or its directory; see `mdreel.live.channel`.
    path : path
        The file; its ending is its format. It appears when the simulation has finished or was stopped; until then it
        has a hidden name beside that.
    precision : float, optional
        For XTC: integers per nm; by default 1000.
    group : str
        The group of the channel that remembers which frames are in the file. A second archive needs one of its own.
    timeout : float, optional
        For how long a frame may be waited for, s; by default as long as the producer lives.
    wait : float
        For how long the channel may not be there, or another process may write this archive, s.
    restart : float
        For how long a producer that was lost may be away, s.
    on_missed : {"raise", "skip"}
        What is done about frames that were overwritten before they were archived: it is an error, or goes on.
    finish : bool
        Whether the file ends with what there is where the simulation has failed or was lost.
    force : bool
        Whether an existing file may be replaced, and a file that is not whole of an earlier run. The existing one stays
        until the new one is whole.
    progress : callable, optional
        Called with the number of frames in the file, after each.

    Returns
    -------
    Archived
        The file.

    Raises
    ------
    StreamError
        If the simulation has failed or was lost, unless `finish`; if frames were missed, or none came. What is in the
        file stays under its hidden name.
    StreamTimeoutError
        If no frame came in time, or another process writes this archive.
    MismatchError
        If the format cannot hold a frame; if the group has another file, or the file another precision; if a new run
        has begun, whose frames are not of this file.
    UnsupportedError
        If no format has the ending of `path`, or it is one of H5MD's and h5py is not installed.
    FileNotFoundError
        If there is no such channel.
    FileExistsError
        If the file exists and is not to be replaced.
    OSError
        If it cannot be written, as on a full disk: what was committed stays.

    Notes
    -----
    Who is killed, at whatever moment, and starts again with the same arguments, ends with the same bytes as one who was
    not: each commit has the length of the file and the place in the stream in one, and what is behind it is cut off and
    written again. For that the frames behind the last commit must still be there: with a staging they are, as its
    retention waits for the group.

    Steps are archived once, and in order, also where a simulation was restarted. Positions, velocities and forces are
    archived as float32, as far as the format holds them; energies are not. H5MD keeps steps, times and numbers to the
    bit, DCD and NetCDF positions.

    Examples
    --------
    >>> import mdreel
    >>> mdreel.live.archive("run1", "run1.h5md", wait=60)  # doctest: +SKIP
    """
    if on_missed not in _MISSED:
        raise MismatchError(f"on_missed must be one of {', '.join(_MISSED)}, not {on_missed!r}")
    choices = Choices(precision, timeout, bears_missed=on_missed == "skip", finishes=finish, force=force)
    return archive_with(channel, Path(path), choices, group=group, wait=wait, restart=restart, progress=progress)


def archive_with(
    channel: str | PathLike[str],
    path: Path,
    choices: Choices,
    *,
    group: str,
    wait: float,
    restart: float,
    progress: Callable[[int], object] | None = None,
    joined: Callable[[], object] | None = None,
) -> Archived:
    """As `archive`; `joined` is called when the group is there, so that no frame can go before it was archived."""
    place = place_of(channel)
    check_settings(path, choices.precision)
    check_target(path, force=True)  # whether it may be there is seen when it is known what was committed
    until = monotonic() + wait
    when_there(lambda: Status.of(place), wait)
    with PartFile(path, max(0.0, until - monotonic())) as part, Consumer(place, restart=restart, group=group) as frames:
        archiver = Archiver(part, frames, choices)
        if not archiver.is_done:
            if joined is not None:
                joined()
            archiver.take_all(progress)
            archiver.finish()
        return Archived(part.path, archiver.n_frames, archiver.n_missed)
