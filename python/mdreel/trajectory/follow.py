"""Reading files while a simulation is writing them."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

from mdreel._core import Source, follow_file
from mdreel.errors import MismatchError
from mdreel.foundation.arguments import checked_arguments


@checked_arguments
def follow(
    path: str | PathLike[str],
    *,
    n_frames: int | None = None,
    idle: float | None = None,
    stop_file: str | PathLike[str] | None = None,
    process: int | None = None,
    timeout: float | None = None,
    format: str | None = None,  # noqa: A002 (MDAnalysis's word)
    index: str = "cache",
    notify: bool = True,
) -> Source:
    """Open an XTC, TRR or DCD file that is still being written, and wait for its frames.

    You need to specify at least one of `n_frames`, `idle`, `stop_file` and `process`, so that the end of the file can
    be recognized.

    Parameters
    ----------
    path : path
        The file to follow, which does not have to exist yet.
    n_frames : int, optional
        Final number of frames. If another condition is met before the file has this number of frames, an error is
        raised.
    idle : float, optional
        The file is considered complete if it has not grown for this time, in s.
    stop_file : path, optional
        The file is considered complete when this other file exists.
    process : int, optional
        The file is considered complete when the process with this id has exited.
    timeout : float, optional
        Maximum time to wait for the first frame, in s. By default, there is no limit.
    format : str, optional
        Format of the file: XTC, TRR or DCD. By default, this is detected from the content.
    index : {"cache", "beside", "none"}
        Where to store the frame index. See `mdreel.open`.
    notify : bool
        Whether to use inotify on local file systems. Otherwise, and on network file systems, the file is checked at
        intervals, which increase from 10 ms to 1 s as long as it does not grow.

    Returns
    -------
    Source
        The trajectory, which has at least one frame. Note that its `n_frames` and `times` only include the frames that
        have been written so far.

    Raises
    ------
    MismatchError
        When you specify none of the conditions, or a number is invalid.
    FileNotFoundError
        When a condition for the end was met before the file existed.
    FormatError
        When a condition for the end was met before the first frame was complete, or the file is not a trajectory.
    StreamTimeoutError
        When no frame arrived within `timeout`.
    UnsupportedError
        When files of this format cannot be followed.

    Notes
    -----
    If you analyse this trajectory, the analysis waits for new frames, and ends when the file is complete. All frames
    are read once and in order. `FormatError` is raised when the file ends in an incomplete frame, or is truncated or
    damaged. `StreamError` is raised when the file is removed or replaced, or is complete before it has `n_frames`
    frames. Operations that need to know the final number of frames (`frames=`, negative limits, conversions) will raise
    `UnsupportedError`.

    Examples
    --------
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import XTC
    >>> source = mdreel.trajectory.follow(XTC, idle=0.1)
    >>> source.n_atoms
    47681

    Analyse a trajectory while a simulation writes it, until the file ``md.done`` exists:

    >>> source = mdreel.trajectory.follow("md.xtc", stop_file="md.done")  # doctest: +SKIP
    >>> mdreel.RMSD(alpha, trajectory=source).run()  # doctest: +SKIP
    """
    if n_frames is not None and n_frames < 1:
        raise MismatchError(f"n_frames must be 1 or more, not {n_frames}")
    if process is not None and not 1 <= process < 1 << 31:
        raise MismatchError(f"process must be the number of a process, from 1 to {(1 << 31) - 1}, not {process}")
    settings: dict[str, Any] = {
        "n_frames": n_frames,
        "idle": idle,
        "stop_file": None if stop_file is None else fspath(stop_file),
        "process": process,
        "timeout": timeout,
        "format": format,
        "index": index,
        "notify": notify,
    }
    return follow_file(fspath(path), **settings, recipe=(_follow_again, (fspath(path), settings)))


def _follow_again(path: str, settings: dict[str, Any]) -> Source:
    """Follow a trajectory again after unpickling it."""
    return follow(path, **settings)
