"""Orderly shutdown of running replicas, first by a request, then by SIGTERM, and finally by SIGKILL."""

import gc
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import monotonic, sleep

from mdreel.errors import MdreelError
from mdreel.execution.executors.reraise_signals import postpone_signals
from mdreel.live.channels.requests import send_request
from mdreel.live.ensemble.replica import Replica

_POLL_SECONDS = 0.02


def end_all(replicas: Sequence[Replica], grace: float) -> None:
    """Stop running replicas, and give each of them time to write a checkpoint. A second Ctrl-C interrupts this.

    Parameters
    ----------
    replicas : sequence of Replica
        Running replicas.
    grace : float
        Time between the stop request and SIGTERM, in s. After SIGTERM, the function waits for the same time before it
        returns. The caller then has to kill replicas that are still running.
    """
    with postpone_signals():  # Python suppresses an exception that is raised while an object is destroyed
        for replica in replicas:
            replica.leave_channel()  # a full ring would block the simulation
        gc.collect()
    until = monotonic() + grace

    def stop(replica: Replica) -> None:
        # A replica that does not follow the request receives SIGTERM later.
        with suppress(MdreelError, OSError):
            send_request(replica.channel, "stop", timeout=grace, is_cancelled=lambda: monotonic() >= until)

    with ThreadPoolExecutor(len(replicas)) as threads:
        answers = threads.map(stop, replicas)
        try:
            list(answers)
            left = _wait_for_end(replicas, until)
        except BaseException:
            until = monotonic()
            raise
    for replica in left:
        replica.terminate()
    _wait_for_end(left, monotonic() + grace)


def _wait_for_end(replicas: Sequence[Replica], until: float) -> list[Replica]:
    """Wait until replicas have ended, and return those that are still running at the deadline."""
    while True:
        left = [replica for replica in replicas if not replica.process_has_ended]
        if not left or monotonic() >= until:
            return left
        sleep(_POLL_SECONDS)
