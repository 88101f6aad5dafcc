"""Spans that executors record outside of the core."""

from __future__ import annotations

from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from mdreel.timing.spans import KINDS, NO_BLOCK, SPAN


class SpanLog:
    """Records spans by the `time.perf_counter_ns` of one process; they can be sent to another."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, int, int, int, int, int, int]] = []

    def record(
        self,
        kind: str,
        worker: int,
        begun_ns: int,
        ended_ns: int | None = None,
        *,
        block: int = NO_BLOCK,
        n_frames: int = 0,
        n_bytes: int = 0,
    ) -> int:
        """Record what a worker did from one moment to another, by default to now.

        Returns
        -------
        int
            When it ended, so that spans can follow each other without a gap. What would end before it has begun, as the
            clocks of two hosts may say, takes no time.
        """
        ended_ns = max(begun_ns, perf_counter_ns() if ended_ns is None else ended_ns)
        self._rows.append((KINDS.index(kind), block, worker, begun_ns, ended_ns, n_frames, n_bytes))
        return ended_ns

    def spans(self, since_ns: int) -> NDArray[np.void]:
        """Return what was recorded, with times since a moment; what came before that is cut off.

        Returns
        -------
        ndarray, shape (n_spans,), SPAN
            The spans.
        """
        counted = [
            (kind, block, worker, max(begun - since_ns, 0), max(ended - since_ns, 0), n_frames, n_bytes)
            for kind, block, worker, begun, ended, n_frames, n_bytes in self._rows
        ]
        return np.array(counted, SPAN)
