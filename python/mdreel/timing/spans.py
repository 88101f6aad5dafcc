"""Spans: recorded intervals of workers, from which all timing figures derive."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mdreel._core import span_kinds

KINDS = (*span_kinds(), "topology")
"""Names of the kinds of spans, in the order of their numbers: first those of the core, then those of Python."""

NO_BLOCK = 2**32 - 1
"""Block number of spans without a block. A wait span without a block is a wait at a barrier."""

COORDINATOR = 2**32 - 1
"""Worker number of the thread that plans, distributes blocks and merges."""

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
"""Fields of a span; times are in ns since the start of the run, on a monotonic clock."""

TASK = np.dtype(
    [
        ("first", np.uint32),
        ("end", np.uint32),
        ("worker", np.uint32),
        ("start_ns", np.uint64),
        ("stop_ns", np.uint64),
    ]
)
"""Fields of a task of a scheduler: first block and end, worker, and times as in `SPAN`."""


def spans_from_columns(columns: Sequence[NDArray[np.unsignedinteger]]) -> NDArray[np.void]:
    """Return spans from columns of the core.

    Parameters
    ----------
    columns : sequence of ndarray, shape (n_spans,)
        One array per field of `SPAN`, in its order.

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
