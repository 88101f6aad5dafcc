"""Timing of an analysis in a notice."""

from mdreel.timing.timing import Timing

_WORK = ("read", "decompress", "compute")
"""Kinds of spans that are told apart; what is left of the whole is none of them."""


def shares_of(timing: Timing) -> dict[str, float]:
    """Return which share of the time of workers that did not wait went into reading, decompressing and computing.

    Parameters
    ----------
    timing : Timing
        The run so far.

    Returns
    -------
    dict of str to float
        Shares by kind, from 0 to 1; nothing where nothing was recorded.
    """
    seconds = {kind: timing.seconds(kind) for kind in _WORK}
    whole = sum(seconds.values())
    return {kind: value / whole for kind, value in seconds.items()} if whole > 0 else {}


def seconds_of(timing: Timing) -> dict[str, float]:
    """Return where the time of a run went: the whole, and the parts of some kinds of spans, as in `Timing.shares`.

    Parameters
    ----------
    timing : Timing
        The run.

    Returns
    -------
    dict of str to float
        Times, s: ``wall``, ``wait``, ``read``, ``decompress``, ``compute``.
    """
    shares = timing.shares
    return {"wall": timing.run_seconds, **{kind: timing.run_seconds * shares[kind] for kind in ("wait", *_WORK)}}
