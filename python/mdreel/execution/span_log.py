"""Spans that executors record outside the core."""

from __future__ import annotations

from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from mdreel.timing.spans import KINDS, NO_BLOCK, SPAN


class SpanLog:
    """Picklable log of spans, whose times are measured with `time.perf_counter_ns` of a process."""

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
        """Record a span of a worker. By default, the span ends now.

        Returns
        -------
        int
            End of the span, so that the next span can begin without a gap. If a span would end before it begins because
            the clocks of two hosts differ, its length is set to 0.
        """
        ended_ns = max(begun_ns, perf_counter_ns() if ended_ns is None else ended_ns)
        self._rows.append((KINDS.index(kind), block, worker, begun_ns, ended_ns, n_frames, n_bytes))
        return ended_ns

    def spans(self, since_ns: int) -> NDArray[np.void]:
        """Return the spans with times relative to `since_ns`. Earlier times are set to 0.

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
