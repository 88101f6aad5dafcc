"""Runs that nobody ran: spans of as many ranks and blocks as a test wants, some of them late."""

from collections.abc import Mapping

import numpy as np

from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK, SPAN

_STEPS = ("wait", "read", "decompress", "compute")
_TYPICAL_NS = np.array([20_000, 400_000, 300_000, 250_000])
_BYTES, _FRAMES = 1_000_000, 100


def synthetic_spans(n_ranks: int, n_blocks: int, slow: Mapping[int, tuple[str, float]] | None = None) -> np.ndarray:
    """Spans of a run.

    Parameters
    ----------
    n_ranks, n_blocks : int
        How many ranks there are, and how many blocks each of them has.
    slow : mapping of int to tuple of str and float, optional
        By rank what takes longer than elsewhere, "open", "communicate" or a step of a block, and how many times.
    """
    random = np.random.default_rng(7)
    lasting = random.gamma(20.0, _TYPICAL_NS / 20, (n_ranks, n_blocks, len(_STEPS)))
    opening = random.gamma(20.0, 100_000, n_ranks)
    sending = random.gamma(20.0, 30_000, n_ranks)
    for rank, (what, times) in (slow or {}).items():
        if what == "open":
            opening[rank] *= times
        elif what == "communicate":
            sending[rank] *= times
        else:
            lasting[rank, :, _STEPS.index(what)] *= times
    edges = np.rint(opening[:, np.newaxis] + np.cumsum(lasting.reshape(n_ranks, -1), axis=1)).astype(np.uint64)
    edges = np.column_stack([np.rint(opening).astype(np.uint64), edges])
    spans = np.zeros((n_ranks, n_blocks, len(_STEPS)), SPAN)
    spans["kind"] = [KINDS.index(step) for step in _STEPS]
    spans["block"] = np.arange(n_ranks * n_blocks).reshape(n_blocks, n_ranks).T[:, :, np.newaxis]
    spans["worker"] = np.arange(n_ranks)[:, np.newaxis, np.newaxis]
    spans["start_ns"] = edges[:, :-1].reshape(spans.shape)
    spans["stop_ns"] = edges[:, 1:].reshape(spans.shape)
    spans["n_frames"][:, :, _STEPS.index("compute")] = _FRAMES
    spans["n_bytes"][:, :, _STEPS.index("read")] = _BYTES
    first, last = np.zeros(n_ranks, SPAN), np.zeros(n_ranks, SPAN)
    first["kind"], last["kind"] = KINDS.index("open"), KINDS.index("communicate")
    first["stop_ns"], last["start_ns"] = edges[:, 0], edges[:, -1]
    last["stop_ns"] = edges[:, -1] + np.rint(sending).astype(np.uint64)
    for edge in (first, last):
        edge["block"], edge["worker"] = NO_BLOCK, np.arange(n_ranks)
    merging = np.zeros(1, SPAN)
    merging["kind"], merging["block"], merging["worker"] = KINDS.index("reduce"), NO_BLOCK, COORDINATOR
    merging["start_ns"] = last["stop_ns"].max(initial=0)
    merging["stop_ns"] = merging["start_ns"] + np.uint64(200_000)
    return np.concatenate([first, spans.ravel(), last, merging])


def stretched(spans: np.ndarray, times: int) -> np.ndarray:
    """The same spans, each of which takes so many times as long: a short run becomes a long one."""
    longer = spans.copy()
    for edge in ("start_ns", "stop_ns"):
        longer[edge] *= np.uint64(times)
    return longer
