"""Warnings about consumers that a producer has to wait for."""

import warnings
from collections.abc import Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from time import monotonic
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel._core import ChannelProducer
from mdreel.errors import MismatchError, SlowConsumerWarning, StreamTimeoutError
from mdreel.foundation.stack_level import caller_level
from mdreel.live.channels.participants import ConsumerStatus, name_consumers
from mdreel.live.channels.status import Status

_AGAIN_SECONDS = 1.0
"""Attempts to publish a frame that are at most this time apart are counted as a single wait."""

ADVICE = (
    'for viewers set policy="latest"; otherwise give the producer staging and full="spill", so that slow consumers '
    'read the frames from disk, or full="drop-oldest"'
)

_Frame: TypeAlias = tuple[int, float, Sequence[float] | None, Sequence[tuple[str, str, NDArray[np.uint8]]]]


class Patience:
    """Waits for the consumers of a channel, and issues a warning that lists them.

    Parameters
    ----------
    channel : Path
        Directory of the channel.
    warn_after : float
        Waiting time before the warning, in s.

    Raises
    ------
    MismatchError
        If the time is negative or not a number.
    """

    def __init__(self, channel: Path, warn_after: float) -> None:
        if not warn_after >= 0:
            raise MismatchError(f"warn_after must be a time in seconds, 0 or more, not {warn_after!r}", path=channel)
        self._channel = channel
        self._warn_after = float(warn_after)
        self._named: set[int] = set()
        self._since = self._last = -inf  # begin of the wait of the last frame, and its end if that was in vain

    def publish(self, core: ChannelProducer, frame: _Frame, timeout: float | None) -> tuple[int, str]:
        """Publish a frame, and warn once about each process that the producer has to wait for.

        Parameters
        ----------
        core : ChannelProducer
            The producer in the core.
        frame : tuple
            Step, time, cell and sections of the frame.
        timeout : float, optional
            Maximum time to wait, in s.

        Raises
        ------
        StreamTimeoutError
            If no slot became free in time.
        """
        begun = monotonic()
        is_again = begun - self._last < _AGAIN_SECONDS
        since = self._since if is_again else begun
        warn_in = max(0.0, since + self._warn_after - begun)
        try:
            if warn_in < inf and (timeout is None or warn_in < timeout):
                with suppress(StreamTimeoutError):
                    return core.publish(*frame, warn_in)
                self._warn()
                timeout = None if timeout is None else max(0.0, begun + timeout - monotonic())
            return core.publish(*frame, timeout)
        except StreamTimeoutError:
            self._since, self._last = since, monotonic()
            raise

    def _warn(self) -> None:
        status = Status.read(self._channel)
        blockers = [consumer for consumer in status.consumers if consumer.is_waited_for]
        new = [consumer for consumer in blockers if _process(consumer) not in self._named]
        self._named.update(map(_process, blockers))
        if new:
            waits = status.waits or self._warn_after
            message = f"{self._channel}: the simulation has waited {waits:.1f} s for {name_consumers(new)}"
            warnings.warn(f"{message}; {ADVICE}", SlowConsumerWarning, stacklevel=caller_level())


def _process(consumer: ConsumerStatus) -> int:
    return 0 if consumer.process is None else consumer.process.process
