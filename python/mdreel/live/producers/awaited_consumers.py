"""Waiting until consumers have joined a channel."""

from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

from mdreel._core import channel_most_consumers
from mdreel.errors import MismatchError, StreamTimeoutError
from mdreel.live.channels.participants import name_consumers
from mdreel.live.channels.status import Status

_POLL_SECONDS = 0.02


def await_consumers(channel: Path, count: Callable[[], int], n_consumers: int, timeout: float | None) -> None:
    """Wait until a number of consumers have joined a channel; see `Producer.await_consumers` for the errors.

    Parameters
    ----------
    channel : Path
        Directory of the channel.
    count : callable
        Function that returns the number of consumers.
    n_consumers : int
        Number of consumers.
    timeout : float, optional
        Maximum time to wait, in s.
    """
    most = channel_most_consumers()
    if n_consumers > most:
        message = f"a channel has at most {most:,} consumers, so that it cannot wait for {n_consumers:,}"
        raise MismatchError(message, path=channel)
    until = None if timeout is None else monotonic() + timeout
    while (n_there := count()) < n_consumers:
        if until is not None and monotonic() >= until:
            message = f"{n_there} of {n_consumers} consumers joined within {timeout:g} s"
            there = [consumer for consumer in Status.read(channel).consumers if consumer.lag is not None]
            raise StreamTimeoutError(f"{message}{f': {name_consumers(there)}' if there else ''}", path=channel)
        sleep(_POLL_SECONDS)
