"""``mdreel report``: a page of a run that was recorded."""

import numpy as np
import pytest

from mdreel.timing.files import write_record
from mdreel.timing.record import Record
from mdreel.timing.spans import SPAN
from mdreel.timing.timing import Timing
from synthetic_runs import synthetic_spans

USAGE, INPUT = 2, 3


@pytest.fixture
def recorded(tmp_path):
    """A record in the folder of the command."""
    record = Record(timing=Timing(synthetic_spans(3, 5)), environment={"date": "today"}, limits=None, title="RMSD & Co")
    write_record(record, tmp_path / "spans.jsonl")
    return tmp_path / "spans.jsonl"


def refused(done, code, *words):
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("mdreel: error: ")
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_report_makes_a_page_of_a_record(run, tmp_path, ending):
    record = Record(timing=Timing(synthetic_spans(3, 5)), environment={"date": "today"}, limits=None, title="RMSD & Co")
    write_record(record, tmp_path / f"spans{ending}")
    done = run("report", f"spans{ending}", "-o", "run.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "<h1>RMSD &amp; Co</h1>" in text
    assert text.endswith("</html>\n")


def test_report_of_a_run_that_recorded_nothing_is_a_page(run, tmp_path):
    empty = Record(timing=Timing(np.empty(0, SPAN)), environment={}, limits=None, title="")
    write_record(empty, tmp_path / "spans.jsonl")
    assert run("report", "spans.jsonl", "-o", "run.html").returncode == 0


def test_report_replaces_a_page_only_with_force(run, recorded, tmp_path):
    (tmp_path / "run.html").write_text("before")
    refused(run("report", recorded.name, "-o", "run.html"), USAGE, "run.html", "--force")
    assert (tmp_path / "run.html").read_text() == "before"
    assert run("report", recorded.name, "-o", "run.html", "--force").returncode == 0
    assert (tmp_path / "run.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_report_of_another_ending_is_refused_before_the_record_is_read(run, tmp_path):
    refused(run("report", "missing.jsonl", "-o", "run.pdf"), USAGE, "run.pdf", ".html, .htm")


@pytest.mark.parametrize("damage", ["missing", "empty", "torn", "other"])
def test_report_of_a_bad_record_names_it(run, recorded, tmp_path, damage):
    whole = recorded.read_bytes()
    if damage == "missing":
        recorded.unlink()
    else:
        recorded.write_bytes({"empty": b"", "torn": whole[: len(whole) // 2], "other": b"frame,time\n1,2\n"}[damage])
    refused(run("report", recorded.name, "-o", "run.html"), INPUT, "spans.jsonl")
    assert not (tmp_path / "run.html").exists()


def test_report_needs_an_output(run, recorded):
    refused(run("report", recorded.name), USAGE, "--output", "mdreel report --help")
