"""Frames of a channel that a reader has missed."""

import warnings
from pathlib import Path

from mdreel._core import Source
from mdreel.errors import MissedFramesWarning, StreamError
from mdreel.execution.source_name import source_name
from mdreel.foundation.stack_level import caller_level


def missed_frames(source: Source) -> int:
    """Return the number of frames that a source has missed so far if it reads a channel, or 0 for other sources."""
    return sum(source.left_out or (0, 0))


def warn_of_missed_frames(source: Source) -> None:
    """Warn if a run has missed frames of the channel that its source reads."""
    n_late, n_overwritten = source.left_out or (0, 0)
    if not (n_late or n_overwritten):
        return  # the name of a long chain takes milliseconds
    place = source_name(source)
    if n_late:
        report_late_start(place, n_late, "analysis")
    if n_overwritten:
        message = f"{place}: the producer overwrote {n_overwritten:,} frames before the analysis took them"
        warnings.warn(f"{message}; the results lack these frames", MissedFramesWarning, stacklevel=caller_level())


def report_late_start(place: Path | str, n_late: int, reader: str, is_error: bool = False) -> None:
    """Report that frames had been removed from a channel before a reader, such as an analysis, joined it.

    Parameters
    ----------
    place : path
        Directory of the channel.
    n_late : int
        Number of frames that had been removed.
    reader : str
        Name of the reader in the message.
    is_error : bool
        Whether to raise an error instead of a warning.

    Raises
    ------
    StreamError
        If `is_error` is true.
    """
    message = f"{place}: {n_late:,} frames had left the channel before the {reader} joined, so that it lacks them"
    advice = "start it before the simulation, which waits with await_consumers or --consumers, or use staging"
    if is_error:
        raise StreamError(f"{message}; {advice}")
    warnings.warn(f"{message}; {advice}", MissedFramesWarning, stacklevel=caller_level())
