"""Running scenarios: every executor, resumed after a kill, with what fails kept and said."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mdreel_lab.bench.plans import plan_of
from mdreel_lab.bench.records import DONE, FAILED, LEFT_OUT, Kept
from mpi_launcher import MPICH, needs

EVERYWHERE = """
title = "Every executor"
paper = "Nobody et al."
figures = ["stream", "ranks", "violin"]
tables = ["scaling", "observables", "tasks-per-worker", "peers"]

[data]
cache = "cold"

[small]
factor = 0.02
workers = [1, 2]

[[grid]]
executor = ["serial", "threads"]

[[grid]]
executor = ["processes", "dask", "mpi"]
workers = 2
"""

SERIAL = """
title = "Serial"

[small]
factor = 0.02
repeats = {repeats}
workers = [1]

[[grid]]
executor = "serial"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def records_of(folder: Path, name: str = "mine") -> list[Kept]:
    return plan_of(folder, name)[2]


@needs(MPICH)
def test_every_executor_does_the_same_and_nothing_twice(tmp_path: Path, bench) -> None:
    write(tmp_path, EVERYWHERE)
    done = bench(tmp_path, "run", "mine.toml", "-o", "results", "--report")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "results/report/index.md\n"
    assert (tmp_path / "results/report/mine/ranks.png").exists()
    results = tmp_path / "results"
    records = records_of(results)
    assert [kept.status for kept in records] == [DONE] * 6
    assert {(kept.point.executor, kept.point.n_workers) for kept in records} == {
        ("serial", 1),
        ("threads", 1),
        ("threads", 2),
        ("processes", 2),
        ("dask", 2),
        ("mpi", 2),
    }
    assert len({kept.facts["check"] for kept in records}) == 1
    for kept in records:
        assert kept.timing is not None
        assert kept.timing.n_frames == kept.point.n_frames == 84
        assert 0 < kept.timing.observables.t_total <= kept.seconds
        assert kept.facts["cache"].startswith("cold")
        assert kept.environment["versions"]
        assert kept.environment["files"][0]["n_bytes"] > 0

    before = {path: path.stat().st_mtime_ns for path in results.rglob("records/**/*") if path.is_file()}
    again = bench(tmp_path, "run", "mine.toml", "-o", "results")
    assert again.returncode == 0
    assert "0 done, 6 done before, 0 left out, 0 failed" in again.stderr
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_run_that_was_killed_goes_on(tmp_path: Path, bench, data: Path) -> None:
    write(tmp_path, SERIAL.format(repeats=3))
    results = tmp_path / "results"
    command = [sys.executable, "-m", "mdreel.cli", "bench", "run", "mine.toml", "-o", "results", "--data", str(data)]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        while not list(results.rglob("records/mine/*.json")):
            assert process.poll() is None, "it ended before it was killed"
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
    first = records_of(results)
    assert 1 <= len(first) < 3
    written = {path: path.stat().st_mtime_ns for path in results.rglob("records/mine/*.json")}
    assert bench(tmp_path, "run", "mine.toml", "-o", "results").returncode == 0
    assert [kept.status for kept in records_of(results)] == [DONE] * 3
    assert written == {path: path.stat().st_mtime_ns for path in written}


def test_interrupt_keeps_what_is_done_and_says_so(tmp_path: Path, data: Path) -> None:
    write(tmp_path, SERIAL.format(repeats=50))
    results = tmp_path / "results"
    command = [sys.executable, "-m", "mdreel.cli", "bench", "run", "mine.toml", "-o", "results", "--data", str(data)]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        while not list(results.rglob("records/mine/*.json")):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.rstrip().endswith("mdreel: interrupted")
    assert "Traceback" not in said
    records = records_of(results)
    assert records
    assert {kept.status for kept in records} == {DONE}


def test_point_that_fails_is_kept_with_its_message_and_tried_again(tmp_path: Path, bench) -> None:
    scenario = write(tmp_path, SERIAL.format(repeats=1) + '[data]\nselection = "name XX"\n')
    done = bench(tmp_path, "run", scenario, "-o", "results")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("mdreel: error: 1 point failed, the first of them: mine: serial")
    (kept,) = records_of(tmp_path / "results")
    assert kept.status == FAILED
    assert "has no atoms" in kept.message
    again = bench(tmp_path, "run", scenario, "-o", "results")
    assert again.returncode == 1
    page = Path(bench(tmp_path, "report", "results").stdout.strip()).parent / "mine.md"
    assert "## Failed\n\n* serial, N = 1: " in (tmp_path / page).read_text()


def test_what_is_not_there_is_left_out_and_said(tmp_path: Path, bench) -> None:
    text = SERIAL.format(repeats=1)
    text += '[[grid]]\nprogram = "gmx"\nexecutor = "serial"\n[[grid]]\nexecutor = "threads"\nstripes = 3\n'
    text += '[[grid]]\nlabel = "many"\nexecutor = "threads"\nworkers = 100_000\n'
    scenario = write(tmp_path, text)
    empty = tmp_path / "empty"
    empty.mkdir()
    done = bench(tmp_path, "run", scenario, "-o", "results", PATH=str(empty))
    assert done.returncode == 0, done.stderr
    _, *others = records_of(tmp_path / "results")
    assert [kept.status for kept in others] == [LEFT_OUT] * 3
    messages = [kept.message for kept in others]
    assert messages[0] == "the program gmx is not installed"
    assert "has no stripes" in messages[1]
    assert "100000 workers are more than 4 for each" in messages[2]
    assert bench(tmp_path, "report", "results").returncode == 0
    page = (tmp_path / "results" / "report" / "mine.md").read_text()
    assert page.count("## Left out") == 1
    assert all(message in page for message in messages)


@needs(MPICH)
def test_frames_in_memory_give_the_same_without_reading(tmp_path: Path, bench) -> None:
    text = '[small]\nfactor = 0.02\nworkers = [2]\n[[grid]]\nexecutor = ["threads", "dask", "mpi"]\n'
    scenario = write(
        tmp_path, 'title = "Memory"\n' + text + 'frames = "memory"\n[[grid]]\nexecutor = "threads"\nload = 3\n'
    )
    done = bench(tmp_path, "run", scenario, "-o", "results")
    assert done.returncode == 0, done.stderr
    *in_memory, of_file = records_of(tmp_path / "results")
    for kept in in_memory:
        assert kept.facts["check"] == pytest.approx(of_file.facts["check"], rel=1e-12)
        assert kept.timing is not None
        assert kept.timing.n_bytes == 84 * 214 * 12  # of memory
        assert kept.timing.n_frames == 84
    assert of_file.timing is not None
    assert of_file.timing.n_bytes > 300_000


def test_segments_and_other_workloads_run(tmp_path: Path, bench) -> None:
    for workload, selection, access in (
        ("rmsd", "name CA", "segments"),
        ("distance-array", "name CA", "chain"),
        ("dihedrals", "protein", "segments"),
    ):
        text = f'title = "a"\nworkload = "{workload}"\n[data]\nselection = "{selection}"\ncache = "copy"\n'
        text += f'[small]\nfactor = 0.02\nworkers = 2\n[[grid]]\nexecutor = "threads"\naccess = "{access}"\n'
        (tmp_path / f"{workload}.toml").write_text(text + 'schedule = "static"\n')
    tasks = 'title = "b"\nworkload = "empty-tasks"\ntables = ["throughput"]\nfigures = ["progress", "throughput"]\n'
    tasks += '[small]\nfactor = 0.02\ntasks = 300\nworkers = 2\n[[grid]]\nexecutor = "processes"\n'
    tasks += '[[grid]]\nprogram = "dask"\nexecutor = ["threads", "distributed-threads"]\n'
    (tmp_path / "tasks.toml").write_text(tasks)
    split = 'title = "c"\nworkload = "split"\ntables = ["splitting"]\n[small]\nfactor = 0.02\nworkers = 2\n'
    (tmp_path / "split.toml").write_text(split + '[[grid]]\nexecutor = "threads"\n')
    peers = 'title = "d"\ntables = ["peers"]\nfigures = ["bars"]\n[small]\nfactor = 0.02\nworkers = 1\n[[grid]]\n'
    peers += 'program = ["mdanalysis", "mdtraj", "mdreel"]\nexecutor = "serial"\n'
    (tmp_path / "peers.toml").write_text(peers)
    names = sorted(path.name for path in tmp_path.glob("*.toml"))
    done = bench(tmp_path, "run", *names, "-o", "results")
    assert done.returncode == 0, done.stderr
    results = tmp_path / "results"
    assert {kept.facts["check"] for kept in records_of(results, "tasks")} == {300.0}
    for kept in records_of(results, "tasks"):
        assert kept.facts["progress"]["tasks"][-1] == 300
        assert kept.facts["progress"]["seconds"] == sorted(kept.facts["progress"]["seconds"])
    values = [kept.facts["check"] for name in ("peers", "rmsd") for kept in records_of(results, name)]
    assert values == pytest.approx([values[0]] * 4, abs=2e-3)  # PDB and XTC are rounded
    assert bench(tmp_path, "report", "results").returncode == 0
    assert (results / "report" / "tasks" / "throughput.csv").read_text().count("\n") == 4
    assert not list(results.parent.rglob("copy-*")), "copies are removed"


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["run", "-o", "results"], 2, "give either names or files of scenarios"),
        (["run", "peers", "--all", "-o", "results"], 2, "give either names or files"),
        (["run", "peers"], 2, "give the folder of the records"),
        (["run", "nonsense", "-o", "results"], 3, "there is no scenario 'nonsense'; known: 2017-dask-mpi"),
        (["run", "none.toml", "-o", "results"], 3, "none.toml: No such file or directory"),
        (["run", "peers", "--size", "huge", "-o", "results"], 2, "'huge' is not one of"),
        (["report", "results"], 3, "there are no records of benchmarks"),
    ],
)
def test_wrong_usage_is_said_in_one_line(tmp_path: Path, bench, arguments: list[str], code: int, expected: str) -> None:
    done = bench(tmp_path, *arguments)
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("mdreel: error: ")
    assert done.stderr.count("\n") == 1
    assert expected in done.stderr
    assert not (tmp_path / "results").exists()


def test_folder_that_cannot_be_written_is_named(tmp_path: Path, bench) -> None:
    (tmp_path / "results").write_text("a file")
    write(tmp_path, SERIAL.format(repeats=1))
    done = bench(tmp_path, "run", "mine.toml", "-o", "results")
    assert done.returncode == 3
    assert "results" in done.stderr
    assert "Traceback" not in done.stderr


def test_scenarios_are_listed(tmp_path: Path, bench) -> None:
    done = bench(tmp_path, "list")
    assert done.returncode == 0
    assert "2019-workloads: Workloads W = 1, 40, 70, 100" in done.stdout
    assert "Khoshlessan et al. (2017), figure 10" in done.stdout
