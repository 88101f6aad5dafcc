"""Records of runs: what is written is read back, and what is not whole is refused."""

import errno
import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings

from any_record import RECORDS, assert_same, real_record
from full_disk import full_disk
from mdreel.errors import FormatError, UnsupportedError
from mdreel.foundation.html.picture import Picture
from mdreel.timing.files import READERS, WRITERS, read_record, write_record
from mdreel.timing.record import Record
from mdreel.timing.run_description import AnalysisDescription, RunDescription
from mdreel.timing.spans import SPAN
from mdreel.timing.timing import Timing
from privilege import without_privilege

RUN = {"call": "mdreel rmsd", "topology": "a.psf", "trajectory": "a.xtc", "frames": "98 frames", "analyses": []}
OF_RUN = {"title": "RMSD", "selection": "name CA", "summary": "", "n_atoms": 214}


@pytest.fixture(scope="module")
def record() -> Record:
    return real_record()


@pytest.fixture(scope="module")
def small(record: Record) -> Record:
    """A record of a few spans, and little besides."""
    return replace(record, timing=Timing(record.timing.spans[:5], record.timing.crew), environment={"cpu": "é"})


@pytest.mark.parametrize("ending", READERS)
@pytest.mark.parametrize("backend", ["serial", "threads", "processes", "dask"])
def test_record_of_a_real_run_is_read_back(tmp_path: Path, ending: str, backend: str) -> None:
    record = real_record(backend)
    write_record(record, tmp_path / f"spans{ending}")
    found = read_record(tmp_path / f"spans{ending}")
    assert_same(found, record)
    assert found.timing.n_frames == 98
    assert (len(found.timing.tasks) > 0) == (backend == "dask")


@pytest.mark.parametrize("ending", READERS)
@given(record=RECORDS)
@settings(max_examples=30, deadline=None)
def test_any_record_is_read_back(ending: str, record: Record) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"any{ending}")
        write_record(record, path)
        assert_same(read_record(path), record)


def test_lines_of_json_are_read_by_others(tmp_path: Path, record: Record) -> None:
    write_record(record, tmp_path / "spans.jsonl")
    header, *lines = map(json.loads, (tmp_path / "spans.jsonl").read_text(encoding="utf-8").splitlines())
    assert (header["format"], header["version"], header["n_spans"]) == ("mdreel spans", 1, len(lines))
    assert sum(line["n_frames"] for line in lines if line["kind"] == "compute") == 98
    assert {line["worker"] for line in lines} == {None, 0, 1}


def test_file_of_a_version_without_a_description_of_the_run_is_read(tmp_path: Path, small: Record) -> None:
    described = replace(small, run=RunDescription("mdreel rmsd", "a.psf", "a.xtc", "98 frames", ()))
    write_record(described, tmp_path / "spans.jsonl")
    assert read_record(tmp_path / "spans.jsonl").run == described.run
    changed(tmp_path / "spans.jsonl", 1, run=...)
    assert read_record(tmp_path / "spans.jsonl").run is None


def test_plots_are_not_kept_in_files_of_spans(tmp_path: Path, small: Record) -> None:
    picture = Picture("image/svg+xml", b"<svg/>", b"<svg/>")
    analysis = AnalysisDescription("RMSD", "name CA", 214, picture=picture)
    write_record(replace(small, run=RunDescription("mdreel", "", "", "", (analysis,))), tmp_path / "spans.jsonl")
    found = read_record(tmp_path / "spans.jsonl").run
    assert found is not None
    assert found.analyses == (AnalysisDescription("RMSD", "name CA", 214),)
    assert "svg" not in (tmp_path / "spans.jsonl").read_text(encoding="utf-8").replace("no_picture", "")


def test_parquet_is_read_by_others(tmp_path: Path, record: Record) -> None:
    write_record(record, tmp_path / "spans.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "spans.parquet")
    assert table.column_names == list(SPAN.names or ())
    rows = table.to_pylist()
    assert sum(row["n_frames"] for row in rows if row["kind"] == "compute") == 98
    assert {row["worker"] for row in rows} == {None, 0, 1}


def test_lines_that_are_cut_anywhere_are_refused(tmp_path: Path, small: Record) -> None:
    path = tmp_path / "cut.jsonl"
    write_record(small, path)
    content = path.read_bytes()
    for n_bytes in range(len(content)):
        path.write_bytes(content[:n_bytes])
        with pytest.raises(FormatError, match=r"cut\.jsonl: line \d+: "):
            read_record(path)


def test_parquet_that_is_cut_anywhere_is_refused(tmp_path: Path, small: Record) -> None:
    path = tmp_path / "cut.parquet"
    write_record(small, path)
    content = path.read_bytes()
    for n_bytes in range(0, len(content), 5):
        path.write_bytes(content[:n_bytes])
        with pytest.raises(FormatError, match=r"cut\.parquet: "):
            read_record(path)


def changed(path: Path, at: int, **changes: object) -> None:
    """Change what a line says; what is changed to an ellipsis is taken away."""
    lines = path.read_text(encoding="utf-8").splitlines()
    line = {**json.loads(lines[at - 1]), **changes}
    lines[at - 1] = json.dumps({name: value for name, value in line.items() if value is not ...})
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("at", "changes", "expected"),
    [
        (1, {"format": "spans of others"}, 'line 1: expected a header with "format": "mdreel spans"'),
        (1, {"version": 2}, "line 1: version 2 needs a newer mdreel; this one reads versions up to 1"),
        (1, {"version": True}, "line 1: version: expected a whole number from 1"),
        (1, {"environment": []}, "line 1: the header needs environment of type dict"),
        (1, {"n_spans": 6}, "line 6: the file has 5 spans, the header says 6"),
        (1, {"limits": {"memory_bytes_per_s": 1}}, "line 1: limits: page_cache_bytes_per_s"),
        (1, {"crew": [{"worker": 0, "host": 3, "process": 1, "peak_bytes": 0}]}, "line 1: host: expected a text"),
        (1, {"tasks": [{"first": 0}]}, "line 1: task: end, worker, start_ns, stop_ns missing"),
        (1, {"run": {"call": 3}}, "line 1: run: expected call as text"),
        (1, {"run": {**RUN, "analyses": {}}}, "line 1: run: expected a list of analyses"),
        (
            1,
            {"run": {**RUN, "analyses": [{"title": "RMSD"}]}},
            "line 1: analysis of the run: expected selection",
        ),
        (
            1,
            {"run": {**RUN, "analyses": [{**OF_RUN, "n_atoms": -1}]}},
            "line 1: n_atoms: expected a whole number",
        ),
        (3, {"kind": "dream"}, "line 3: unknown kind 'dream'; known: open, read"),
        (3, {"kind": ["read"]}, "line 3: unknown kind"),
        (4, {"n_bytes": ...}, "line 4: span: n_bytes missing"),
        (4, {"block": -1}, "line 4: block: expected a whole number from 0"),
        (4, {"worker": 2**32}, "line 4: worker: expected a whole number from 0"),
        (4, {"n_frames": 1.5}, "line 4: n_frames: expected a whole number from 0"),
        (4, {"start_ns": 10**18, "stop_ns": 0}, "line 4: the span ends at 0 ns, before its start"),
    ],
)
def test_what_is_wrong_with_lines_is_said_with_the_line(
    tmp_path: Path, small: Record, at: int, changes: dict[str, object], expected: str
) -> None:
    path = tmp_path / "wrong.jsonl"
    write_record(small, path)
    changed(path, at, **changes)
    with pytest.raises(FormatError) as caught:
        read_record(path)
    assert str(caught.value).startswith(f"{path}: {expected}")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "line 1: the file is empty"),
        (b"frame,time\n0,1\n", "line 1: invalid JSON"),
        (b"\xff\xfe\n", "line 1: "),
        (b"[" * 100_000 + b"\n", "line 1: "),
        (b"3\n", "line 1: expected a header"),
        (b'{"kind":"read"}\n', "line 1: expected a header"),
    ],
)
def test_lines_of_something_else_are_refused(tmp_path: Path, content: bytes, expected: str) -> None:
    (tmp_path / "other.jsonl").write_bytes(content)
    with pytest.raises(FormatError, match=expected):
        read_record(tmp_path / "other.jsonl")


def with_column(table: pyarrow.Table, name: str, values: pyarrow.Array) -> pyarrow.Table:
    return table.set_column(table.column_names.index(name), name, values)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda table: table.drop_columns(["n_bytes"]), "missing column n_bytes"),
        (lambda table: table.replace_schema_metadata(None), "expected a header"),
        (lambda table: table.slice(1), "the file has 4 spans, the header says 5"),
        (lambda table: with_column(table, "kind", pyarrow.array(["dream"] * 5)), "row 0: kind: unknown kind"),
        (lambda table: with_column(table, "kind", pyarrow.array([1] * 5)), "row 0: kind: unknown kind"),
        (
            lambda table: with_column(table, "n_bytes", pyarrow.array([1, None] * 2 + [3])),
            "row 1: n_bytes: missing value",
        ),
        (lambda table: with_column(table, "n_bytes", pyarrow.array([-1] * 5)), "not a Parquet file of spans"),
        (lambda table: with_column(table, "n_bytes", pyarrow.array([0.5] * 5)), "n_bytes: expected whole numbers"),
        (lambda table: with_column(table, "block", pyarrow.array([2**32] * 5)), "row 0: block: expected at most"),
        (lambda table: with_column(table, "start_ns", pyarrow.array([2**60] * 5)), "row 0: the span ends before"),
    ],
)
def test_what_is_wrong_with_a_parquet_file_is_said(tmp_path: Path, small: Record, change, expected: str) -> None:
    path = tmp_path / "wrong.parquet"
    write_record(small, path)
    with path.open("rb") as file:
        table = pyarrow.parquet.read_table(file)
    pyarrow.parquet.write_table(change(table), path)
    with pytest.raises(FormatError, match=expected):
        read_record(path)


def test_formats_are_told_by_the_ending(tmp_path: Path, record: Record) -> None:
    for name in ("spans", "spans.json", "spans.csv", "spans.jsonl.gz"):
        with pytest.raises(UnsupportedError, match=r"known endings of spans: \.jsonl, \.parquet, \.trace\.json"):
            write_record(record, tmp_path / name)
    write_record(record, tmp_path / "SPANS.JSONL")
    assert_same(read_record(tmp_path / "SPANS.JSONL"), record)
    write_record(record, tmp_path / "run.trace.json")
    with pytest.raises(UnsupportedError, match=r"known endings of spans: \.jsonl, \.parquet$"):
        read_record(tmp_path / "run.trace.json")
    with pytest.raises(FileNotFoundError):
        read_record(tmp_path / "gone.jsonl")


@pytest.mark.parametrize("ending", WRITERS)
def test_record_replaces_a_file_only_when_forced(tmp_path: Path, record: Record, ending: str) -> None:
    path = tmp_path / f"run{ending}"
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        write_record(record, path)
    assert path.read_text() == "mine"
    write_record(record, path, force=True)
    assert path.stat().st_size > 100
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", WRITERS)
def test_nothing_is_left_behind_when_the_disk_is_full(tmp_path: Path, record: Record, ending: str) -> None:
    path = tmp_path / f"run{ending}"
    with full_disk(tmp_path):
        with pytest.raises(OSError, match=ending) as caught:
            write_record(replace(record, title="long " * 2_000_000), path)
        assert caught.value.errno in (errno.ENOSPC, errno.EFBIG)
        assert caught.value.filename == str(path)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", WRITERS)
def test_folder_that_may_not_be_written_to_is_named(record: Record, ending: str) -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own are closed to others
        Path(folder).chmod(0o555)
        with without_privilege(), pytest.raises(PermissionError) as caught:
            write_record(record, Path(folder, f"run{ending}"))
        assert caught.value.filename == folder
        assert list(Path(folder).iterdir()) == []


def test_timing_saves_itself(tmp_path: Path, record: Record) -> None:
    timing = record.timing
    timing.save(tmp_path / "spans.jsonl")
    found = read_record(tmp_path / "spans.jsonl")
    np.testing.assert_array_equal(found.timing.spans, timing.spans)
    assert found.environment["files"] == []
    with pytest.raises(FileExistsError):
        timing.save(tmp_path / "spans.jsonl")
    timing.save(
        tmp_path / "spans.jsonl",
        environment=record.environment,
        limits=record.limits,
        title=record.title,
        force=True,
    )
    assert_same(read_record(tmp_path / "spans.jsonl"), record)


@pytest.mark.parametrize("ending", READERS)
def test_file_that_may_not_be_read_is_no_fault_of_its_format(small: Record, ending: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"secret{ending}")
        write_record(small, path)
        path.chmod(0)
        Path(folder).chmod(0o755)
        with without_privilege(), pytest.raises(PermissionError):
            read_record(path)
