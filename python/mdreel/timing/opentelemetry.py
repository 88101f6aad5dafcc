"""Spans as OpenTelemetry traces in OTLP JSON format, for Jaeger, Tempo and collectors.

The format is described in the OpenTelemetry Protocol Specification 1.5, "JSON Protobuf Encoding", and in trace.proto.
Each run is a trace. Its root span contains one span per worker, which in turn contains the recorded spans of the
worker. Processes are represented by resources.
"""

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdreel.timing.header import header_in_json
from mdreel.timing.json_list import in_json, write_list
from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK
from mdreel.timing.viewer_tracks import Process, by_worker, name_of_worker, processes_of

if TYPE_CHECKING:
    from mdreel.timing.record import Record

_INTERNAL = 1  # SPAN_KIND_INTERNAL: an operation within an application
_WHOLE = 1  # number of the span of the whole run


def write(path: Path, record: "Record") -> None:
    """Write the resources of the processes together with their spans."""
    trace = _Trace(record)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write('{"resourceSpans":[')
        for i, process in enumerate(trace.processes):
            file.write(",\n" if i else "\n")
            scope = {"name": "mdreel", "version": str(record.environment.get("mdreel", ""))}
            file.write(f'{{"resource":{in_json(_resource(record, process))},')
            file.write(f'"scopeSpans":[{{"scope":{in_json(scope)},"spans":')
            write_list(file, trace.spans_of(process, has_whole=i == 0))
            file.write("}]}")
        file.write("\n]}\n")


class _Trace:
    """The spans of a run with their numbers.

    Parameters
    ----------
    record : Record
        The run.
    """

    def __init__(self, record: "Record") -> None:
        timing = record.timing
        self._title = record.title
        self._origin_ns = _origin_ns(record.environment)
        self._stop_ns = int(timing.spans["stop_ns"].max(initial=0))
        self._rows = by_worker(timing.spans)
        self._number = _WHOLE
        # The same record is the same trace, and no two runs are.
        content = json.dumps(header_in_json(record), sort_keys=True).encode() + timing.spans.tobytes()
        self._identity = hashlib.sha256(content).hexdigest()[:32]
        self.processes = processes_of(timing) or (Process("", 0, ()),)

    def spans_of(self, process: Process, has_whole: bool) -> Iterator[dict[str, Any]]:
        """Yield the spans of a process. For the first process, they include the root span."""
        if has_whole:
            yield self._span(_WHOLE, None, self._title or "mdreel", 0, self._stop_ns, {})
        for worker in process.workers:
            if worker not in self._rows:
                continue
            rows = self._rows[worker]
            parent = self._next()
            start, stop = int(rows["start_ns"].min()), int(rows["stop_ns"].max())
            known = {} if worker == COORDINATOR else {"mdreel.worker": worker}
            yield self._span(parent, _WHOLE, name_of_worker(worker), start, stop, known)
            for kind, block, _, start_ns, stop_ns, n_frames, n_bytes in rows.tolist():
                counts = {"mdreel.frames": n_frames, "mdreel.bytes": n_bytes, **known}
                if block != NO_BLOCK:
                    counts["mdreel.block"] = block
                yield self._span(self._next(), parent, KINDS[kind], start_ns, stop_ns, counts)

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _span(
        self, number: int, parent: int | None, name: str, start_ns: int, stop_ns: int, counts: dict[str, int]
    ) -> dict[str, Any]:
        of_parent = {} if parent is None else {"parentSpanId": f"{parent:016x}"}
        return {
            "traceId": self._identity,
            "spanId": f"{number:016x}",
            **of_parent,
            "name": name,
            "kind": _INTERNAL,
            # 64-bit numbers are strings in this JSON.
            "startTimeUnixNano": str(self._origin_ns + start_ns),
            "endTimeUnixNano": str(self._origin_ns + stop_ns),
            "attributes": [{"key": key, "value": {"intValue": str(value)}} for key, value in counts.items()],
        }


def _resource(record: "Record", process: Process) -> dict[str, Any]:
    """Describe a process according to the semantic conventions of OpenTelemetry."""
    facts = {"service.name": "mdreel", "service.version": record.environment.get("mdreel")}
    if process.host:
        facts["host.name"] = process.host
        facts["service.instance.id"] = f"{process.host}:{process.number}"
    attributes = [{"key": key, "value": {"stringValue": str(value)}} for key, value in facts.items() if value]
    if process.number:
        attributes.append({"key": "process.pid", "value": {"intValue": str(process.number)}})
    return {"attributes": attributes}


def _origin_ns(environment: dict[str, Any]) -> int:
    """Return the start of the run in ns since 1970. The date in the environment has a precision of 1 ms."""
    try:
        began = datetime.fromisoformat(str(environment.get("date")))
    except ValueError:
        return 0
    return round(began.timestamp() * 1000) * 1_000_000
