"""Shares of the run time for each kind of span."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from mdreel.foundation.formatting import percent
from mdreel.timing.observables import seconds_by_kind
from mdreel.timing.spans import COORDINATOR, KINDS

_RARE = ("write", "communicate", "topology")
"""Kinds that are omitted from texts if they took no time, because few runs write files or send results."""

_TOPOLOGY, _WAIT = KINDS.index("topology"), KINDS.index("wait")


def topology_seconds(spans: NDArray[np.void]) -> float:
    """Return the time that the caller spent on loading the topology before the run, in s."""
    is_meant = (spans["worker"] == COORDINATOR) & (spans["kind"] == _TOPOLOGY)
    return float((spans["stop_ns"][is_meant] - spans["start_ns"][is_meant]).sum()) * 1e-9


def run_seconds(spans: NDArray[np.void]) -> float:
    """Return the time of a run, excluding the time that was spent on loading the topology, in s."""
    return max(float(spans["stop_ns"].max(initial=0)) * 1e-9 - topology_seconds(spans), 0.0)


def shares_of(spans: NDArray[np.void]) -> dict[str, float]:
    """Divide the time of a run among the kinds of spans.

    Parameters
    ----------
    spans : ndarray, shape (n_spans,), SPAN
        The spans of the run, in any order.

    Returns
    -------
    dict of str to float
        The share of each of `KINDS`, from 0 to 1. The shares add up to 1, or are all 0 if the run took no time.

    Notes
    -----
    The shares refer to the time of the run (`run_seconds`), averaged over the workers. If spans of a worker overlap,
    the time is assigned to the kind that comes first (as for `Observables`). The time after a worker has ended is
    assigned to the average activity of the last worker. While a worker is idle, its time is assigned to the activity of
    the caller, such as merging or writing, if the caller is busy. Otherwise, it is counted as waiting.
    """
    whole = run_seconds(spans)
    if whole <= 0:
        return dict.fromkeys(KINDS, 0.0)
    is_callers = spans["worker"] == COORDINATOR
    callers = seconds_by_kind(spans[is_callers]).sum(axis=0) / whole
    callers[[_WAIT, _TOPOLOGY]] = 0.0
    shares = _of_workers(spans[~is_callers]) / whole
    shares[_WAIT] = 0.0
    idle = max(1.0 - float(shares.sum()), 0.0)
    busy = float(callers.sum())
    shares += callers * (min(1.0, idle / busy) if busy else 0.0)
    shares[_WAIT] = max(1.0 - float(shares.sum()), 0.0)
    return dict(zip(KINDS, (shares / shares.sum()).tolist(), strict=True))


def share_texts(shares: Mapping[str, float]) -> dict[str, str]:
    """Return the text for each share by kind, such as "6 %". Rare kinds are included only if they took time."""
    return {kind: percent(share) for kind, share in shares.items() if share > 0 or kind not in _RARE}


def shares_in_words(shares: Mapping[str, float]) -> list[str]:
    """Return each share with its kind, such as "read 6 %"; see `share_texts`."""
    return [f"{kind} {share}" for kind, share in share_texts(shares).items()]


def _of_workers(spans: NDArray[np.void]) -> NDArray[np.float64]:
    """Return the mean time per worker and kind until the end of the last worker, shape (n_kinds,), in s."""
    workers, places = np.unique(spans["worker"], return_inverse=True)
    if not len(workers):
        return np.zeros(len(KINDS))
    spent = seconds_by_kind(spans)
    ends = np.zeros(len(workers), np.uint64)
    np.maximum.at(ends, places, spans["stop_ns"])
    of_last = spent[ends.argmax()]
    missing = float((ends.max() - ends).sum()) * 1e-9
    total: NDArray[np.float64] = spent.sum(axis=0) + missing * of_last / max(float(of_last.sum()), 1e-300)
    return total / len(workers)
