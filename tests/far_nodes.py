"""Nodes with channels, for tests across hosts: processes on them, what these say, and what they take."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import far_channels as far
from mdreel_lab.bench.rigs.hosts import Host

PORT = 7447


class Node:
    """A host with channels, and processes on it that are killed in the end."""

    def __init__(self, host: Host, folder: Path, stack: ExitStack) -> None:
        self.host = host
        self.folder = folder / host.name
        self.folder.mkdir(0o700)
        self._stack = stack
        self._n_processes = 0

    def start(self, command: list[str]) -> "subprocess.Popen[str]":
        self._n_processes += 1
        number = self.folder.with_name(f"{self.host.name}-{self._n_processes}.number")
        # Who enters a host waits there for the command, which is not killed with it.
        named = ("env", f"MDREEL_CHANNELS={self.folder}", "sh", "-c", f'echo $$ > {number}; exec "$@"', "sh")
        with number.with_suffix(".said").open("w") as said:
            process = self._stack.enter_context(far.start(self.host.command(*named, *command), stderr=said))
        self._stack.callback(lambda: self.host.run("sh", "-c", f"kill -KILL $(cat {number})"))
        return process

    def says(self, words: str, *command: object) -> int:
        """Start the command line, and wait until it says something on its standard error; return its number there."""
        process = self.start(far.mdreel(*command))
        said = self.folder.with_name(f"{self.host.name}-{self._n_processes}.said")
        end = time.monotonic() + 60
        while words not in said.read_text():
            assert process.poll() is None, said.read_text()
            assert time.monotonic() < end, said.read_text()
            time.sleep(0.02)
        return int(said.with_suffix(".number").read_text())

    def received(self) -> int:
        """How many bytes have come in over the network so far."""
        return int(self.host.run("cat", "/sys/class/net/eth0/statistics/rx_bytes", check=True).stdout)

    def most_resident(self, process: int) -> int:
        """The most memory that a process on this host has had so far, bytes."""
        status = self.host.run("cat", f"/proc/{process}/status", check=True).stdout
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return 1024 * int(line.split()[1])


@contextmanager
def nodes(hosts: list[Host], folder: Path) -> Iterator[list[Node]]:
    with ExitStack() as stack:
        yield [Node(host, folder, stack) for host in hosts]


def token_in(folder: Path) -> Path:
    token = folder / "token"
    token.touch(0o600)
    token.write_text("a token of the test")
    return token


def go(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()
