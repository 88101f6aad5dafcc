"""Benchmarks on several hosts, each with a network of its own: MPI, splitting by ranks, and Dask."""

import csv
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dask_cluster import DaskCluster
from mdreel_lab.bench.plans import plan_of
from mdreel_lab.bench.records import DONE, LEFT_OUT, Kept
from mdreel_lab.bench.rigs.hosts import Host, network_hosts, why_there_are_none
from mpi_launcher import GLOBAL_ARRAYS, MPICH, needs

ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    "UCX_TLS": "tcp,self",  # UCX would use shared memory between hosts that have one kernel
}

PATIENT = ("timeout", "--signal=KILL", "600")
"""Several points, each with a start of several interpreters, share few cores with other tests."""

MPI = """
title = "On hosts"
tables = ["scaling", "observables"]

[data]
cache = "cold"

[small]
factor = 0.02
workers = [1, 3, 4]

[[grid]]
executor = "mpi"
schedule = "static"
communication = "gather"
"""

SPLIT = """
title = "Splitting"
workload = "split"
tables = ["splitting"]

[small]
factor = 0.02
workers = [1, 3]

[[grid]]
executor = ["threads", "mpi"]
"""

THEIRS = """
title = "The program of the papers"
tables = ["scaling", "observables", "stragglers"]

[data]
cache = "cold"

[small]
factor = 0.02
workers = [1, 3]

[[grid]]
program = "published"
executor = "mpi"
schedule = "static"
access = "segments"
{load}
"""

DASK = """
title = "Dask"
{workload}

[small]
factor = 0.02
workers = [1, 2, 3]
tasks = 40

[[grid]]
{program}
executor = "{executor}"
"""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Host]]:
    """Three hosts: benchmarks are started on the first."""
    if why_not := why_there_are_none():
        pytest.skip(why_not)
    with network_hosts(["anna", "bert", "cara"], tmp_path_factory.mktemp("hosts")) as made:
        yield made


def run(
    hosts: list[Host],
    folder: Path,
    data: Path,
    text: str,
    *options: str,
    name: str = "mine",
    has_report: bool = False,
) -> tuple["subprocess.CompletedProcess[str]", list[Kept]]:
    """Run a scenario from the first host; return what is said, and the records."""
    (folder / f"{name}.toml").write_text(text)
    words = ["run", folder / f"{name}.toml", "-o", folder / "results", "--data", data, *options]
    words += [] if has_report else ["--no-report"]
    command = hosts[0].command(*PATIENT, sys.executable, "-m", "mdreel.cli", "bench", *words)
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 0, done.stderr
    return done, plan_of(folder / "results", name)[2]


def launcher_of(hosts: list[Host]) -> tuple[str, ...]:
    return "--hosts", ",".join(host.name for host in hosts), "--launcher", f"{hosts[0].remote_shell} {{host}}"


@needs(MPICH)
def test_ranks_are_on_all_hosts(hosts: list[Host], data: Path, tmp_path: Path) -> None:
    _, records = run(hosts, tmp_path, data, MPI, *launcher_of(hosts), "--cores-per-host", "1", has_report=True)
    one, three, four = records
    assert [kept.status for kept in (one, three)] == [DONE, DONE], three.message
    assert one.facts["hosts"] == one.facts["places"] == {"anna": 1}
    assert three.facts["hosts"] == three.facts["places"] == {"anna": 1, "bert": 1, "cara": 1}
    assert one.facts["check"] == three.facts["check"]
    assert three.facts["n_cores"] == 3
    assert not three.facts["oversubscribed"]
    assert three.timing is not None
    assert {member.host for member in three.timing.crew.values()} == {"anna", "bert", "cara"}
    assert four.status == LEFT_OUT
    assert four.message == "4 workers are more than 1 for each of 3 cores (--oversubscribe allows more)"
    page = (tmp_path / "results/report/mine.md").read_text()
    assert "* Hosts: anna, bert, cara (--hosts)" in page
    assert not list((tmp_path / "results").glob(".launch-*")), "files of the launcher are removed"

    more, records = run(
        hosts, tmp_path, data, MPI, *launcher_of(hosts), "--cores-per-host", "1", "--oversubscribe", "2"
    )
    assert "1 done, 2 done before, 0 left out" in more.stderr
    assert records[2].facts["hosts"] == {"anna": 2, "bert": 1, "cara": 1}
    assert records[2].facts["oversubscribed"]
    assert records[2].facts["check"] == one.facts["check"]


@needs(MPICH)
def test_ranks_of_the_papers_are_on_all_hosts_with_the_load_of_a_ratio(
    hosts: list[Host], data: Path, tmp_path: Path
) -> None:
    options = (*launcher_of(hosts), "--cores-per-host", "1")
    done, records = run(hosts, tmp_path, data, THEIRS.format(load="ratio = 100"), *options, has_report=True)
    assert [(kept.status, kept.message) for kept in records] == [(DONE, ""), (DONE, "")]
    one, three = records
    assert "measuring R_comp/io: published mpi, pilot, W = 1" in done.stderr
    assert one.facts["load"] == three.facts["load"] > 1
    assert one.facts["hosts"] == one.facts["places"] == {"anna": 1}
    assert three.facts["hosts"] == three.facts["places"] == {"anna": 1, "bert": 1, "cara": 1}
    assert three.facts["n_cores"] == 3
    assert three.facts["allocation"] == "--hosts"
    assert one.facts["check"] == pytest.approx(three.facts["check"], abs=1e-6)
    assert three.timing is not None
    assert {member.host for member in three.timing.crew.values()} == {"anna", "bert", "cara"}
    assert len(three.environment["files"]) == 3
    assert "simulated: segments-gather" in (tmp_path / "results/report/mine.md").read_text()

    command = f"{MPICH.program} -launcher ssh -launcher-exec {hosts[0].remote_shell} -hosts {{places}} -n {{n}}"
    text = THEIRS.format(load="load = 2").replace("[1, 3]", "[3]")
    _, (kept,) = run(hosts, tmp_path, data, text, *options, "--mpi-launcher", command, name="loaded")
    assert (kept.status, kept.message) == (DONE, "")
    assert kept.facts["hosts"] == {"anna": 1, "bert": 1, "cara": 1}
    assert kept.facts["load"] == 2
    assert kept.facts["check"] == three.facts["check"]


@needs(GLOBAL_ARRAYS)
def test_ranks_of_open_mpi_are_on_all_hosts(hosts: list[Host], data: Path, tmp_path: Path) -> None:
    text = MPI.replace("[1, 3, 4]", "[1, 3]").replace('"gather"', '"global-arrays"')
    _, records = run(hosts, tmp_path, data, text, *launcher_of(hosts), "--cores-per-host", "1")
    assert [(kept.status, kept.message) for kept in records] == [(DONE, ""), (DONE, "")]
    one, three = records
    assert three.facts["hosts"] == three.facts["places"] == {"anna": 1, "bert": 1, "cara": 1}
    assert one.facts["check"] == three.facts["check"]
    assert three.environment["versions"]["MPI"].startswith("Open MPI")


@needs(MPICH)
def test_ranks_are_started_by_the_command_of_the_user(hosts: list[Host], data: Path, tmp_path: Path) -> None:
    shell = hosts[0].remote_shell
    command = f"{MPICH.program} -launcher ssh -launcher-exec {shell} -hosts {{places}} -n {{n}}"
    text = MPI.replace("[1, 3, 4]", "[3]")
    options = (*launcher_of(hosts), "--cores-per-host", "2", "--mpi-launcher", command)
    _, (kept,) = run(hosts, tmp_path, data, text, *options)
    assert (kept.status, kept.message) == (DONE, "")
    assert kept.facts["hosts"] == {"anna": 2, "bert": 1}


@needs(MPICH)
def test_ranks_of_several_hosts_split_a_trajectory(hosts: list[Host], data: Path, tmp_path: Path) -> None:
    options = (*launcher_of(hosts), "--cores-per-host", "1", "--oversubscribe", "3")
    _, records = run(hosts, tmp_path, data, SPLIT, *options, has_report=True)
    assert [(kept.status, kept.message) for kept in records] == [(DONE, "")] * 4
    assert [kept.facts["check"] for kept in records] == [84.0] * 4
    by_ranks = records[-1]
    assert by_ranks.facts["hosts"] == {"anna": 1, "bert": 1, "cara": 1}
    assert len(by_ranks.facts["rank_seconds"]) == 3
    assert max(by_ranks.facts["rank_seconds"]) <= by_ranks.seconds
    with (tmp_path / "results/report/mine/splitting.csv").open() as file:
        table = {(row["Series"], row["N"].strip("*")): row for row in csv.DictReader(file)}
    assert [table[series, n]["Hosts"] for series in ("threads", "mpi") for n in "13"] == ["1", "1", "1", "3"]
    assert float(table["mpi", "3"]["seconds"]) == by_ranks.seconds


def test_points_use_some_workers_of_a_running_dask_cluster(
    hosts: list[Host], data: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cluster = DaskCluster(hosts, tmp_path_factory.mktemp("dask"), ENVIRONMENT)
    cluster.begin()
    try:
        text = DASK.format(workload="", program="", executor="dask")
        _, records = run(hosts, tmp_path, data, text, "--scheduler", cluster.address)
        tasks = DASK.format(workload='workload = "empty-tasks"', program='program = "dask"', executor="distributed")
        _, of_tasks = run(hosts, tmp_path, data, tasks, "--scheduler", cluster.address, name="tasks")
        program = 'program = "published"\nschedule = "static"\nparts-per-worker = 2'
        papers = DASK.format(workload="", program=program, executor="distributed")
        _, of_papers = run(hosts, tmp_path, data, papers, "--scheduler", cluster.address, name="papers")
    finally:
        cluster.end()
    one, two, three = records
    assert [(kept.status, kept.message) for kept in (one, two)] == [(DONE, ""), (DONE, "")]
    assert one.facts["hosts"] in ({"bert": 1}, {"cara": 1})
    assert two.facts["hosts"] == {"bert": 1, "cara": 1}
    assert one.facts["check"] == two.facts["check"]
    assert (three.status, three.message) == (LEFT_OUT, "3 workers are more than the 2 threads of the cluster")
    assert [kept.status for kept in of_tasks] == [DONE, DONE, LEFT_OUT]
    assert {kept.facts["check"] for kept in of_tasks[:2]} == {40.0}
    assert [(kept.status, kept.message) for kept in of_papers[:2]] == [(DONE, ""), (DONE, "")]
    assert of_papers[2].status == LEFT_OUT
    assert of_papers[0].facts["hosts"] in ({"bert": 1}, {"cara": 1})
    assert of_papers[1].facts["hosts"] == {"bert": 1, "cara": 1}
    assert [kept.facts["check"] for kept in of_papers[:2]] == pytest.approx(2 * [one.facts["check"]], abs=1e-5)
    assert of_papers[1].timing is not None
    assert of_papers[1].timing.observables.n_blocks.sum() == 4
    assert of_papers[1].timing.observables.t_total <= of_papers[1].seconds + 1e-3
