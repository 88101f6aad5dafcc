"""Spans, which are recorded intervals of workers. All timing results are derived from them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mdreel._core import span_kinds

KINDS = (*span_kinds(), "topology")
"""Names of the kinds of spans, in the order of their numbers. Kinds from the core precede kinds from Python."""

NO_BLOCK = 2**32 - 1
"""Block number of spans that do not belong to a block. Such spans of the kind "wait" are waits at a barrier."""

COORDINATOR = 2**32 - 1
"""Worker number of the thread that plans the run, distributes blocks and merges results."""

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
"""Fields of a span. Times are in ns since the start of the run, measured with a monotonic clock."""

TASK = np.dtype(
    [
        ("first", np.uint32),
        ("end", np.uint32),
        ("worker", np.uint32),
        ("start_ns", np.uint64),
        ("stop_ns", np.uint64),
    ]
)
"""Fields of a scheduler task: first block and end, worker, and times as in `SPAN`."""


def spans_from_columns(columns: Sequence[NDArray[np.unsignedinteger]]) -> NDArray[np.void]:
    """Create spans from columns that the core provides.

    Parameters
    ----------
    columns : sequence of ndarray, shape (n_spans,)
        One array per field of `SPAN`, in the same order.

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
