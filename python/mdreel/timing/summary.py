"""Lines of a run's summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mdreel.foundation.formatting import digits
from mdreel.timing.spans import COORDINATOR
from mdreel.timing.stragglers import Straggler
from mdreel.timing.workers import Member

SHORT_RUN_SECONDS = 2.0
"""Run time, in s, below which no bottleneck is reported. Shorter runs are dominated by start-up and other programs."""

_MOST_NAMED = 5
"""Maximum number of stragglers that are listed in a summary."""


def duration_text(run_seconds: float) -> str:
    """Return a sentence about the run time, such as "This run took 0.3 s"."""
    return f"This run took {digits(run_seconds)} s"


def workers_text(n_workers: int, crew: Mapping[int, Member], n_requested: int = 0) -> str:
    """Return the number and kind of the workers, such as "2 threads", or "1 of 2 threads" if more were requested.

    Parameters
    ----------
    n_workers : int
        Number of workers.
    crew : mapping of int to Member
        Process of each worker, and of `COORDINATOR`.
    n_requested : int
        Number of workers that the user requested, or 0 for the default.
    """
    n_workers = max(n_workers, 1)
    processes = {(own.host, own.process) for worker, own in crew.items() if worker != COORDINATOR}
    caller = crew.get(COORDINATOR)
    is_single = not processes or (caller is not None and processes == {(caller.host, caller.process)})
    kind, ending = ("thread", "s") if is_single else ("process", "es")
    if n_requested > n_workers:
        words = f"{n_workers} of {n_requested} {kind}{ending}"
    else:
        words = f"{n_workers} {kind}{ending * (n_workers > 1)}"
    n_hosts = len({host for host, _ in processes})
    return f"{words} of {n_hosts} hosts" if n_hosts > 1 else words


def idle_text(n_workers: int, n_requested: int, n_blocks: int) -> str:
    """Explain in brackets why some workers had no work. Return an empty string if all workers had work."""
    if n_requested <= max(n_workers, 1):
        return ""
    if n_blocks <= max(n_workers, 1):
        return f" (the frames are in {n_blocks} block{'s' * (n_blocks != 1)})"
    return " (too few frames to share)"


def stragglers_text(straggling: Sequence[Straggler]) -> str:
    """Return the stragglers and their causes."""
    if not straggling:
        return "no stragglers"
    named = [
        f"worker {one.rank} ({one.times_median:.3g}x, {one.reason} +{digits(one.excess_seconds)} s)"
        for one in straggling[:_MOST_NAMED]
    ]
    n_all = len(straggling)
    more = [f"{n_all - len(named)} more"] if n_all > len(named) else []
    return f"{n_all} straggler{'s' * (n_all > 1)}: {', '.join([*named, *more])}"
