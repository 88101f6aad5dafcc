"""Reading of files while a simulation writes them."""

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

    At least one of `n_frames`, `idle`, `stop_file` and `process` must tell when the file has ended.

    Parameters
    ----------
    path : path
        The file, which may not exist yet.
    n_frames : int, optional
        Final number of frames. If it is given, it is an error if another condition is met earlier.
    idle : float, optional
        The file has ended when it has not grown for this time, s.
    stop_file : path, optional
        The file has ended when this other file exists.
    process : int, optional
        The file has ended when the process with this id has ended.
    timeout : float, optional
        Longest wait for the first frame, s; by default unlimited.
    format : str, optional
        XTC, TRR or DCD; by default, the format is detected from the content.
    index : {"cache", "beside", "none"}
        Location of the frame index; see `read`.
    notify : bool
        Whether to use inotify on local file systems. Otherwise, and on network file systems, mdreel checks the file
        every 10 ms to 1 s, less often the longer it has not grown.

    Returns
    -------
    Source
        The trajectory, which has at least one frame. Its `n_frames` and `times` cover the frames so far.

    Raises
    ------
    MismatchError
        If no condition for the end is given, or a number is invalid.
    FileNotFoundError
        If the end was reached before the file existed.
    FormatError
        If the end was reached before the first frame was complete, or the file is not a trajectory.
    StreamTimeoutError
        If no frame arrived within `timeout`.
    UnsupportedError
        If files of this format cannot be followed.

    Notes
    -----
    An analysis over the source waits for frames, reads each complete frame once, in order, and ends with the file. It
    raises `FormatError` if the last frame is incomplete at the end, or the file is truncated or damaged. It raises
    `StreamError` if the file is removed or replaced, or ends before it has `n_frames`. Operations that need the final
    number of frames (`frames=`, negative limits, conversions) raise `UnsupportedError`.

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
    """Follow a pickled trajectory."""
    return follow(path, **settings)
