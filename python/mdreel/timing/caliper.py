"""Spans as a profile in Caliper's split JSON format, which ``hatchet.GraphFrame.from_caliper`` can read.

The format is Caliper's output format ``json-split``. Each row corresponds to one worker and one node in a tree of
regions. Below the root, the regions are the kinds of spans of the workers and the caller. The time of a region does not
include the regions within it.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mdreel.timing.json_list import in_json
from mdreel.timing.spans import COORDINATOR, KINDS

if TYPE_CHECKING:
    from mdreel.timing.record import Record
    from mdreel.timing.timing import Timing

_ROOT, _WORKERS, _CALLER = range(3)
_N_GROUPS = 3

# Hatchet reads rank and time from these attributes. It takes a node's order from the row with the node's number, so the
# rows of the first worker follow the order of the nodes.
_COLUMNS: tuple[tuple[str, dict[str, str] | None], ...] = (
    ("Node order", {}),
    ("mpi.rank", {"attribute.alias": "Worker"}),
    ("path", None),
    ("sum#time.duration", {"attribute.alias": "Time", "attribute.unit": "sec"}),
    ("count", {"attribute.alias": "Spans"}),
    ("frames", {"attribute.alias": "Frames"}),
    ("bytes", {"attribute.alias": "Bytes", "attribute.unit": "B"}),
)


def write(path: Path, record: "Record") -> None:
    """Write the profile of each worker. The profile of worker 0 includes the caller."""
    profile = {
        "data": _rows(record.timing),
        "columns": [name for name, _ in _COLUMNS],
        "column_metadata": [{"is_value": about is not None, **(about or {})} for _, about in _COLUMNS],
        "nodes": _nodes(),
        **_globals(record),
    }
    path.write_text(in_json(profile) + "\n", encoding="utf-8")


def _nodes() -> list[dict[str, Any]]:
    """Return the nodes of the tree, each with the number of its parent."""
    groups = [("mdreel", None), ("worker", _ROOT), ("caller", _ROOT)]
    regions = [*groups, *((kind, parent) for parent in (_WORKERS, _CALLER) for kind in KINDS)]
    return [
        {"label": label, "column": "path"} | ({} if parent is None else {"parent": parent}) for label, parent in regions
    ]


def _rows(timing: "Timing") -> list[list[Any]]:
    """Return the total time of each worker for each node, including nodes without spans."""
    spans = timing.spans
    is_caller = spans["worker"] == COORDINATOR
    # The profile of worker 0 includes the caller.
    of = np.where(is_caller, 0, spans["worker"])
    workers = np.unique([0, *of])
    nodes = _N_GROUPS + np.where(is_caller, len(KINDS), 0) + spans["kind"]
    sums = np.zeros((len(workers), _N_GROUPS + 2 * len(KINDS), 4), np.int64)
    each = (spans["stop_ns"] - spans["start_ns"], np.ones(len(spans)), spans["n_frames"], spans["n_bytes"])
    np.add.at(sums, (np.searchsorted(workers, of), nodes), np.stack([one.astype(np.int64) for one in each], axis=1))
    return [
        [node, worker, node, ns / 1e9, *counts]
        for worker, of_worker in zip(workers.tolist(), sums.tolist(), strict=True)
        for node, (ns, *counts) in enumerate(of_worker)
    ]


def _globals(record: "Record") -> dict[str, str]:
    """Return information about the run as strings, which Hatchet stores as metadata."""
    environment = record.environment
    known = ("commit", "python", "cpu", "n_cores", "kernel", "hostname", "date")
    facts = {"title": record.title, "mdreel.version": environment.get("mdreel")}
    facts |= {f"mdreel.{name}": environment.get(name) for name in known}
    return {name: str(value) for name, value in facts.items() if value is not None}
