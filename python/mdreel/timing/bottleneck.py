"""Bottleneck of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mdreel.foundation.formatting import percent

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


@dataclass(frozen=True)
class Bottleneck:
    """The kind of span that takes up most of the run time.

    Attributes
    ----------
    kind : str
        One of `mdreel.timing.spans.KINDS`, or an empty string if there are no spans.
    share : float
        Share of the run time, from 0 to 1, as in `Timing.shares`.
    sentence : str
        Sentence that states the kind and its share.
    """

    kind: str
    share: float
    sentence: str


def bottleneck_of(shares: Mapping[str, float]) -> Bottleneck:
    """Return the kind with the largest share.

    Parameters
    ----------
    shares : mapping of str to float
        Share of each kind, as in `Timing.shares`.
    """
    kind = max(shares, key=lambda one: shares[one])
    if not shares[kind]:
        return Bottleneck("", 0.0, "nothing was done")
    return Bottleneck(kind, shares[kind], f"{_WORDS[kind]}, {percent(shares[kind])} of the time")
