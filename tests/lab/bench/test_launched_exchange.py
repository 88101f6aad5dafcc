"""Exchange of frames between nodes that a launcher reaches: MPI's, and Slurm's."""

import math
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.slurm_service import reason_to_skip, running_slurm
from mdreel.errors import MismatchError
from mdreel_lab.bench.exchange.measures import cells_of
from mdreel_lab.bench.exchange.nodes import launched_nodes
from mdreel_lab.bench.plans import plan_of
from mdreel_lab.bench.records import DONE, LEFT_OUT, Kept
from mpi_launcher import MPICH, needs

Bench = Callable[..., "subprocess.CompletedProcess[str]"]
SCENARIO = """
kind = "exchange"
title = "Between nodes"
placement = "nodes"

[small]
frames = 4
pairs = [1, 2]
pairs-per-node = 1
speed = 50

[[way]]
solution = ["channel-ring", "channel-file", "shared", "moosefs", "xfs"]
"""


def run(bench: Bench, folder: Path, hosts: str, launcher: str, **settings: str) -> list[Kept[Any]]:
    (folder / "mine.toml").write_text(SCENARIO)
    (folder / "shared").mkdir()
    words = ["-o", "out", "--shared", "shared", "--hosts", hosts, "--launcher", launcher]
    done = bench(folder, "run", "mine.toml", *words, "--report", **settings)
    assert done.returncode == 0, done.stderr
    assert not list((folder / "shared").iterdir())
    return plan_of(folder / "out", "mine")[2]


def check(records: list[Kept[Any]], n_hosts: int, launcher: str) -> None:
    """What can be run on so many nodes was; the rest says why not."""
    for kept in records:
        point, status = kept.point, (kept.status, kept.message)
        if point.solution == "moosefs":
            assert status == (LEFT_OUT, "MooseFS is started on hosts made on this machine, not on those of a launcher")
        elif 2 * point.n_pairs > n_hosts:
            assert status == (LEFT_OUT, f"{2 * point.n_pairs} hosts are wanted, and --hosts names {n_hosts}")
        elif point.solution == "xfs":
            assert status == (LEFT_OUT, "files on this file system are seen on one node only")
        elif point.synchronisation == "inotify":
            assert kept.status == LEFT_OUT
            assert "of nothing that another one does" in kept.message
        else:
            assert status == (DONE, "")
            assert len(kept.facts["pairs"]) == point.n_pairs
            assert kept.facts["nodes"] == f"hosts that {launcher} reaches"
    for cell in cells_of(records, "pairs"):
        assert cell.spread("consumption").mean > 0
        assert math.isnan(cell.spread("hand-over").mean)  # by the clocks of two hosts


@needs(MPICH)
def test_launcher_of_mpi_starts_processes_on_nodes(tmp_path: Path, bench: Bench) -> None:
    pytest.importorskip("zenoh")
    check(run(bench, tmp_path, "localhost,127.0.0.1", f"{MPICH.program} -n 1 -host {{host}}"), 2, "mpiexec")
    assert "Nodes: hosts that mpiexec reaches" in (tmp_path / "out/report/mine.md").read_text()


@pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or "Slurm is there")
def test_slurm_starts_processes_on_nodes(tmp_path: Path, bench: Bench) -> None:
    pytest.importorskip("zenoh")
    folder = tmp_path / "slurm"
    folder.mkdir()
    with running_slurm(folder, n_nodes=4) as slurm:
        hosts = ",".join(f"n{number}=127.0.0.1" for number in range(1, 5))
        launcher = "srun --nodes=1 --ntasks=1 --nodelist={host}"
        check(run(bench, tmp_path, hosts, launcher, SLURM_CONF=slurm.environment["SLURM_CONF"]), 4, "srun")


def test_nodes_are_told_by_name_and_by_address() -> None:
    found = launched_nodes(["a=10.1.1.1", "b=10.1.1.2"], "env 'a word' --nodelist={host}")
    assert [node.address for node in found] == ["10.1.1.1", "10.1.1.2"]
    assert [node.entrance for node in found] == [("env", "a word", f"--nodelist={name}") for name in "ab"]


def test_nodes_that_do_not_reach_each_other_are_refused() -> None:
    for hosts, launcher, expected in (
        (["localhost"], "env", "expected {host} in it"),
        (["localhost", ""], "env {host}", "'' names no host"),
        (["localhost"], "no-launcher {host}", "no-launcher was not found"),
        (["nowhere.invalid", "b=10.1.1.2"], "env {host}", "'nowhere.invalid' has no address here"),
        (["localhost", "b=10.1.1.2"], "env {host}", "the address of 'localhost' is one that others do not reach"),
        (["a=house", "b=10.1.1.2"], "env {host}", "'house' is no address"),
    ):
        with pytest.raises(MismatchError) as caught:
            launched_nodes(hosts, launcher)
        assert expected in str(caught.value)
    assert socket.gethostbyname("localhost").startswith("127.")  # so that the last but one is what it seems


def test_hosts_without_a_launcher_are_no_use(tmp_path: Path, bench: Bench) -> None:
    done = bench(tmp_path, "run", "2024-two-nodes", "-o", "out", "--hosts", "a,b")
    assert done.returncode == 2
    assert "--hosts and --launcher go together" in done.stderr
    done = bench(tmp_path, "run", "2024-two-nodes", "-o", "out", "--hosts", "a,b", "--launcher", "ssh")
    assert done.returncode != 0
    assert "expected {host}" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
