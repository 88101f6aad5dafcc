"""Spans: recorded intervals of workers, from which all timing figures derive."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mdreel._core import span_kinds

KINDS = (*span_kinds(), "topology")
"""Names of the kinds of spans, in the order of their numbers: those of the core, and what is done without it."""

NO_BLOCK = 2**32 - 1
"""Block of spans that belong to no block. A worker that waits for none waits for the others, where all meet."""

COORDINATOR = 2**32 - 1
"""Worker of what the thread did that plans, hands out blocks and merges."""

SPAN = np.dtype(
    [
        ("kind", np.uint8),
        ("block", np.uint32),
        ("worker", np.uint32),
        ("start_ns", np.uint64),
        ("stop_ns", np.uint64),
        ("n_frames", np.uint64),
        ("n_bytes", np.uint64),
    ]
)
"""One stretch of one worker's time; times in ns since the run began, on a monotonic clock."""

TASK = np.dtype(
    [
        ("first", np.uint32),
        ("end", np.uint32),
        ("worker", np.uint32),
        ("start_ns", np.uint64),
        ("stop_ns", np.uint64),
    ]
)
"""What a scheduler recorded of some consecutive blocks: first and end, who did them, and when; times as of spans."""


def spans_from_columns(columns: Sequence[NDArray[np.unsignedinteger]]) -> NDArray[np.void]:
    """Make spans of the core's columns.

    Parameters
    ----------
    columns : sequence of ndarray, shape (n_spans,)
        One array for each field of `SPAN`, in its order.

    Returns
    -------
    ndarray, shape (n_spans,), SPAN
        The spans.
    """
    assert SPAN.names is not None
    spans = np.empty(len(columns[0]), SPAN)
    for name, column in zip(SPAN.names, columns, strict=True):
        spans[name] = column
    return spans
