"""Agents of the hosts, as the runner sees them: commands go to them, and what they tell comes into one queue."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from fault_run.cast import small_disk
from mdreel_lab.bench.rigs.hosts import Host

_TESTS = Path(__file__).parents[1]
_DISK_KIB = 2 << 10
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class HostAgents:
    """The agents of all hosts."""

    def __init__(self, processes: dict[str, "subprocess.Popen[str]"]) -> None:
        self._processes = processes
        self.told: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
        self._threads = [threading.Thread(target=self._listen, args=each, daemon=True) for each in processes.items()]
        for thread in self._threads:
            thread.start()

    def command(self, host: str, **what: Any) -> None:
        """Send a command to the agent of a host."""
        process = self._processes[host]
        assert process.stdin is not None
        process.stdin.write(f"{json.dumps(what)}\n")
        process.stdin.flush()

    def command_all(self, **what: Any) -> None:
        """Send a command to all agents."""
        for host in self._processes:
            self.command(host, **what)

    def end(self) -> None:
        """End all agents, and hear what they still tell."""
        for process in self._processes.values():
            assert process.stdin is not None
            process.stdin.close()
        for thread in self._threads:
            thread.join(10)

    def _listen(self, host: str, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.told.put((host, json.loads(line)))
        self.told.put((host, {"did": "die"}))


@contextmanager
def agents_on(hosts: list[Host], folder: Path) -> Iterator[HostAgents]:
    """Start an agent on each host; channels and the small disk are in `folder`."""
    processes: dict[str, subprocess.Popen[str]] = {}
    with ExitStack() as stack:
        for host in hosts:
            channels, disk = folder / f"channels-{host.name}", small_disk(folder, host.name)
            channels.mkdir(mode=0o700)
            paths = [str(_TESTS), *(path for path in sys.path if path)]
            environment = {
                **_ONE_THREAD,
                "MDREEL_CHANNELS": str(channels),
                "XDG_CACHE_HOME": str(folder / f"cache-{host.name}"),
                "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
            }
            settings = [f"{name}={value}" for name, value in environment.items()]
            program = (sys.executable, "-m", "fault_run.agent", host.name, disk, str(_DISK_KIB))
            command = host.command("env", *settings, *program)
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            processes[host.name] = process
            stack.enter_context(process)  # closes its pipes and waits for it
        agents = HostAgents(processes)
        stack.callback(agents.end)
        for _ in hosts:
            host_name, said = agents.told.get(timeout=60)
            assert said["did"] == "ready", (host_name, said)
            assert said["n_threads"] == 1, f"{host_name}: a process of {said['n_threads']} threads must not fork"
        yield agents
