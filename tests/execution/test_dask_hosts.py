"""Dask on several hosts: the bits of one thread, whoever is lost, and errors that say where."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from MDAnalysisTests.datafiles import PSF

from dask_cluster import DaskCluster
from mdreel.timing.spans import KINDS
from mdreel_lab.bench.rigs.hosts import IN_TIME, Host, wait_until
from rmsd_on_ranks import Wanted, expected_of

TESTS = str(Path(__file__).parents[1])
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([TESTS, *filter(None, sys.path)])}

COMPUTE = """
import json, sys
import numpy as np
from mdreel.execution.executors.dask import executor as dask
from mixed_job import bits_of
from rmsd_on_ranks import Wanted, compute

folder, scheduler, wanted, dask.START_SECONDS = map(json.loads, sys.argv[1:])
outcome = compute(Wanted(**wanted), dask.Dask(client=scheduler))
np.save(f"{folder}/found.npy", bits_of(outcome))
np.save(f"{folder}/spans.npy", outcome.spans)
"""


@pytest.fixture(scope="module")
def one_cluster(hosts: list[Host], tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    cluster = DaskCluster(hosts, tmp_path_factory.mktemp("dask"), ENVIRONMENT)
    try:
        yield cluster
    finally:
        cluster.end()


@pytest.fixture
def cluster(one_cluster: DaskCluster) -> DaskCluster:
    """The cluster, whole."""
    one_cluster.begin()
    return one_cluster


def run_command(host: Host, cluster: DaskCluster, path: Path, output: Path) -> subprocess.CompletedProcess[str]:
    options = ("-o", output, "-q", "--backend", "dask", "--scheduler", cluster.address)
    return host.run(sys.executable, "-m", "mdreel.cli", "rmsd", "-s", PSF, "-f", path, *options, env=ENVIRONMENT)


def begin_run(
    host: Host, cluster: DaskCluster, wanted: Wanted, folder: Path, patience: float = 60.0
) -> "subprocess.Popen[bytes]":
    """Begin a run whose result is kept in a folder."""
    arguments = [json.dumps(one) for one in (str(folder), cluster.address, asdict(wanted), patience)]
    command = host.command(*IN_TIME, sys.executable, "-c", COMPUTE, *arguments)
    return subprocess.Popen(command, stderr=subprocess.PIPE, env=ENVIRONMENT)


def long_run(adk: dict[str, Path], folder: Path) -> Wanted:
    """A run whose checkpoint tells how far it is."""
    return Wanted([str(adk["xtc"])], n_parts=300, repeats=300, checkpoint=str(folder / "run.checkpoint"))


def wait_for_a_third(wanted: Wanted, process: "subprocess.Popen[bytes]") -> None:
    path = Path(str(wanted.checkpoint))
    wait_until(lambda: path.exists() and path.stat().st_size > wanted.repeats * 98 * 24 // 3, process)


@pytest.mark.parametrize("suffix", ["dcd", "xtc"])
def test_bits_are_those_of_one_thread(
    hosts: list[Host], cluster: DaskCluster, adk: dict[str, Path], tmp_path: Path, suffix: str
) -> None:
    wanted = Wanted([str(adk[suffix])], repeats=100)
    with begin_run(hosts[0], cluster, wanted, tmp_path) as process:
        assert process.stderr is not None
        errors = process.stderr.read()
    assert process.returncode == 0, errors
    assert np.load(tmp_path / "found.npy").tobytes() == expected_of(wanted)
    alone, together = tmp_path / "alone.csv", tmp_path / "together.csv"
    command = (sys.executable, "-m", "mdreel.cli", "rmsd", "-s", PSF, "-f", adk[suffix], "-q", "--backend", "serial")
    subprocess.run([*command, "-o", alone], check=True, timeout=120)
    done = run_command(hosts[0], cluster, adk[suffix], together)
    assert (done.returncode, done.stderr) == (0, "")
    numbers = [re.sub(r"(?m)^#.*\n", "", path.read_text()) for path in (alone, together)]
    assert len(numbers[0].splitlines()) == 99
    assert numbers[0] == numbers[1]


def test_worker_that_is_killed_and_replaced_costs_nothing_but_time(
    hosts: list[Host], cluster: DaskCluster, adk: dict[str, Path], tmp_path: Path
) -> None:
    wanted = long_run(adk, tmp_path)
    with begin_run(hosts[0], cluster, wanted, tmp_path) as process:
        wait_for_a_third(wanted, process)
        cluster.kill("bert")
        cluster.begin()
        assert process.stderr is not None
        errors = process.stderr.read()
    assert process.returncode == 0, errors
    assert np.load(tmp_path / "found.npy").tobytes() == expected_of(wanted)


def test_spans_of_hosts_are_on_one_clock(
    hosts: list[Host], cluster: DaskCluster, adk: dict[str, Path], tmp_path: Path
) -> None:
    """Their own clocks are days apart."""
    wanted = Wanted([str(adk["xtc"])], repeats=300)
    with begin_run(hosts[0], cluster, wanted, tmp_path) as process:
        assert process.stderr is not None
        errors = process.stderr.read()
    assert process.returncode == 0, errors
    spans = np.load(tmp_path / "spans.npy")
    computing = spans[spans["kind"] == KINDS.index("compute")]
    assert set(computing["worker"]) == {0, 1}
    assert computing["n_frames"].sum() == 300 * 98
    for worker in (0, 1):
        mine = np.sort(computing[computing["worker"] == worker], order="start_ns")
        assert mine["start_ns"][0] > 0
        assert (mine["start_ns"][1:] + 1 >= mine["stop_ns"][:-1]).all()
    assert spans["stop_ns"].max() < 3600e9


def test_host_that_does_not_see_the_file_is_named(
    hosts: list[Host], cluster: DaskCluster, adk: dict[str, Path], tmp_path: Path
) -> None:
    output = tmp_path / "rmsd.csv"
    with hosts[2].hiding(adk["dcd"].parent):
        done = run_command(hosts[0], cluster, adk["dcd"], output)
    assert done.returncode == 3
    worker = r"worker tcp://10\.83\.71\.3:\d+ on cara"
    message = rf"mdreel: error: {worker} cannot begin: FileNotFoundError: .*'{re.escape(str(adk['dcd']))}'\n"
    assert re.fullmatch(message, done.stderr), done.stderr
    assert not output.exists()


@pytest.mark.parametrize(
    ("without", "client", "who"),
    [(2, 0, r"worker tcp://10\.83\.71\.3:\d+"), (0, 1, r"the Dask scheduler tcp://\S+:8786")],
)
def test_host_without_mdreel_is_named(
    hosts: list[Host], cluster: DaskCluster, adk: dict[str, Path], tmp_path: Path, without: int, client: int, who: str
) -> None:
    cluster.kill(hosts[without].name)
    with ExitStack() as hidden:
        for path in filter(Path.is_dir, (Path(entry) / "mdreel" for entry in sys.path)):
            hidden.enter_context(hosts[without].hiding(path))
        cluster.begin()
        done = run_command(hosts[client], cluster, adk["dcd"], tmp_path / "rmsd.csv")
        cluster.kill(hosts[without].name)
    assert done.returncode == 3
    assert re.fullmatch(rf"mdreel: error: {who} cannot begin: .*No module named 'mdreel.*\n", done.stderr), done.stderr


@pytest.mark.parametrize(
    ("victims", "message"),
    [
        (["bert", "cara"], r"all workers of the Dask scheduler tcp://\S+:8786 were lost, and none has joined for 1 s"),
        (["anna"], r"the Dask scheduler tcp://\S+:8786 was lost"),
    ],
)
def test_cluster_that_is_lost_ends_the_run(
    hosts: list[Host], cluster: DaskCluster, adk: dict[str, Path], tmp_path: Path, victims: list[str], message: str
) -> None:
    wanted = long_run(adk, tmp_path)
    with begin_run(hosts[0], cluster, wanted, tmp_path, patience=1.0) as process:
        wait_for_a_third(wanted, process)
        for victim in victims:
            cluster.kill(victim)
        assert process.stderr is not None
        errors = process.stderr.read().decode()
    assert process.returncode == 1, errors
    assert re.search(rf"^mdreel.errors.WorkerError: {message}$", errors, re.MULTILINE), errors
