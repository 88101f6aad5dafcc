"""``mdreel report``: a page of a run that was recorded."""

import base64
import re
import shlex

import numpy as np
import pytest

from html_page import Page
from mdreel.foundation.urls import without_secrets
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


def pictures(text):
    """The SVGs of a page, wide and narrow."""
    return [base64.b64decode(data).decode() for data in re.findall(r"data:image/svg\+xml;base64,([^\"]+)", text)]


def test_report_of_a_run_shows_command_input_and_results(run, adk, tmp_path):
    selection = "name CA and not (name <script> or resname &amp;)"
    arguments = ["rmsd", "-s", adk["psf"], "-f", adk["xtc"], "--select", selection, "-nt", "2", "--step", "2"]
    done = run(*arguments, "-o", "rmsd.csv", "--report", "run.html", "--timing", "run.jsonl")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    page = Page(text)
    command = shlex.join(map(str, ["mdreel", *arguments, "-o", "rmsd.csv", "--report", "run.html"]))
    for said in (command, f"214 atoms: {selection}", "49 frames, 0 to 96 in steps of 2 (1 to 97 ps)", str(adk["psf"])):
        assert said in page.said
    assert "<script>" not in text.replace("\n<script>", "", 1).partition("</main>")[0]
    wide, narrow = pictures(text.partition('id="timing"')[0])[::-1]
    for svg in (wide, narrow):
        assert svg.startswith("<svg ")
        assert "RMSD (Å)" in svg
        names = ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink")
        assert set(re.findall(r"\w+://[^\"\s]+", svg)) <= set(names)
        assert not re.search(r"<script|<foreignObject|\bon\w+=|url\((?!#)|href=\"(?!#)", svg)
    # The page of the record lacks the plot, and nothing else.
    assert run("report", "run.jsonl", "-o", "again.html").returncode == 0
    again = Page((tmp_path / "again.html").read_text(encoding="utf-8"))
    assert command in again.said
    assert "There is no plot: a file of spans contains no plots." in again.said


def test_report_of_a_recipe_has_a_plot_of_each_analysis(run, adk, tmp_path):
    recipe = f"""topology = "{adk["psf"]}"
trajectory = "{adk["xtc"]}"
[[analysis]]
type = "rmsd"
output = "rmsd.csv"
[[analysis]]
type = "rg"
select = "protein"
output = "rg.csv"
"""
    (tmp_path / "recipe.toml").write_text(recipe)
    done = run("run", "recipe.toml", "--report", "run.html")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    page = Page(text)
    assert [attributes["alt"] for tag, attributes in page.elements if tag == "img"] == [
        "Plot of RMSD, 214 atoms",
        "Plot of Radius of gyration, 3,341 atoms",
    ]
    assert len(pictures(text)) == 4
    assert "mdreel run recipe.toml --report run.html" in page.said
    assert "3,341 atoms: protein" in page.said


def test_report_hides_secrets_of_urls():
    assert without_secrets("mdreel rmsd -f 'https://me:word@host/a.xtc?X-Sig=1&b=2' -s a.psf?") == (
        "mdreel rmsd -f 'https://...@host/a.xtc?...' -s a.psf?"
    )
    assert without_secrets("a@b.xtc s3://bucket/a@b.xtc?x") == "a@b.xtc s3://bucket/a@b.xtc?..."


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
