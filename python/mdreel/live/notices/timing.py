"""Summary of the timing of an analysis for notices."""

from mdreel.timing.timing import Timing

_WORK = ("read", "decompress", "compute")
"""Kinds of spans in the summary."""


def time_shares(timing: Timing) -> dict[str, float]:
    """Return the shares of reading, decompressing and computing in the busy time, or {} if there are no spans."""
    seconds = {kind: timing.seconds(kind) for kind in _WORK}
    whole = sum(seconds.values())
    return {kind: value / whole for kind, value in seconds.items()} if whole > 0 else {}


def time_by_kind(timing: Timing) -> dict[str, float]:
    """Return the times of a run, in s: ``wall``, ``wait``, ``read``, ``decompress``, ``compute``."""
    shares = timing.shares
    return {"wall": timing.run_seconds, **{kind: timing.run_seconds * shares[kind] for kind in ("wait", *_WORK)}}
