"""Archives of channels. Even after restarts, an archive contains every frame exactly once and in order."""

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import monotonic

from mdreel.errors import MismatchError, StreamError
from mdreel.foundation.atomic_files import check_target
from mdreel.live.archives.archiver import Archiver, ArchiverOptions
from mdreel.live.archives.options import GROUP
from mdreel.live.archives.part_file import PartFile
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.directory import channel_path, wait_until_available
from mdreel.live.channels.status import Status
from mdreel.trajectory.output_file import check_settings

_MISSED = ("raise", "skip")


@dataclass(frozen=True)
class Archived:
    """A complete archive.

    Attributes
    ----------
    path : Path
        The file.
    n_frames : int
        Number of frames in the file.
    n_missed : int
        Number of frames that were overwritten before they could be archived.

    Examples
    --------
    >>> import mdreel
    >>> archived = mdreel.live.archive("run1", "run1.h5md")  # doctest: +SKIP
    >>> archived.n_frames, archived.n_missed  # doctest: +SKIP
    (5, 0)
    """

    path: Path
    n_frames: int
    n_missed: int

    @property
    def n_bytes(self) -> int:
        """Size of the file, in bytes."""
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
    """Write the frames of a channel to a file as they are published, until the simulation ends.

    Parameters
    ----------
    channel : str or path
        Name or directory of the channel; see `mdreel.live.channel`.
    path : path
        Output file, whose format is determined by its suffix. A hidden name will be used for this file until the
        simulation has finished or was stopped.
    precision : float, optional
        Precision of XTC files, in integers per nm. The default is 1000.
    group : str
        Consumer group that records which frames are in the file. You need to use different groups for different
        archives of a channel.
    timeout : float, optional
        Maximum time to wait for a frame, in s. By default, there is no limit as long as the producer is alive.
    wait : float
        Maximum time, in s, to wait for the channel, and for another process that is still writing this archive.
    restart : float
        Maximum time to wait for a lost producer to restart, in s.
    on_missed : {"raise", "skip"}
        Whether to fail (``"raise"``) or continue (``"skip"``) if frames were overwritten before they could be archived.
    finish : bool
        Whether to finish the file with the available frames if the simulation has failed or was lost.
    force : bool
        Whether to replace an existing file, or an incomplete file from an earlier run. The existing file is kept until
        the new file is complete.
    progress : callable, optional
        Function that is called after each frame with the number of frames in the file.

    Returns
    -------
    Archived
        The file.

    Raises
    ------
    StreamError
        When the simulation has failed or was lost and `finish` is false, frames were missed, or there were no frames.
        The incomplete file will then keep its hidden name.
    StreamTimeoutError
        When no frame was published in time, or another process is writing this archive.
    MismatchError
        When the format cannot store a frame, the group belongs to another file, the precision has changed, or a new run
        has begun.
    UnsupportedError
        When the suffix of `path` is unknown, or `path` is an H5MD file and h5py is not installed.
    FileNotFoundError
        When the channel does not exist.
    FileExistsError
        When the file exists and `force` is false.
    OSError
        When the file cannot be written, for example because your disk is full. You will not lose frames that were
        committed.

    Notes
    -----
    You can kill the process at any time and start it again using the same arguments. The resulting file will be bitwise
    identical to that of an uninterrupted run, since a commit contains both the length of the file and the position in
    the stream. If data has been written to the file since the last commit, it will be truncated and written again.
    However, this is only possible if the frames are still available in the channel. You can use staging to make sure
    that frames are retained until the group has committed them.

    All steps are archived exactly once and in order, even if you restart the simulation. Positions, velocities and
    forces are stored as float32 if the format supports them. Energies are not archived. In H5MD files, steps, times and
    quantities are exact. In DCD and NetCDF files, only positions are exact.

    Examples
    --------
    >>> import mdreel
    >>> archived = mdreel.live.archive("run1", "run1.h5md", wait=60)  # doctest: +SKIP
    >>> archived.n_frames  # doctest: +SKIP
    1000
    """
    if on_missed not in _MISSED:
        raise MismatchError(f"on_missed must be one of {', '.join(_MISSED)}, not {on_missed!r}")
    options = ArchiverOptions(precision, timeout, skips_missed=on_missed == "skip", finishes=finish, force=force)
    return archive_with(channel, Path(path), options, group=group, wait=wait, restart=restart, progress=progress)


def archive_with(
    channel: str | PathLike[str],
    path: Path,
    options: ArchiverOptions,
    *,
    group: str,
    wait: float,
    restart: float,
    progress: Callable[[int], object] | None = None,
    joined: Callable[[], object] | None = None,
) -> Archived:
    """Archive a channel; see `archive`. `joined` is called as soon as the group exists and retains new frames."""
    place = channel_path(channel)
    check_settings(path, options.precision)
    check_target(path, force=True)  # whether it may exist depends on what was committed
    until = monotonic() + wait
    wait_until_available(lambda: Status.read(place), place, wait)
    with PartFile(path, max(0.0, until - monotonic())) as part, _join(place, restart, group) as frames:
        archiver = Archiver(part, frames, options)
        if not archiver.is_done:
            if joined is not None:
                joined()
            archiver.take_all(progress)
            archiver.finish()
        return Archived(part.path, archiver.n_frames, archiver.n_missed)


def _join(place: Path, restart: float, group: str) -> Consumer:
    """Join the group of an archive."""
    try:
        return Consumer(place, restart=restart, group=group, on_late="ignore").open()
    except StreamError as error:
        if "is there already" not in str(error):
            raise
        message = f"another archive of this channel uses the group {group!r}, maybe that of the simulation"
        advice = "give this one its own group (group=, --group)"
        raise StreamError(f"{message} (Producer(archive=)); {advice}", path=place) from error
