"""Spans in Chrome's trace event format, for Perfetto (ui.perfetto.dev) and chrome://tracing.

The format is described in N. Duca, D. Sinclair, "Trace Event Format" (2016). Each process of the run is shown as a
process, and each worker as a thread.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdreel.timing.json_list import in_json, write_list
from mdreel.timing.spans import KINDS, NO_BLOCK
from mdreel.timing.viewer_tracks import Process, by_worker, lanes_of, name_of_worker, processes_of

if TYPE_CHECKING:
    from mdreel.timing.record import Record

Event = dict[str, Any]


def write(path: Path, record: "Record") -> None:
    """Write a complete event for each span and each task, and the names of the processes and threads."""
    about = {"title": record.title, "environment": record.environment}
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f'{{"displayTimeUnit":"ms","otherData":{in_json(about)},"traceEvents":')
        write_list(file, _events(record))
        file.write("}\n")


def _events(record: "Record") -> Iterator[Event]:
    spans, tasks = by_worker(record.timing.spans), by_worker(record.timing.tasks)
    thread = 0
    # Numbers start at 1, because viewers take process 0 for the idle process.
    for number, process in enumerate(processes_of(record.timing), start=1):
        yield from _process_names(number, process)
        for worker in process.workers:
            for table, suffix, describe in ((spans, "", _span), (tasks, " (tasks)", _task)):
                if worker not in table:
                    continue
                rows = table[worker]
                lanes = lanes_of(rows)
                for lane in range(int(lanes.max()) + 1):
                    thread += 1
                    name = name_of_worker(worker) + suffix + (f" ({lane + 1})" if lane else "")
                    yield from _thread_names(number, thread, name)
                    for row in rows[lanes == lane]:
                        yield {**describe(row), "ph": "X", **_times(row), "pid": number, "tid": thread}


def _span(row: Any) -> Event:
    known = {} if row["block"] == NO_BLOCK else {"block": int(row["block"])}
    counts = {name: int(row[field]) for name, field in (("frames", "n_frames"), ("bytes", "n_bytes")) if row[field]}
    return {"name": KINDS[row["kind"]], "cat": "span", "args": {**known, **counts}}


def _task(row: Any) -> Event:
    first, last = int(row["first"]), int(row["end"]) - 1
    name = f"block {first}" if first == last else f"blocks {first} to {last}"
    return {"name": name, "cat": "task", "args": {"first": first, "last": last}}


def _times(row: Any) -> Event:
    """Return the start and the duration in µs, with a resolution of 1 ns."""
    start, stop = int(row["start_ns"]), int(row["stop_ns"])
    return {"ts": start / 1000, "dur": (stop - start) / 1000}


def _process_names(number: int, process: Process) -> Iterator[Event]:
    about = {"ph": "M", "pid": number, "tid": 0}
    yield {**about, "name": "process_name", "args": {"name": process.name}}
    yield {**about, "name": "process_sort_index", "args": {"sort_index": number}}


def _thread_names(process: int, thread: int, name: str) -> Iterator[Event]:
    about = {"ph": "M", "pid": process, "tid": thread}
    yield {**about, "name": "thread_name", "args": {"name": name}}
    yield {**about, "name": "thread_sort_index", "args": {"sort_index": thread}}
