"""``--timing`` and ``--report``: what a run cost is kept in a file, whoever runs it, and nothing is lost by trying."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from full_disk import full_disk
from mdreel.timing.files import READERS, WRITERS, read_record
from mdreel.timing.spans import COORDINATOR, KINDS
from mpi_launcher import EVERY_MPI, Launcher

USAGE, INPUT, OUTPUT = 2, 3, 4


@pytest.mark.parametrize("ending", WRITERS)
def test_timing_is_kept_in_every_format(run, adk, tmp_path, ending):
    done = run("rmsd", "-s", adk["psf"], "-f", adk["dcd"], "-q", "--timing", f"run{ending}")
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == [f"run{ending}"]
    if ending not in READERS:
        json.loads((tmp_path / f"run{ending}").read_text(encoding="utf-8"))
        return
    record = read_record(tmp_path / f"run{ending}")
    assert record.title == f"RMSD of {adk['dcd'].name}"
    assert record.timing.n_frames == 98
    # The topology is parsed before the run, by the caller.
    first = record.timing.spans[0]
    assert (KINDS[first["kind"]], first["worker"], first["start_ns"]) == ("topology", COORDINATOR, 0)
    (file,) = record.environment["files"]
    assert (file["path"], file["n_bytes"]) == (str(adk["dcd"]), adk["dcd"].stat().st_size)
    assert file["cached_share"] is not None
    assert {"numpy", "MDAnalysis"} <= set(record.environment["versions"])
    assert record.limits is not None
    assert record.limits.memory_bytes_per_s > 0


@pytest.mark.parametrize("backend", ["serial", "processes", "dask"])
def test_timing_of_every_backend_is_kept(adk, tmp_path, backend):
    workers = [] if backend == "serial" else ["-nt", "2", "--schedule", "static"]  # so that each has something to do
    arguments = ["--backend", backend, *workers, "--n-parts", "6", "-q", "--timing", "spans.jsonl"]
    # An interpreter of its own: versions are those of the packages that the command has loaded.
    command = [sys.executable, "-m", "mdreel.cli", "rmsd", "-s", str(adk["psf"]), "-f", str(adk["xtc"]), *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    record = read_record(tmp_path / "spans.jsonl")
    assert (record.timing.n_frames, record.timing.n_blocks) == (98, 6)
    processes = {member.process for worker, member in record.timing.crew.items() if worker != COORDINATOR}
    assert len(processes) == (1 if backend == "serial" else 2)
    assert (len(record.timing.tasks) > 0) == (backend == "dask")
    assert ("distributed" in record.environment["versions"]) == (backend == "dask")


@EVERY_MPI
def test_timing_of_ranks_is_kept_once(adk, tmp_path: Path, mpi: Launcher) -> None:
    inputs = ["-s", str(adk["psf"]), "-f", str(adk["dcd"])]
    command = mpi.command(2, "-m", "mdreel.cli", "rmsd", *inputs, "-q", "--schedule", "static", "--timing", "a.jsonl")
    done = subprocess.run(command, cwd=tmp_path, env=mpi.environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    record = read_record(tmp_path / "a.jsonl")
    assert record.timing.n_frames == 98
    assert len({member.process for member in record.timing.crew.values()}) == 2
    assert record.environment["versions"]["MPI"].split()[0] in ("MPICH", "Open")


def test_timing_of_a_recipe_is_that_of_its_pass(run, adk, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    analyses = '[[analysis]]\ntype = "rmsd"\n[[analysis]]\ntype = "rg"\n'
    head = f'topology = "{adk["psf"]}"\ntrajectory = ["{adk["dcd"]}", "{adk["xtc"]}"]\n'
    (folder / "a.toml").write_text(f'{head}[run]\ntiming = "spans.jsonl"\n{analyses}')
    done = run("run", "elsewhere/a.toml", "-q")
    assert done.returncode == 0, done.stderr
    record = read_record(folder / "spans.jsonl")
    assert record.title == f"RMSD, Radius of gyration of {adk['dcd'].name} and 1 more"
    assert record.timing.n_frames == 196
    assert [Path(file["path"]) for file in record.environment["files"]] == [adk["dcd"], adk["xtc"]]
    # What the command says comes first.
    assert run("run", "elsewhere/a.toml", "-q", "--timing", "here.jsonl").returncode == 0
    assert read_record(tmp_path / "here.jsonl").timing.n_frames == 196
    again = run("run", "elsewhere/a.toml", "-q")
    assert (again.returncode, again.stdout) == (USAGE, "")
    assert "spans.jsonl: the output exists already" in again.stderr
    assert run("run", "elsewhere/a.toml", "-q", "--force").returncode == 0


def refused(done, code, *words):
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert done.stderr.startswith("mdreel: error: ")
    assert done.stderr.count("\n") == 1
    for word in words:
        assert str(word) in done.stderr


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("spans.csv", USAGE, ["spans.csv", ".jsonl, .parquet, .trace.json, .otlp.json, .cali.json"]),
        ("spans", USAGE, ["has no ending"]),
        ("mine.jsonl", USAGE, ["mine.jsonl: the output exists already (--force replaces it)"]),
        ("gone/spans.jsonl", OUTPUT, ["gone", "the directory of the output does not exist"]),
        ("mine.jsonl/spans.jsonl", OUTPUT, ["mine.jsonl", "Not a directory"]),
        ("folder.jsonl", OUTPUT, ["folder.jsonl", "Is a directory"]),
        ("/sys/spans.jsonl", OUTPUT, ["/sys: "]),
    ],
)
def test_timing_that_could_not_be_written_is_refused_before_any_file_is_opened(run, tmp_path, name, code, words):
    (tmp_path / "mine.jsonl").write_text("mine")
    (tmp_path / "folder.jsonl").mkdir()
    refused(run("rmsd", "-s", "missing.psf", "-f", "missing.xtc", "--timing", name), code, *words)
    assert (tmp_path / "mine.jsonl").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 2


def test_timing_and_results_cannot_be_one_file(run, tmp_path):
    arguments = ["rmsd", "-s", "missing.psf", "-f", "missing.xtc", "-o", "a.parquet", "--timing", "./a.parquet"]
    refused(run(*arguments), USAGE, "a.parquet: two outputs have the same name")


def test_timing_replaces_a_file_only_when_forced(run, adk, tmp_path):
    (tmp_path / "a.jsonl").write_text("mine")
    arguments = ["rmsd", "-s", adk["psf"], "-f", adk["dcd"], "-q", "--timing", "a.jsonl"]
    refused(run(*arguments), USAGE, "exists already")
    assert run(*arguments, "--force").returncode == 0
    assert read_record(tmp_path / "a.jsonl").timing.n_frames == 98


def test_nothing_is_kept_of_a_run_that_fails(run, adk, tmp_path):
    (tmp_path / "torn.xtc").write_bytes(adk["xtc"].read_bytes()[:-100])
    done = run("rmsd", "-s", adk["psf"], "-f", "torn.xtc", "-q", "--timing", "a.jsonl")
    assert done.returncode == INPUT
    assert [path.name for path in tmp_path.iterdir()] == ["torn.xtc"]


def test_results_stay_when_there_is_no_room_for_the_timing(run, adk, tmp_path):
    """The run is done by then: a message, an exit code, and what was found."""
    arguments = ["--backend", "serial", "--n-parts", "98", "-o", "rmsd.csv", "--timing", "disk/a.jsonl"]
    (tmp_path / "disk").mkdir()
    with full_disk(tmp_path / "disk"):
        if not (tmp_path / "disk").is_mount():
            pytest.skip("only root can have a disk that is soon full")
        done = run("rmsd", "-s", adk["psf"], "-f", adk["dcd"], *arguments)
        assert list((tmp_path / "disk").iterdir()) == []
    refused(done, OUTPUT, "disk/a.jsonl", "No space left")
    assert len(np.loadtxt(tmp_path / "rmsd.csv", delimiter=",", skiprows=1)) == 98


def test_batch_script_looks_at_the_folder_of_the_timing(run, tmp_path):
    (tmp_path / "records").mkdir()
    job = ["--nodes", "2", "--ntasks-per-node", "4"]
    words = ["mdreel", "rmsd", "-s", "adk.psf", "-f", "adk.xtc", "--timing", "records/a.jsonl"]
    done = run("cluster", "slurm", *job, "--", *words)
    assert done.returncode == 0, done.stderr
    assert 'for path in records . "${TMPDIR:-/tmp}"; do' in done.stdout
    assert "--timing records/a.jsonl" in done.stdout
    words[-1] = "records/a.doc"
    refused(run("cluster", "slurm", *job, "--", *words), USAGE, "a.doc", "known endings")


def test_report_of_a_run_is_a_page(run, adk, tmp_path):
    arguments = ["-q", "-o", "rmsd.csv", "--timing", "spans.jsonl", "--report", "run.html"]
    done = run("rmsd", "-s", adk["psf"], "-f", adk["dcd"], *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert f"RMSD of {adk['dcd'].name}" in page
    # The same page is made of the spans, which hold no plots.
    assert run("report", "spans.jsonl", "-o", "again.html").returncode == 0
    again = (tmp_path / "again.html").read_text(encoding="utf-8")
    assert again.partition("<h2>Timing")[2] == page.partition("<h2>Timing")[2]


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("run.pdf", USAGE, ["run.pdf", ".html, .htm"]),
        ("mine.html", USAGE, ["mine.html: the output exists already (--force replaces it)"]),
        ("gone/run.html", OUTPUT, ["gone", "the directory of the output does not exist"]),
    ],
)
def test_report_that_could_not_be_written_is_refused_before_any_file_is_opened(run, tmp_path, name, code, words):
    (tmp_path / "mine.html").write_text("mine")
    refused(run("rmsd", "-s", "missing.psf", "-f", "missing.xtc", "--report", name), code, *words)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("mine.html", "mine")]


def test_report_of_a_recipe_is_named_from_its_folder(run, adk, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "a.toml").write_text(
        f'topology = "{adk["psf"]}"\ntrajectory = "{adk["dcd"]}"\n[run]\nreport = "run.html"\n'
        '[[analysis]]\ntype = "rmsf"\n'
    )
    assert run("run", "elsewhere/a.toml", "-q").returncode == 0
    assert (folder / "run.html").stat().st_size > 10_000
    assert run("run", "elsewhere/a.toml", "-q", "--force", "--report", "here.htm").returncode == 0
    assert (tmp_path / "here.htm").stat().st_size > 10_000
