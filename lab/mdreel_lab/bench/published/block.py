"""Loop over the frames of a block, with the probes of the papers."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING

import numpy as np
from MDAnalysis.analysis.rms import rmsd

from mdreel.execution.span_log import SpanLog

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdreel_lab.bench.published.frames import Block

MOST_BATCHES = 1000
"""Largest number of batches of a block. Each batch has one span for reading and one for computing."""


def compute_block(block: Block, worker: int) -> tuple[NDArray[np.float64], SpanLog]:
    """Compute the RMSD of each frame of a block.

    Parameters
    ----------
    block : Block
        The block.
    worker : int
        Number of the rank that computes it.

    Returns
    -------
    ndarray, shape (n_frames, 2), float64
        Time (ps) and RMSD (Å) of each frame.
    SpanLog
        Spans for opening, reading, computing and the end of the loop, measured with `time.perf_counter_ns`.

    Notes
    -----
    As in the papers, reading and computing are measured for each frame. Spans add up the times of a batch of frames:
    the span for reading begins with the batch, and the span for computing ends with it. The remaining time of the batch
    is the first overhead.
    """
    log = SpanLog()
    since_ns = perf_counter_ns()
    frames = block.open()
    ended_ns = begun_ns = log.record("open", worker, since_ns)
    rows = np.zeros((len(block), 2))
    n_batch, n_first = max(1, -(-len(block) // MOST_BATCHES)), 0
    read_ns = computed_ns = 0
    for i, time in enumerate(frames.times()):
        loaded_ns = perf_counter_ns()
        read_ns += loaded_ns - ended_ns
        for _ in range(block.n_times):
            rows[i] = time, rmsd(frames.positions(), block.reference, center=True, superposition=True)
        ended_ns = perf_counter_ns()
        computed_ns += ended_ns - loaded_ns
        n_done = i + 1
        if n_done - n_first == n_batch or n_done == len(block):
            counts = {"block": block.number, "n_frames": n_done - n_first}
            n_bytes = block.n_bytes * n_done // len(block) - block.n_bytes * n_first // len(block)
            log.record("read", worker, begun_ns, begun_ns + read_ns, n_bytes=n_bytes, **counts)
            log.record("compute", worker, ended_ns - computed_ns, ended_ns, **counts)
            n_first, read_ns, computed_ns = n_done, 0, 0
            if n_done < len(block):
                ended_ns = begun_ns = perf_counter_ns()
    frames.close()
    log.record("read", worker, ended_ns, block=block.number)  # without frames: the end of the loop
    return rows, log
