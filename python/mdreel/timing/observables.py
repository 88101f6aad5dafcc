"""Observables as defined in the papers, which are derived from spans.

The time of a rank, from the start of its first span to the end of its last span, is split at each point where a span
begins or ends. Each of the resulting pieces belongs to a single kind. If spans of the rank overlap, this is the kind
that comes first in `_ORDER`. If there is no span, the piece does not belong to any kind. All observables are sums of
such pieces. Therefore, the identities between them are always fulfilled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK

NAMES = (
    "t_open",
    "t_io",
    "t_decompress",
    "t_comp",
    "t_end_loop",
    "t_all_frames",
    "t_block",
    "t_comm",
    "t_transfer",
    "t_comm_wait",
    "t_wait",
    "overhead1",
    "overhead2",
    "t_n",
)
"""Names of the times that are derived for each rank."""

_ORDER = (
    "open",
    "topology",
    "read",
    "decompress",
    "compute",
    "communicate",
    "reduce",
    "write",
    "wait",
    "idle",
    "nothing",
)
_OF_KIND = np.array([_ORDER.index(kind) for kind in KINDS])
_IN_LOOP = np.array([kind in ("read", "decompress", "compute", "write") for kind in KINDS])
_BEFORE, _FRAMES, _REST, _AFTER, _N_PHASES = range(5)

Times = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Observables:
    """Observables of each rank of a run. Ranks are MPI ranks, processes, threads, or threads of Dask workers.

    Attributes
    ----------
    ranks : ndarray, shape (n_ranks,), uint32
        Numbers of the ranks, in ascending order. They are the same as the worker numbers of the spans.
    t_open : ndarray, shape (n_ranks,), float64, s
        Opening time, before the first frame and before each task that opens the trajectory again.
    t_io : ndarray, shape (n_ranks,), float64, s
        Reading frames from storage into memory, including `t_decompress`.
    t_decompress : ndarray, shape (n_ranks,), float64, s
        Decoding bytes to coordinates.
    t_comp : ndarray, shape (n_ranks,), float64, s
        Computation of the analysis.
    t_end_loop : ndarray, shape (n_ranks,), float64, s
        Time from the end of the last frame to the end of the loop.
    t_all_frames : ndarray, shape (n_ranks,), float64, s
        Time from the first frame to the end of the loop, excluding any `t_open` and `t_comm` within this time.
    t_block : ndarray, shape (n_ranks,), float64, s
        ``t_open + t_all_frames + overhead2``.
    t_comm : ndarray, shape (n_ranks,), float64, s
        Communication, including waiting, as in the publications: ``t_transfer + t_comm_wait``.
    t_transfer : ndarray, shape (n_ranks,), float64, s
        Transfer of results to the process that merges them, without waiting for other ranks.
    t_comm_wait : ndarray, shape (n_ranks,), float64, s
        Waiting for the other ranks at barriers after the first frame, which is part of `t_comm`.
    t_wait : ndarray, shape (n_ranks,), float64, s
        Waiting for blocks, which is part of the overheads.
    overhead1 : ndarray, shape (n_ranks,), float64, s
        ``t_all_frames - t_io - t_comp - t_end_loop``.
    overhead2 : ndarray, shape (n_ranks,), float64, s
        ``t_block - t_all_frames - t_open``.
    t_n : ndarray, shape (n_ranks,), float64, s
        ``t_block + t_comm``: time from the start of the first span to the end of the last span, including waiting.
    t_idle : ndarray, shape (n_ranks,), float64, s
        Waiting for the other ranks at all barriers, recorded as wait spans without a block. Before the first frame, it
        is part of `overhead2`. Afterwards, it is `t_comm_wait`.
    t_own : ndarray, shape (n_ranks,), float64, s
        ``t_n - t_idle``: the time of a rank without waiting for the other ranks. It is used to find stragglers.
    n_frames, n_blocks, n_bytes : ndarray, shape (n_ranks,), int64
        Number of analysed (or written) frames, number of their blocks, and number of bytes read from storage.
    t_total : float, s
        Wall time of the parallel part, as in the publications: from the start of the ranks' first span to the end of
        the run, including waiting and merging. It is 0 if there are no ranks.

    References
    ----------
    Khoshlessan et al., Proc. 16th Python in Science Conf., 64 (2017); Khoshlessan (2018); Khoshlessan et al.,
    Concurrency Computat. Pract. Exper. 32, e5789 (2020).
    """

    ranks: NDArray[np.uint32]
    t_open: Times
    t_io: Times
    t_decompress: Times
    t_comp: Times
    t_end_loop: Times
    t_all_frames: Times
    t_block: Times
    t_comm: Times
    t_transfer: Times
    t_comm_wait: Times
    t_wait: Times
    overhead1: Times
    overhead2: Times
    t_n: Times
    t_idle: Times
    n_frames: NDArray[np.int64]
    n_blocks: NDArray[np.int64]
    n_bytes: NDArray[np.int64]
    t_total: float

    @property
    def t_own(self) -> Times:
        """Time of each rank without waiting for other ranks, shape (n_ranks,), in s."""
        return self.t_n - self.t_idle

    @property
    def ratio_comp_io(self) -> float:
        """R_comp/io, the ratio of computing time to reading time. In the literature, it is defined for a serial run."""
        return _ratio(self.t_comp, self.t_io)

    @property
    def ratio_comp_comm(self) -> float:
        """R_comp/comm as in the papers, the ratio of computing time to communication time, averaged over ranks."""
        return _ratio(self.t_comp, self.t_comm)

    @property
    def ratio_comp_transfer(self) -> float:
        """Ratio of computing time to transfer time, averaged over ranks. This is R_comp/comm without waiting."""
        return _ratio(self.t_comp, self.t_transfer)


def observables_of(spans: NDArray[np.void]) -> Observables:
    """Derive the observables of a run.

    Parameters
    ----------
    spans : ndarray, shape (n_spans,), SPAN
        Spans in any order.

    Returns
    -------
    Observables
        Observables of each worker that has spans, except the coordinator.

    Notes
    -----
    The run time of this function is determined by sorting the spans. It needs 100 bytes of memory per span.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from mdreel.timing.observables import observables_of
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> timing = mdreel.RMSD(mda.Universe(PSF, DCD), select="name CA").run().timing
    >>> int(observables_of(timing.spans).n_frames.sum())
    98
    """
    own = spans[spans["worker"] != COORDINATOR]
    ranks, places = np.unique(own["worker"], return_inverse=True)
    times = _times(own, places, len(ranks))
    outside, loop = times[:, _BEFORE] + times[:, _AFTER], times[:, _FRAMES] + times[:, _REST]
    whole = outside + loop

    t_open = _of(whole, "open", "topology")
    t_transfer, t_idle = _of(whole, "communicate"), _of(whole, "idle")
    t_comm_wait = t_idle - _of(times[:, _BEFORE], "idle")
    t_comm = t_transfer + t_comm_wait
    t_decompress = _of(times[:, _FRAMES], "decompress")
    t_io = _of(times[:, _FRAMES], "read") + t_decompress
    t_comp = _of(whole, "compute")
    t_end_loop = _of(times[:, _REST], "read", "decompress", "reduce", "write", "nothing")
    t_all_frames = loop.sum(axis=1) - _of(loop, "open", "topology", "communicate", "idle")
    overhead2 = _of(outside, "reduce", "write", "wait", "nothing") + _of(times[:, _BEFORE], "idle")
    t_block = t_open + t_all_frames + overhead2
    observed = {
        "t_open": t_open,
        "t_io": t_io,
        "t_decompress": t_decompress,
        "t_comp": t_comp,
        "t_end_loop": t_end_loop,
        "t_all_frames": t_all_frames,
        "t_block": t_block,
        "t_comm": t_comm,
        "t_transfer": t_transfer,
        "t_comm_wait": t_comm_wait,
        "t_wait": _of(whole, "wait"),
        "overhead1": t_all_frames - t_io - t_comp - t_end_loop,
        "overhead2": overhead2,
        "t_n": t_block + t_comm,
        "t_idle": t_idle,
    }
    counts = partial(_counts, own, places, len(ranks))
    return Observables(
        ranks=ranks.astype(np.uint32),
        **{name: 1e-9 * nanoseconds for name, nanoseconds in observed.items()},
        n_frames=np.maximum(counts("compute", "n_frames"), counts("write", "n_frames")),
        n_blocks=_n_blocks(own, places, len(ranks)),
        n_bytes=counts("read", "n_bytes"),
        t_total=_wall_seconds(spans, own),
    )


def _wall_seconds(spans: NDArray[np.void], own: NDArray[np.void]) -> float:
    """Return the time from the start of the ranks' first span to the end of all spans, in s, or 0 without ranks."""
    if not len(own):
        return 0.0
    return float(spans["stop_ns"].max() - own["start_ns"].min()) * 1e-9


def seconds_by_kind(spans: NDArray[np.void]) -> Times:
    """Return the time of each worker by kind. Overlapping spans are not counted twice.

    Parameters
    ----------
    spans : ndarray, shape (n_spans,), SPAN
        Spans in any order.

    Returns
    -------
    ndarray, shape (n_workers, n_kinds), float64, s
        Time of each of `KINDS` for each worker, in ascending order. If spans of a worker overlap, the time is assigned
        to the kind that comes first in the order of the observables.
    """
    workers, places = np.unique(spans["worker"], return_inverse=True)
    of_kinds = _times(spans, places, len(workers)).sum(axis=1) * 1e-9
    seconds: Times = of_kinds[:, _OF_KIND]
    seconds[:, KINDS.index("wait")] += of_kinds[:, _ORDER.index("idle")]
    return seconds


def _times(spans: NDArray[np.void], places: NDArray[np.intp], n_ranks: int) -> Times:
    """Split the time of each rank into pieces, and add up the pieces of each phase and kind.

    Returns
    -------
    ndarray, shape (n_ranks, 4, len(_ORDER)), float64, ns
        The four phases are the time before the loop, the loop up to the end of the last frame, the rest of the loop,
        and the time after the loop. The values are integers, so that their sums are exact.
    """
    n_kinds = len(_ORDER)
    kinds = _OF_KIND[spans["kind"]]
    kinds[(kinds == _ORDER.index("wait")) & (spans["block"] == NO_BLOCK)] = _ORDER.index("idle")
    starts, stops = (spans[edge].astype(np.int64) for edge in ("start_ns", "stop_ns"))
    moments, at = np.concatenate([starts, stops]), np.concatenate([places, places])
    order = np.lexsort((moments, at))
    # Number of open spans of each kind after each moment; all are closed after the last moment of a rank.
    under_way = np.zeros((len(order), n_kinds), np.int32)
    under_way[np.argsort(order), np.concatenate([kinds, kinds])] = np.repeat([1, -1], len(spans))
    np.cumsum(under_way, axis=0, out=under_way)
    under_way[:, -1] = 1  # no kind
    owners = np.argmax(under_way[:-1] > 0, axis=1)

    moments, at = moments[order], at[order]
    widths = np.where(at[1:] == at[:-1], np.diff(moments), 0)
    moments, at = moments[:-1], at[:-1]
    begin, last, end = _edges(spans, places, n_ranks)
    phases = np.select(
        [moments < begin[at], moments < np.minimum(last[at], end[at]), moments < end[at]],
        [_BEFORE, _FRAMES, _REST],
        _AFTER,
    )
    cells = (at * _N_PHASES + phases) * n_kinds + owners
    sums = np.bincount(cells, widths, n_ranks * _N_PHASES * n_kinds)
    return sums.astype(np.float64).reshape(n_ranks, _N_PHASES, n_kinds)


def _edges(spans: NDArray[np.void], places: NDArray[np.intp], n_ranks: int) -> NDArray[np.int64]:
    """Return the start of the loop, the end of the last frame and the end of the loop, shape (3, n_ranks), in ns.

    If a rank has no frames, its loop is empty and begins with its communication.
    """
    is_in_loop = _IN_LOOP[spans["kind"]]
    is_sent = spans["kind"] == KINDS.index("communicate")
    has_frames = is_in_loop & (spans["n_frames"] > 0)
    begin, last, end = np.full(n_ranks, np.iinfo(np.int64).max), np.full(n_ranks, -1), np.full(n_ranks, -1)
    np.minimum.at(begin, places[is_in_loop], spans["start_ns"][is_in_loop].astype(np.int64))
    np.maximum.at(end, places[is_in_loop], spans["stop_ns"][is_in_loop].astype(np.int64))
    np.maximum.at(last, places[has_frames], spans["stop_ns"][has_frames].astype(np.int64))
    sent = np.full(n_ranks, np.iinfo(np.int64).max)
    np.minimum.at(sent, places[is_sent], spans["start_ns"][is_sent].astype(np.int64))
    begin = np.where(end < 0, sent, begin)
    return np.stack([begin, np.where(last < 0, end, last), end])


def _of(times: Times, *kinds: str) -> Times:
    """Return the total time of some kinds, shape (n_ranks,)."""
    summed: Times = times[:, [_ORDER.index(kind) for kind in kinds]].sum(axis=1)
    return summed


def _counts(spans: NDArray[np.void], places: NDArray[np.intp], n_ranks: int, kind: str, what: str) -> NDArray[np.int64]:
    """Return the sum of a counter over the spans of a kind, for each rank."""
    is_meant = spans["kind"] == KINDS.index(kind)
    counts = np.zeros(n_ranks, np.int64)
    np.add.at(counts, places[is_meant], spans[what][is_meant].astype(np.int64))
    return counts


def _n_blocks(spans: NDArray[np.void], places: NDArray[np.intp], n_ranks: int) -> NDArray[np.int64]:
    """Return the number of blocks that have a span in the loop of each rank."""
    is_meant = _IN_LOOP[spans["kind"]] & (spans["block"] != NO_BLOCK)
    pairs = (places[is_meant].astype(np.int64) << 32) + spans["block"][is_meant].astype(np.int64)
    return np.bincount(np.unique(pairs) >> 32, minlength=n_ranks).astype(np.int64)


def _ratio(times: Times, others: Times) -> float:
    total = float(others.sum())
    return float(times.sum()) / total if total else math.inf
