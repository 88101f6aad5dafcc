"""Summary of the timing of a run, in text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdreel.foundation.formatting import digits
from mdreel.timing.spans import COORDINATOR
from mdreel.timing.stragglers import typical_seconds
from mdreel.timing.time_shares import shares_in_words

if TYPE_CHECKING:
    from mdreel.timing.timing import Timing

SHORT_RUN_SECONDS = 2.0
"""Time below which a run has no verdict: start-up and other programs influence so short a run too much."""

_MOST_NAMED = 5
"""Number of stragglers that a summary names."""


def summary_of(timing: Timing) -> str:
    """Return a summary in three lines, or in one line for a short run.

    Parameters
    ----------
    timing : Timing
        Timing of the run.
    """
    frames, workers = f"{timing.n_frames:,} frames", _workers_text(timing)
    rate = f"{digits(timing.frames_per_second)} frames/s, {digits(timing.bytes_per_second * 1e-9)} GB/s of file"
    topology = f"; topology {digits(timing.topology_seconds)} s before" if timing.topology_seconds else ""
    memory = f"; memory {timing.peak_bytes / 2**20:,.0f} MiB" if timing.peak_bytes else ""
    if timing.is_short:
        return f"{duration_text(timing)}; {frames} on {workers}, {rate}{topology}{memory}"
    typical = typical_seconds(timing.observables)
    slowest = timing.observables.t_total / typical if typical else 1.0
    first = f"{frames} in {digits(timing.run_seconds)} s on {workers}: {rate}{topology}"
    stragglers = f"slowest worker {slowest:.2f}x the median; {_stragglers_text(timing)}"
    shares = "  ".join(shares_in_words(timing.shares))
    return f"{first}\n{shares}\nbottleneck: {timing.bottleneck.sentence}; {stragglers}{memory}"


def duration_text(timing: Timing) -> str:
    """Return the sentence about the time of a run, such as "This run took 0.3 s"."""
    return f"This run took {digits(timing.run_seconds)} s"


def _workers_text(timing: Timing) -> str:
    """Return the number and kind of the workers, such as "2 threads"."""
    n_workers = max(len(timing.workers), 1)
    processes = {(own.host, own.process) for worker, own in timing.crew.items() if worker != COORDINATOR}
    caller = timing.crew.get(COORDINATOR)
    is_single = not processes or (caller is not None and processes == {(caller.host, caller.process)})
    words = f"{n_workers} {'thread' if is_single else 'process'}"
    if n_workers > 1:
        words += "s" if is_single else "es"
    n_hosts = len({host for host, _ in processes})
    return f"{words} of {n_hosts} hosts" if n_hosts > 1 else words


def _stragglers_text(timing: Timing) -> str:
    """Return the stragglers and their causes."""
    if not timing.straggling:
        return "no stragglers"
    named = [
        f"worker {one.rank} ({one.times_median:.3g}x, {one.reason} +{digits(one.excess_seconds)} s)"
        for one in timing.straggling[:_MOST_NAMED]
    ]
    n_all = len(timing.straggling)
    more = [f"{n_all - len(named)} more"] if n_all > len(named) else []
    return f"{n_all} straggler{'s' * (n_all > 1)}: {', '.join([*named, *more])}"
