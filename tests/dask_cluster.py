"""A Dask cluster on several hosts, of which each part can be killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from mdreel_lab.bench.rigs.hosts import Host, wait_until


class DaskCluster:
    """A scheduler on the first host, and a worker on each of the others, all begun by `begin`.

    Parameters
    ----------
    hosts : sequence of Host
        The hosts.
    folder : Path
        For what they log and keep.
    environment : dict
        Theirs.
    """

    def __init__(self, hosts: Sequence[Host], folder: Path, environment: dict[str, str]) -> None:
        self.address = f"tcp://{hosts[0].name}:8786"
        self._hosts = {host.name: host for host in hosts}
        self._folder = folder
        self._environment = environment
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def begin(self) -> None:
        """Begin what does not run."""
        scheduler, *workers = self._hosts
        if scheduler not in self._processes:
            self.end()
            self._begin(scheduler, "Scheduler at:", "dask_scheduler", "--port", "8786")
        for name in workers:
            if name not in self._processes:
                options = ("--no-nanny", "--nthreads", "1", "--local-directory", str(self._folder))
                self._begin(name, "Registered to:", "dask_worker", self.address, *options)

    def kill(self, name: str) -> None:
        """End what runs on a host, at once."""
        process = self._processes.pop(name)
        for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)
        process.wait()

    def end(self) -> None:
        """End all that runs."""
        for name in list(self._processes):
            self.kill(name)

    def _begin(self, name: str, sign: str, module: str, *options: str) -> None:
        """Begin a part, and wait for the sign that it is ready."""
        command = (sys.executable, "-m", f"distributed.cli.{module}", "--interface", "eth0", "--no-dashboard", *options)
        path = self._folder / f"{name}.log"
        with path.open("wb") as log:
            process = subprocess.Popen(
                self._hosts[name].command(*command), stdout=log, stderr=log, env=self._environment
            )
        self._processes[name] = process
        wait_until(lambda: sign in path.read_text(), process)
