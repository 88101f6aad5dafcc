"""RMSD with MDAnalysis and mpi4py: each rank computes one block, and rank 0 receives the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from mdreel.execution.span_log import SpanLog
from mdreel.timing.timing import Timing
from mdreel.timing.workers import Member, Watch
from mdreel_lab.bench.published.block import compute_block
from mdreel_lab.bench.published.frames import (
    N_COORDINATE_BYTES,
    Block,
    Chosen,
    bytes_of_blocks,
    n_frames_of,
    universe_in_memory,
)
from mdreel_lab.bench.published.transfers import Sent, open_transfer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdreel_lab.bench.workload import Order


@dataclass(frozen=True)
class Outcome:
    """Results of a run on rank 0.

    Attributes
    ----------
    rows : ndarray, shape (n_frames, 2), float64
        Time (ps) and RMSD (Å) of each frame.
    timing : Timing
        Spans of all ranks.
    seconds : float
        Time from the start of all ranks until rank 0 has the results, s.
    """

    rows: NDArray[np.float64]
    timing: Timing
    seconds: float


class OnRanks:
    """A run on MPI ranks, prepared on all of them together.

    Parameters
    ----------
    order : Order
        The order of the point. The access ``"segments"`` gives each rank its own file, ``"chain"`` has each rank open
        all files as one trajectory, and ``"hdf5-independent"`` reads one file with parallel HDF5.
    ranks : mpi4py.MPI.Comm
        The ranks.

    Notes
    -----
    The preparation selects the atoms, and is not timed: it also has MDAnalysis store the offsets of the frames.
    """

    def __init__(self, order: Order, ranks: Any) -> None:
        point = order.point
        self._ranks, self._order = ranks, order
        chosen: Any = None
        if ranks.rank == 0:  # before the others, so that one process stores the offsets of the frames
            chosen = Chosen.of(order.topology, order.paths, point.selection)
        self._chosen: Chosen = ranks.bcast(chosen)
        own, start, stop, edges, n_bytes = self._share()
        universe = hdf5_ranks = None
        if point.frames == "memory":
            universe = universe_in_memory(order.topology, order.paths[0], start, stop)
            n_bytes = N_COORDINATE_BYTES * universe.atoms.n_atoms * (stop - start)
            start, stop = 0, stop - start
        if point.access.startswith("hdf5"):
            import h5py  # noqa: F401 (before the clock)

            hdf5_ranks = ranks
        self._edges = edges
        self._block = Block(
            order.topology,
            tuple(own),
            self._chosen.atoms,
            self._chosen.reference,
            start,
            stop,
            n_bytes,
            order.load,
            ranks.rank,
            universe,
            hdf5_ranks,
        )

    def run(self) -> Outcome | None:
        """Run, together with the other ranks; return the outcome on rank 0."""
        ranks, rank = self._ranks, self._ranks.rank
        n_most = max(end - first for first, end in pairwise(self._edges))
        ranks.Barrier()
        begun_ns = perf_counter_ns()  # of each rank, so that no clocks of different hosts are compared
        creating = SpanLog()
        transfer = open_transfer(self._order.point.communication, ranks, n_most)
        creating.record("communicate", rank, begun_ns)
        rows, log = compute_block(self._block, rank)
        sent = transfer.send(rows, log)
        seconds = (perf_counter_ns() - begun_ns) * 1e-9
        own = _Report(begun_ns, creating, log, sent, rows.nbytes, Watch().look().member)
        reports = ranks.gather(own)
        everything = transfer.received()
        transfer.close()
        if rank != 0:
            return None
        lengths = [end - first for first, end in pairwise(self._edges)]
        kept = np.concatenate([part[:n] for part, n in zip(everything, lengths, strict=True)])
        return Outcome(kept, _timing_of(reports), seconds)

    def _share(self) -> tuple[Sequence[str], int, int, list[int], int]:
        """Return the files, the first frame and the end of this rank's block, the edges of all, and its bytes."""
        order, ranks = self._order, self._ranks
        if order.point.access == "segments" and len(order.paths) > 1:
            path = order.paths[ranks.rank]
            lengths = ranks.allgather(n_frames_of(order.topology, path))
            edges = [0, *np.cumsum(lengths).tolist()]
            return [path], 0, lengths[ranks.rank], edges, bytes_of_blocks([path], [0, lengths[ranks.rank]])[0]
        edges = block_edges(self._chosen.n_frames, ranks.size)
        start, stop = edges[ranks.rank], edges[ranks.rank + 1]
        return order.paths, start, stop, edges, bytes_of_blocks(order.paths, edges)[ranks.rank]


def block_edges(n_frames: int, n_blocks: int) -> list[int]:
    """Return the edges of blocks of equal length, of which the last ones are shorter or empty, as in the papers."""
    size = -(-n_frames // n_blocks)
    return [min(i * size, n_frames) for i in range(n_blocks + 1)]


@dataclass(frozen=True)
class _Report:
    """Times of a rank, measured with its own clock."""

    begun_ns: int
    creating: SpanLog
    log: SpanLog
    sent: Sent | None
    n_bytes: int
    member: Member


def _timing_of(reports: list[_Report]) -> Timing:
    """Join the spans of all ranks, and divide the gathering of each into waiting and transfer."""
    began = [0 if one.sent is None else one.sent.begun_ns - one.begun_ns for one in reports]
    spans = []
    for rank, one in enumerate(reports):
        gathering = SpanLog()
        if one.sent is not None:
            sent = Sent(began[rank], one.sent.ended_ns - one.begun_ns, one.sent.waits_for_all)
            until_ns = sent.waited_until_ns(began)
            if until_ns > sent.begun_ns:
                gathering.record("wait", rank, sent.begun_ns, until_ns)
            gathering.record("communicate", rank, until_ns, sent.ended_ns, n_bytes=one.n_bytes)
        spans += [one.creating.spans(one.begun_ns), one.log.spans(one.begun_ns), gathering.spans(0)]
    return Timing(np.concatenate(spans), {rank: one.member for rank, one in enumerate(reports)})
