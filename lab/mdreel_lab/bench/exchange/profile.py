"""Regions of all processes of a point as a profile in Caliper's split JSON, which Hatchet and Thicket read."""

import json
from pathlib import Path
from typing import Any

from mdreel.foundation.atomic_files import replacing
from mdreel_lab.bench.exchange.regions import CONSUME, PRODUCE

_COLUMNS = ("Node order", "mpi.rank", "path", "time", "inclusive#sum#time.duration", "count")


def write_profile(path: Path, title: str, pairs: list[dict[str, Any]]) -> None:
    """Write the regions of each process: that of the producer of pair p is rank 2p, its consumer rank 2p + 1."""
    times = [pair[role]["regions"] for pair in pairs for role in (PRODUCE, CONSUME)]
    paths = sorted({name for one in times for name in one})
    numbers = {name: number for number, name in enumerate(paths)}
    nodes = []
    for name in paths:
        above, _, label = name.rpartition("/")
        nodes.append({"label": label, "column": "path"} | ({"parent": numbers[above]} if above else {}))
    rows = []
    for rank, one in enumerate(times):
        for name, number in numbers.items():
            several = one.get(name, [])
            within = [sum(one[other]) for other in one if other.rpartition("/")[0] == name]
            rows.append([number, rank, number, sum(several) - sum(within), sum(several), len(several)])
    values = (True, True, False, True, True, True)
    profile = {
        "data": rows,
        "columns": list(_COLUMNS),
        "column_metadata": [{"is_value": is_value} for is_value in values],
        "nodes": nodes,
        "title": title,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, force=True) as temporary:
        temporary.write_text(json.dumps(profile) + "\n", encoding="utf-8")
