"""Shutdown of running replicas."""

import gc
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import monotonic, sleep

from mdreel.errors import MdreelError
from mdreel.live.channels.requests import ask
from mdreel.live.ensemble.replica import Replica

_LOOK_SECONDS = 0.02


def end_all(replicas: Sequence[Replica], grace: float) -> None:
    """End replicas, so that each leaves a checkpoint if it can.

    Parameters
    ----------
    replicas : sequence of Replica
        Those that run.
    grace : float
        How long they have from a request to stop, in their channel, to their end, s; and as long again from SIGTERM to
        it. Whoever runs on then is left to be killed.

    Raises
    ------
    KeyboardInterrupt
        If somebody is in a hurry.
    """
    for replica in replicas:
        replica.leave_channel()  # a simulation waits for who reads its channel
    gc.collect()
    until = monotonic() + grace

    def stop(replica: Replica) -> None:
        # Who has no channel, never looks at requests, or refuses is told by a signal.
        with suppress(MdreelError, OSError):
            ask(replica.channel, "stop", timeout=grace, is_given_up=lambda: monotonic() >= until)

    with ThreadPoolExecutor(len(replicas)) as threads:
        answers = threads.map(stop, replicas)
        try:
            list(answers)
            left = _left(replicas, until)
        except BaseException:
            until = monotonic()
            raise
    for replica in left:
        replica.terminate()
    _left(left, monotonic() + grace)


def _left(replicas: Sequence[Replica], until: float) -> list[Replica]:
    """Wait until replicas have ended; return those that have not in time."""
    while True:
        left = [replica for replica in replicas if not replica.process_has_ended]
        if not left or monotonic() >= until:
            return left
        sleep(_LOOK_SECONDS)
