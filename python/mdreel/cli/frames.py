"""The frames that a command is about: the options that choose them."""

from typing import TYPE_CHECKING, Any

from mdreel.cli.exits import CommandError, ExitCode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mdreel._core import Source


def check_window(by_time: tuple[Any, ...], by_frame: tuple[Any, ...]) -> None:
    """Refuse frames that are chosen by time (begin, end, interval; ps) and by number (start, stop, step) at once."""
    if any(limit is not None for limit in by_time) and any(limit is not None for limit in by_frame):
        message = "choose frames by time (-b -e -dt) or by number (--start --stop --step), not by both"
        raise CommandError(message, ExitCode.USAGE)
    if by_time[2] is not None and not by_time[2] > 0:
        raise CommandError(f"-dt must be more than 0 ps, not {by_time[2]:g}", ExitCode.USAGE)


def frames_in_window(
    source: "Source", begin: float | None, end: float | None, interval: float | None
) -> "NDArray[np.int64] | None":
    """Return the frames in a window of time (ps); None where there is no limit.

    Raises
    ------
    FrameIndexError
        If no frame is in the window.
    FormatError
        If a torn frame might be.
    """
    from mdreel.cli.window import TimeWindow

    window = TimeWindow(begin, end, interval)
    if window.is_open:
        return None
    times = source.times()
    if window.reaches_the_end(times):
        source.check_end()  # a torn frame would lie in the window, too
    return window.frames(times)
