"""Selection of the run of a channel that a reader joins."""

import math
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from mdreel.errors import EndedRunWarning, StreamTimeoutError
from mdreel.foundation.stack_level import caller_level
from mdreel.live.channels.directory import wait_until_available
from mdreel.live.channels.status import Status

_POLL_SECONDS = 0.05

T = TypeVar("T")


def join_run(join: Callable[[], T], channel: Path, wait: float, *, new_run: bool, reports_end: bool = True) -> T:
    """Join the current run of a channel, or wait for the next run.

    Parameters
    ----------
    join : callable
        Function that joins the channel.
    channel : Path
        Directory of the channel.
    wait : float
        Maximum time to wait for the channel or for the new run, in s. If `new_run` is true, 0 means that there is no
        limit.
    new_run : bool
        Whether to wait for the next run if the current run has ended or its producer was lost.
    reports_end : bool
        Whether to warn if the run has ended.

    Raises
    ------
    FileNotFoundError
        If the channel was not created in time.
    StreamTimeoutError
        If no new run started in time.

    Warns
    -----
    EndedRunWarning
        If the run had ended or its producer had been lost before the call.
    """
    if new_run:
        _await_new_run(channel, wait)
    elif reports_end and (ended := _ended_run(channel)) is not None:
        message = f"{channel}: {ended}; reading what is left. new_run=True (--new-run) waits for the next run"
        warnings.warn(message, EndedRunWarning, stacklevel=caller_level())
    return wait_until_available(join, channel, 0.0 if new_run else wait)


def describe_end(status: Status) -> str | None:
    """Return a sentence about how and when the run of a channel has ended, or None if the run is in progress."""
    if status.state == "running":
        return None
    if status.state == "lost":
        return f"the run was lost after {status.n_of_run:,} frames: {status.reason or 'its producer died'}"
    if status.ended_at is None:
        return f"the run has ended ({status.state})"
    now, then = time.localtime(), time.localtime(status.ended_at)
    is_today = (now.tm_year, now.tm_yday) == (then.tm_year, then.tm_yday)
    return f"the run ended at {time.strftime('%H:%M' if is_today else '%Y-%m-%d %H:%M', then)} ({status.state})"


def _ended_run(channel: Path) -> str | None:
    try:
        return describe_end(Status.read(channel))
    except FileNotFoundError:
        return None  # it is still to be created


def _await_new_run(channel: Path, seconds: float) -> None:
    """Wait until a channel has a producer, or has had a producer since this function was called."""
    until = time.monotonic() + seconds if seconds else math.inf
    before: int | None = None
    while True:
        last = "the channel does not exist"
        try:
            status = Status.read(channel)
        except FileNotFoundError:
            before = -1
        else:
            is_first_look = before is None
            before = status.epoch if before is None else before
            # A new producer is there a moment before its epoch, in which a reader would still find the old run.
            if status.epoch > before or (is_first_look and status.state == "running"):
                return
            last = str(describe_end(status))
        if time.monotonic() >= until:
            raise StreamTimeoutError(f"no new run began within {seconds:g} s; {last}", path=channel)
        time.sleep(_POLL_SECONDS)
