"""MooseFS on hosts of this machine: they share its files, and it ends with them."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from mdreel_lab.bench.rigs.hosts import Host, network_hosts, wait_until, why_there_are_none
from mdreel_lab.bench.rigs.moosefs import N_CHUNK_SERVERS, start_moosefs, why_there_is_none

WHY_NOT = why_there_is_none() or why_there_are_none()

pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))

WATCH = """
import sys
from pathlib import Path
from mdreel_lab.bench.exchange.arrivals import Arrivals

folder = Path(sys.argv[1])
with Arrivals(folder) as arrivals:
    print("watching", flush=True)
    arrivals.wait("own", 60.0)  # tells of what came before it, too
    try:
        arrivals.wait("of the other", 0.0)
        print("told")
    except TimeoutError:
        print("not told", (folder / "of the other").read_text())
"""
START = """
import sys
from pathlib import Path
from mdreel_lab.bench.rigs.hosts import network_hosts
from mdreel_lab.bench.rigs.moosefs import start_moosefs

place = Path(sys.argv[1])
folders = [place / name for name in ("hosts", "mounted", "state")]
for folder in folders:
    folder.mkdir()
with network_hosts(["anna", "bert", "servers"], folders[0]) as hosts:
    print(start_moosefs(hosts[2], hosts[:2], *folders[1:]), flush=True)
    sys.stdin.read()
"""
SCENARIO = """
kind = "exchange"
title = "Much longer than anybody waits"

[small]
frames = 1000

[[way]]
solution = "moosefs"
"""


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[Host]]]:
    """Two hosts that have mounted a MooseFS, and where."""
    folder = tmp_path_factory.mktemp("mounted")
    state = tmp_path_factory.mktemp("state")
    with network_hosts(["anna", "bert", "servers"], tmp_path_factory.mktemp("hosts")) as (anna, bert, servers):
        assert start_moosefs(servers, [anna, bert], folder, state).startswith("MooseFS ")
        yield folder, [anna, bert]


def processes_that_name(folder: Path) -> list[str]:
    """The programs of MooseFS that have a folder in their command."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (path / "cmdline").read_text().split("\0")
            if words[0].startswith("mfs") and any(str(folder) in word for word in words):
                found.append(words[0].split()[0])  # which mfsmount has written anew
    return sorted(found)


def test_file_of_one_host_is_read_on_another(nodes: tuple[Path, list[Host]]) -> None:
    folder, (anna, bert) = nodes
    anna.run("sh", "-c", f"seq 1000000 > {folder}/part && mv {folder}/part {folder}/whole", check=True)
    mine, theirs = (host.run("sha256sum", folder / "whole", check=True).stdout for host in (anna, bert))
    assert mine == theirs
    assert not list(folder.iterdir())  # it is mounted on the hosts, and not here


def test_inotify_tells_of_its_own_mount_and_of_no_other(nodes: tuple[Path, list[Host]]) -> None:
    folder, (anna, bert) = nodes
    command = bert.command(sys.executable, "-c", WATCH, folder)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watcher:
        assert watcher.stdout is not None
        assert watcher.stdout.readline() == "watching\n"
        for host, name in ((anna, "of the other"), (bert, "own")):
            host.run("sh", "-c", f"cd {folder} && echo there > part && mv part '{name}'", check=True)
        assert watcher.stdout.read() == "not told there\n\n"
    assert watcher.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_of_it_runs_on_when_who_has_started_it_is_ended(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", START, str(tmp_path)]
    quiet = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline().startswith(b"MooseFS ")
        expected = [*["mfschunkserver"] * N_CHUNK_SERVERS, "mfsmaster", "mfsmount", "mfsmount"]
        assert processes_that_name(tmp_path) == expected
        starter.send_signal(number)
    assert starter.returncode != 0
    with subprocess.Popen(["sleep", "30"]) as patience:
        wait_until(lambda: not processes_that_name(tmp_path), patience)
        patience.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_of_a_benchmark_that_is_ended(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "mine.toml").write_text(SCENARIO)
    words = ["bench", "run", "mine.toml", "-o", "out", "--data", str(tmp_path / "data")]
    with subprocess.Popen([sys.executable, "-m", "mdreel.cli", *words], cwd=tmp_path) as process:
        wait_until(lambda: "mfsmaster" in processes_that_name(tmp_path / "data"), process)
        process.send_signal(number)
    assert process.returncode == 128 + number
    assert not processes_that_name(tmp_path)
    assert not list((tmp_path / "data").iterdir())
