"""Reading of files while a simulation writes them."""

from os import PathLike, fspath
from typing import Any

from mdreel._core import Source, follow_file


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
    """Follow an XTC, TRR or DCD file that grows, to an end that is said.

    At least one of `n_frames`, `idle`, `stop_file` and `process` must be given.

    Parameters
    ----------
    path : path
        The file, which need not be there yet.
    n_frames : int, optional
        The file ends with so many frames. Where it is given, each other condition that is met earlier is an error.
    idle : float, optional
        The file has ended when nothing was added for so many s.
    stop_file : path, optional
        The file has ended when there is a file of this name.
    process : int, optional
        The file has ended when the process of this number has.
    timeout : float, optional
        How many s to wait for the first frame; by default as long as it takes.
    format : str, optional
        XTC, TRR or DCD; by default the content decides.
    index : {"cache", "beside", "none"}
        Where an index of the frames of an XTC or TRR file is kept, as of `read`.
    notify : bool
        Whether the system is asked to tell of growth where the file system is local. Otherwise, and on network file
        systems, the file is looked at every 10 ms to 1 s, more seldom the longer nothing comes.

    Returns
    -------
    Source
        The trajectory; its first frame is there. `n_frames` and `times` of it are those found so far.

    Raises
    ------
    MismatchError
        If no end is given, or a number makes no sense.
    FileNotFoundError
        If the end came before the file.
    FormatError
        If the end came before the first frame was whole, or the file is no trajectory.
    StreamTimeoutError
        If no frame came in time.
    UnsupportedError
        If files of its format cannot be followed.

    Notes
    -----
    Frames are handed out when they are whole, each once, in order. An analysis over the source waits for frames, and
    ends with the file. It raises `FormatError` if the last frame is torn when the end has come, if the file is cut, or
    if something in it is no frame; `StreamError` if the file is removed or replaced, or has ended before it had
    `n_frames`. Whatever needs the number of frames (`frames=`, negative limits, conversions) is an `UnsupportedError`.

    Examples
    --------
    >>> import mdreel
    >>> source = mdreel.follow("md.xtc", stop_file="md.done")  # doctest: +SKIP
    >>> mdreel.RMSD(ca, trajectory=source).run()  # doctest: +SKIP
    """
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
    """Follow what was pickled."""
    return follow(path, **settings)
