"""What viewers are given: Chrome's traces, OpenTelemetry's and Caliper's profiles, by their specifications."""

import base64
import json
import tempfile
from collections import Counter, defaultdict
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf.json_format import Parse
from hypothesis import given, settings
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from any_record import RECORDS, real_record
from mdreel.timing.files import write_record
from mdreel.timing.record import Record
from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK


@pytest.fixture(scope="module", params=["threads", "processes", "dask"])
def record(request: pytest.FixtureRequest) -> Record:
    return real_record(request.param)


def written(record: Record, ending: str) -> Any:
    """What the file of a record says."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"run{ending}")
        write_record(record, path)
        return json.loads(path.read_text(encoding="utf-8"))


def assert_chrome_trace(record: Record) -> dict[tuple[int, int], list[Any]]:
    """Events of each thread lie within one another or follow one another, and all are there; return them."""
    trace = written(record, ".trace.json")
    events = trace["traceEvents"]
    assert {event["ph"] for event in events} <= {"X", "M"}
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    processes = {e["pid"] for e in events if e["name"] == "process_name"}
    threads: dict[tuple[int, int], list[Any]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            threads[event["pid"], event["tid"]].append(event)
    assert set(threads) == named
    assert {process for process, _ in threads} == processes
    assert all(process > 0 and thread > 0 for process, thread in threads)
    for thread in threads.values():
        under_way: list[int] = []
        for event in thread:  # in this order, as viewers sort them
            start = round(event["ts"] * 1000)
            stop = start + round(event["dur"] * 1000)
            while under_way and under_way[-1] <= start:
                under_way.pop()
            assert not under_way or stop <= under_way[-1]
            under_way.append(stop)
    found = Counter((e["name"], round(e["ts"] * 1000), round(e["dur"] * 1000)) for t in threads.values() for e in t)
    spans = record.timing.spans
    wanted = Counter((KINDS[s["kind"]], int(s["start_ns"]), int(s["stop_ns"] - s["start_ns"])) for s in spans)
    tasks = [event for thread in threads.values() for event in thread if event["cat"] == "task"]
    assert found - wanted == Counter((e["name"], round(e["ts"] * 1000), round(e["dur"] * 1000)) for e in tasks)
    assert found & wanted == wanted
    assert len(tasks) == len(record.timing.tasks)
    return threads


def test_chrome_trace_has_processes_workers_and_spans(record: Record) -> None:
    assert_chrome_trace(record)
    trace = written(record, ".trace.json")
    names = {event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "thread_name"}
    assert {"caller", "worker 0", "worker 1"} <= names
    assert trace["displayTimeUnit"] == "ms"
    assert trace["otherData"]["title"] == "RMSD of AdK"
    computing = [event for event in trace["traceEvents"] if event["name"] == "compute"]
    assert sum(event["args"]["frames"] for event in computing) == 98
    assert {event["args"]["block"] for event in computing} == set(range(7))


@given(record=RECORDS)
@settings(max_examples=30, deadline=None)
def test_chrome_trace_of_any_record_has_all_spans(record: Record) -> None:
    assert_chrome_trace(record)


def parsed_otlp(record: Record) -> TracesData:
    """What protobuf makes of the file. In OTLP's JSON identities are in base 16, in that of protobuf in base 64."""
    content = written(record, ".otlp.json")
    for resource in content["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in span:
                        span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    return Parse(json.dumps(content), TracesData())


def assert_otlp(record: Record) -> list[Span]:
    """Spans make one tree, whose leaves are those that were recorded; return them all."""
    spans = [span for process in parsed_otlp(record).resource_spans for span in process.scope_spans[0].spans]
    (trace,) = {span.trace_id for span in spans}
    assert len(trace) == 16
    assert any(trace)
    by_number = {span.span_id: span for span in spans}
    assert len(by_number) == len(spans)
    assert all(len(number) == 8 and any(number) for number in by_number)
    (root,) = [span for span in spans if not span.parent_span_id]
    for span in spans:
        assert span.kind == Span.SPAN_KIND_INTERNAL
        assert span.name
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        if span is not root:
            parent = by_number[span.parent_span_id]
            assert parent.start_time_unix_nano <= span.start_time_unix_nano
            assert span.end_time_unix_nano <= parent.end_time_unix_nano
    workers = [span for span in spans if span.parent_span_id == root.span_id]
    leaves = [span for span in spans if span is not root and span not in workers]
    origin = root.start_time_unix_nano
    found = Counter((s.name, s.start_time_unix_nano - origin, s.end_time_unix_nano - origin) for s in leaves)
    wanted = Counter((KINDS[s["kind"]], int(s["start_ns"]), int(s["stop_ns"])) for s in record.timing.spans)
    assert found == wanted
    return spans


def test_otlp_is_what_the_protocol_says(record: Record) -> None:
    spans = assert_otlp(record)
    began = datetime.fromisoformat(record.environment["date"]).timestamp()
    assert spans[0].start_time_unix_nano == pytest.approx(began * 1e9, abs=1e6)
    trace = parsed_otlp(record)
    facts = [{one.key: one.value for one in process.resource.attributes} for process in trace.resource_spans]
    assert {one["service.name"].string_value for one in facts} == {"mdreel"}
    members = {(member.host, member.process) for member in record.timing.crew.values()}
    assert {(one["host.name"].string_value, one["process.pid"].int_value) for one in facts} == members
    frames = [
        {one.key: one.value.int_value for one in span.attributes}["mdreel.frames"]
        for span in spans
        if span.name == "compute"
    ]
    assert sum(frames) == 98


@given(record=RECORDS)
@settings(max_examples=30, deadline=None)
def test_otlp_of_any_record_is_one_tree(record: Record) -> None:
    assert_otlp(record)


def profile_of(record: Record) -> dict[tuple[int, tuple[str, ...]], dict[str, float]]:
    """Rows of split JSON by worker and path, read as Caliper's writer means them."""
    profile = written(record, ".cali.json")
    columns, about, nodes = profile["columns"], profile["column_metadata"], profile["nodes"]
    assert [column for column, one in zip(columns, about, strict=True) if not one["is_value"]] == ["path"]
    paths: list[tuple[str, ...]] = []
    for node in nodes:
        assert node["column"] == "path"
        # A parent stands before its children.
        paths.append((*(paths[node["parent"]] if "parent" in node else ()), node["label"]))
    assert len(set(paths)) == len(paths)
    found = {}
    for row in profile["data"]:
        values = dict(zip(columns, row, strict=True))
        assert values.pop("Node order") == values["path"]
        key = values.pop("mpi.rank"), paths[values.pop("path")]
        assert key not in found
        found[key] = values
    sections = {"data", "columns", "column_metadata", "nodes"}
    assert all(isinstance(value, str) for name, value in profile.items() if name not in sections)
    return found


def assert_profile(record: Record) -> None:
    """Each row is the sum of the spans of its worker and kind."""
    spans = record.timing.spans
    found = profile_of(record)
    for (worker, path), values in found.items():
        if len(path) < 3:
            assert not any(values.values())
            continue
        root, group, kind = path
        assert root == "mdreel"
        own = spans[spans["kind"] == KINDS.index(kind)]
        # The caller is with worker 0.
        own = own[(own["worker"] == COORDINATOR) & (worker == 0) if group == "caller" else own["worker"] == worker]
        assert values["count"] == len(own)
        assert values["sum#time.duration"] == pytest.approx(float((own["stop_ns"] - own["start_ns"]).sum()) * 1e-9)
        assert (values["frames"], values["bytes"]) == (own["n_frames"].sum(), own["n_bytes"].sum())
    assert sum(values["count"] for values in found.values()) == len(spans)


def test_profile_sums_up_what_workers_did(record: Record) -> None:
    assert_profile(record)
    found = profile_of(record)
    computed = [values["frames"] for (_, path), values in found.items() if path == ("mdreel", "worker", "compute")]
    assert sum(computed) == 98


@given(record=RECORDS)
@settings(max_examples=30, deadline=None)
def test_profile_of_any_record_is_the_sum_of_its_spans(record: Record) -> None:
    assert_profile(record)


@pytest.mark.filterwarnings("ignore:The provided callable:FutureWarning")  # between Hatchet and pandas
def test_hatchet_reads_the_profile(tmp_path: Path, record: Record) -> None:
    hatchet = pytest.importorskip("hatchet", reason="not installed: llnl-hatchet")
    write_record(record, tmp_path / "run.cali.json")
    frame = hatchet.GraphFrame.from_caliper(str(tmp_path / "run.cali.json"))
    (root,) = frame.graph.roots
    assert root.frame["name"] == "mdreel"
    assert {child.frame["name"] for child in root.children} == {"worker", "caller"}
    assert frame.dataframe["time"].sum() == pytest.approx(record.timing.seconds())
    computed = frame.dataframe[frame.dataframe["name"] == "compute"]
    assert computed["frames"].sum() == 98
    frame.drop_index_levels(np.sum)
    assert "compute" in frame.tree(metric_column="time")


def test_blocks_that_nobody_has_are_not_in_the_trace(record: Record) -> None:
    assert (record.timing.spans["block"] == NO_BLOCK).any()
    events = written(record, ".trace.json")["traceEvents"]
    blocks = {event["args"].get("block") for event in events if event["ph"] == "X"}
    assert max(block for block in blocks if block is not None) < 7
    assert np.isin(None, list(blocks))
