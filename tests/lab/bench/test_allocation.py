"""Hosts and cores for points: spread evenly, taken from Slurm, and wrong ones refused before anything is run."""

import subprocess
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest

from mdreel.errors import MismatchError, UnsupportedError
from mdreel_lab.bench.allocation import Allocation, allocation_of, cpus_per_node
from mdreel_lab.bench.placement import HostCores, places_text, spread

Bench = Callable[..., "subprocess.CompletedProcess[str]"]

HOSTS = (HostCores("a", 4), HostCores("b", 2), HostCores("c", 4))


@pytest.mark.parametrize("n_ranks", range(1, 11))
def test_ranks_are_spread_evenly_over_the_fewest_hosts(n_ranks: int) -> None:
    found = spread(HOSTS, n_ranks)
    cores = {host.name: host.n_cores for host in HOSTS}
    assert sum(found.values()) == n_ranks
    assert all(0 < count <= cores[name] for name, count in found.items())
    assert list(found) == [host.name for host in HOSTS][: len(found)]
    assert sum(cores[name] for name in list(found)[:-1]) < n_ranks
    # Nothing can be moved from a fuller host to a free core of one that has fewer ranks.
    for one, other in combinations(found, 2):
        fuller, emptier = sorted((one, other), key=lambda name: -found[name])
        assert found[fuller] - found[emptier] <= 1 or found[emptier] == cores[emptier]


def test_ranks_beyond_all_cores_are_spread_by_cores() -> None:
    assert spread(HOSTS, 20) == {"a": 8, "b": 4, "c": 8}
    assert spread((), 3) == {}
    assert places_text({"a": 2, "b": 1}) == "a:2,b:1"


def test_command_of_ranks_is_filled_in() -> None:
    ranks = ("srun", "-n", "{n}", "-N", "{nodes}", "--nodelist={hosts}", "--ntasks-per-node={per-node}", "{places}")
    filled = Allocation(HOSTS, ranks=ranks).command_on_ranks(5)
    assert filled == ("srun", "-n", "5", "-N", "2", "--nodelist=a,b", "--ntasks-per-node=3", "a:3,b:2")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("24", [24]), ("24(x2),12", [24, 24, 12]), ("1,2(x3)", [1, 2, 2, 2]), ("", []), ("24(y2)", [])],
)
def test_numbers_of_cpus_are_those_of_slurm(text: str, expected: list[int]) -> None:
    assert cpus_per_node(text) == expected


def test_hosts_are_asked_for_their_cores() -> None:
    n_here = int(subprocess.run(["nproc"], capture_output=True, text=True, check=True).stdout)
    found = allocation_of(["a=10.0.0.1", "b"], "env MDREEL_HOST={host}", variables={})
    assert found.hosts == (HostCores("a", n_here), HostCores("b", n_here))
    assert (found.per_core, found.n_cores("mdreel", "mpi")) == (1, 2 * n_here)
    told = allocation_of(["a", "b"], "false {host}", n_cores=7, per_core=3, variables={})
    assert told.hosts == (HostCores("a", 7), HostCores("b", 7))
    assert told.per_core == 3


def test_job_of_slurm_without_its_programs_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    variables = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_CPUS_PER_NODE": "4(x2)"}
    with pytest.raises(UnsupportedError, match=r"the nodes n\[1-2\] of the Slurm job are listed with scontrol"):
        allocation_of(variables=variables)


def test_machine_without_an_allocation_is_this_one() -> None:
    assert allocation_of(variables={}) == Allocation()
    assert allocation_of(variables={}).per_core == 4
    assert allocation_of(per_core=2, variables={}).per_core == 2


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--hosts", "a,b", "--launcher", "ssh"], "expected {host} in it"),
        (["--hosts", "a,b", "--launcher", "no-launcher {host}"], "no-launcher was not found"),
        (["--hosts", "a,b", "--launcher", "false {host}"], "--launcher does not reach a: exit code 1"),
        (["--hosts", "a,a", "--launcher", "env X={host}"], "--hosts names a twice"),
        (["--mpi-launcher", "env"], "--mpi-launcher 'env': expected {n} in it"),
        (["--mpi-launcher", "no-launcher {n}"], "--mpi-launcher: no-launcher was not found"),
        (["--mpi-launcher", "env {n} {rank}"], "{rank} is not one of {n}, {hosts}, {nodes}, {places}, {per-node}"),
    ],
)
def test_wrong_allocation_is_refused_before_anything_is_run(
    tmp_path: Path, bench: Bench, options: list[str], expected: str
) -> None:
    done = bench(tmp_path, "run", "2019-shared", "-o", "out", *options)
    assert done.returncode == 3, done.stderr
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_dask_scheduler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mdreel.execution.executors.dask.cluster.START_SECONDS", 1.0)
    with pytest.raises(MismatchError, match=r"--scheduler: cannot connect to a Dask scheduler at tcp://127\.0\.0\.1:1"):
        allocation_of(scheduler="tcp://127.0.0.1:1", variables={})


def test_error_of_mismatch_is_an_input_error() -> None:
    with pytest.raises(MismatchError):
        allocation_of(["a"], "env", variables={})
