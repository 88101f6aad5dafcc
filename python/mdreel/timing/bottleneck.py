"""The bottleneck: what takes most of the time of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mdreel.spans import COORDINATOR, KINDS

_WORDS = {
    "open": "opening",
    "read": "reading",
    "decompress": "decompression",
    "compute": "computing",
    "wait": "waiting of workers",
    "reduce": "merging of results",
    "write": "writing",
    "communicate": "communication",
    "topology": "the topology",
}
_BEFORE = [KINDS.index(kind) for kind in ("open", "topology")]
_WAIT = KINDS.index("wait")


@dataclass(frozen=True)
class Bottleneck:
    """What takes most of the time of a run.

    Attributes
    ----------
    kind : str
        One of `mdreel.spans.KINDS`; empty if nothing was recorded.
    share : float
        Of the time of the run: of all workers together, or of the caller, whichever is larger; from 0 to 1.
    sentence : str
        Both in words.
    """

    kind: str
    share: float
    sentence: str


def bottleneck_of(spans: NDArray[np.void]) -> Bottleneck:
    """Say what takes most of the time of a run.

    Parameters
    ----------
    spans : ndarray, shape (n_spans,), SPAN
        What was recorded.

    Returns
    -------
    Bottleneck
        The kind with the largest share.

    Notes
    -----
    While others are done, the run does what the last worker does. Where workers wait while the caller merges or writes,
    that is what the run waits for, and not the waiting.
    """
    wall = float(spans["stop_ns"].max(initial=0))
    if not wall:
        return Bottleneck("", 0.0, "nothing was done")
    is_callers = spans["worker"] == COORDINATOR
    callers = _seconds(spans[is_callers]) / wall
    shares = _workers(spans[~is_callers]) / wall
    shares[_WAIT] = max(shares[_WAIT] - np.delete(callers, _BEFORE).sum(), 0.0)
    shares = np.minimum(np.maximum(shares, callers), 1.0)
    most = int(shares.argmax())
    share = float(shares[most])
    return Bottleneck(KINDS[most], share, f"{_WORDS[KINDS[most]]}, {100 * share:.0f} % of the time")


def _workers(spans: NDArray[np.void]) -> NDArray[np.float64]:
    """What the workers spent on each kind, in the mean, shape (n_kinds,), ns."""
    spent = _seconds(spans)
    workers, places = np.unique(spans["worker"], return_inverse=True)
    if not len(workers):
        return spent
    ends = np.zeros(len(workers), np.uint64)
    np.maximum.at(ends, places, spans["stop_ns"])
    of_last = _seconds(spans[spans["worker"] == workers[ends.argmax()]])
    spent += float((ends.max() - ends).sum()) * of_last / max(of_last.sum(), 1.0)
    return spent / len(workers)


def _seconds(spans: NDArray[np.void]) -> NDArray[np.float64]:
    """Summed time of each kind, shape (n_kinds,), ns."""
    return np.bincount(spans["kind"], spans["stop_ns"] - spans["start_ns"], len(KINDS)).astype(np.float64)
