"""Hosts made for tests leave nothing behind, however a test ends."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from mdreel_lab.bench.rigs.hosts import wait_until, why_there_are_none

WHY_NOT = why_there_are_none()
MAKE_HOSTS = """
import subprocess, sys
from pathlib import Path
from mdreel_lab.bench.rigs.hosts import network_hosts

with network_hosts(["anna", "bert"], Path(sys.argv[1])) as hosts:
    with subprocess.Popen(hosts[1].command("sleep", "1000")) as sleeper:
        print(sleeper.pid, flush=True)
"""


def cluster_of(process: int) -> str:
    """The process namespace of a process."""
    return str(Path(f"/proc/{process}/ns/pid").readlink())


def processes_of(cluster: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if cluster_of(int(path.name)) == cluster:
                found.append(int(path.name))
    return found


@pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_of_hosts_when_a_test_is_ended(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", MAKE_HOSTS, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as test:
        assert test.stdout is not None
        sleeper = int(test.stdout.readline())
        children = Path(f"/proc/{sleeper}/task/{sleeper}/children")
        wait_until(lambda: bool(children.read_text()), test)
        cluster = cluster_of(int(children.read_text().split()[0]))
        assert cluster != cluster_of(os.getpid())
        assert len(processes_of(cluster)) >= 4  # the first, two that hold a host, and the one that sleeps
        assert {"anna", "bert", "bridge"}.isdisjoint(path.name for path in Path("/sys/class/net").iterdir())
        test.send_signal(number)
    assert test.returncode != 0
    with subprocess.Popen(["sleep", "30"]) as patience:
        wait_until(lambda: not processes_of(cluster), patience)
        patience.kill()
