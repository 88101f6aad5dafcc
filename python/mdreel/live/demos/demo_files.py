"""Files and programs of the demos."""

import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from mdreel.errors import MdreelError, WorkerError
from mdreel.live.channels.channel import Channel
from mdreel.live.channels.directory import channel_path
from mdreel.live.channels.requests import send_request
from mdreel.live.channels.status import Status
from mdreel.live.demos.simulations import HELIX, WATER, write_topology
from mdreel.live.ensemble.replica_process import Program, describe_status, end_stray
from mdreel.live.steering.log import FILE as STEERING_LOG

N_REPLICAS = 8
OUTPUT = "output.log"

_GRACE_SECONDS = 5.0
_REQUEST_SECONDS = 10.0
_TERMINATE_SECONDS = 25.0
_POLL_SECONDS = 0.05

_MDREEL = (sys.executable, "-m", "mdreel.cli")
_SIMULATION = (sys.executable, "-m", "mdreel.live.demos.simulations")
_CLUSTERS = (sys.executable, "-m", "mdreel.live.demos.replica_clusters")

RULES = """\
# mdreel steer carries out the actions when the condition is met.
[[analysis]]
type = "rmsd"
select = "protein and name CA"
output = "rmsd.csv"

[[rule]]
name = "left the first conformation"
analysis = "rmsd"
above = 0.3           # Å; this small only to let the rule fire soon
frames = 5
share = 0.8           # 4 of the last 5 frames
actions = ["checkpoint"]

[[rule]]
name = "unfolded"
analysis = "rmsd"
above = 8.0
frames = 20
share = 0.8
actions = ["stop"]
"""

ENSEMBLE = """\
# mdreel ensemble run starts and analyses the replicas.
name = {name}
directory = "replicas"
replicas = {n_replicas}
at-once = {n_replicas}
grace = {grace}
command = {command}
topology = "peptide.pdb"

[[analysis]]
type = "rmsd"
select = "name CA"

[[analysis]]
type = "rg"
select = "name CA"
"""


@dataclass
class Demo:
    """Programs of a demo, which run in a folder and publish frames on channels.

    Attributes
    ----------
    folder : Path
        Folder of all files.
    topology : Path
        Topology of all channels.
    channels : tuple of str
        Names of the channels.
    commands : sequence
        Commands to run, each as a sequence of str.
    page_analyses : sequence of dict
        Analyses of the first channel that the page runs.
    has_replicas : bool
        Whether the programs run an ensemble, and end its simulations themselves.
    """

    folder: Path
    topology: Path
    channels: tuple[str, ...]
    commands: Sequence[Sequence[str]]
    page_analyses: Sequence[dict[str, Any]] = ()
    has_replicas: bool = False
    _programs: list[Program] = field(default_factory=list)

    def start(self) -> None:
        """Start the programs, whose output is appended to a file in the folder."""
        for words in self.commands:
            self._programs.append(Program(words, self.folder, os.environ, self.folder / OUTPUT))

    def check(self) -> None:
        """Raise WorkerError if a program has failed."""
        for words, program in zip(self.commands, self._programs, strict=False):
            if status := program.status():
                message = (
                    f"{' '.join(words[1:4])} has ended with {describe_status(status)}: read {self.folder / OUTPUT}"
                )
                raise WorkerError(message)

    def due_analyses(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield the analyses that the page has to start, with their channel, once the channel exists."""
        if not self.page_analyses:
            return
        path = channel_path(self.channels[0])
        with suppress(MdreelError, OSError):
            Status.read(path)
            due, self.page_analyses = self.page_analyses, ()
            for settings in due:
                yield path, settings

    def stop(self) -> None:
        """Stop all programs, and remove their channels. Simulations write a checkpoint before they stop."""
        if not self.has_replicas and self._are_running():
            with suppress(MdreelError, OSError):
                send_request(channel_path(self.channels[0]), "stop", timeout=_REQUEST_SECONDS)
                self._wait(_REQUEST_SECONDS)
        for program in self._programs:
            program.terminate()
        if not self._wait(_TERMINATE_SECONDS):
            for program in self._programs:
                program.kill()
            for number in range(N_REPLICAS if self.has_replicas else 0):
                end_stray("MDREEL_DIRECTORY", str(self.folder / "replicas" / f"{number:03d}"))
        for name in self.channels:
            with suppress(OSError):
                shutil.copy(channel_path(name) / STEERING_LOG, self.folder)
            with suppress(MdreelError, OSError):
                Channel(name).remove()

    def _are_running(self) -> bool:
        return any(program.status() is None for program in self._programs)

    def _wait(self, seconds: float) -> bool:
        """Wait until all programs have ended, and return whether they have."""
        until = monotonic() + seconds
        while self._are_running():
            if monotonic() >= until:
                return False
            sleep(_POLL_SECONDS)
        return True


def water_demo(folder: Path) -> Demo:
    """Write the files of a protein in water to a folder, and return the demo."""
    topology, channel = folder / "protein.pdb", f"villin-{os.getpid()}"
    write_topology(WATER, topology)
    (folder / "rules.toml").write_text(RULES, encoding="utf-8")
    page_analyses = (
        {
            "type": "hbonds",
            "select": "protein",
            "hydrogens": "protein and name H",
            "acceptors": "protein and name O",
            "lifetime": 20,
        },
        {"type": "dssp"},
    )
    n_consumers = 1 + len(page_analyses)
    steer = ("steer", "rules.toml", "-s", topology.name, "--channel", channel, "--wait", "300", "--quiet", "--")
    command = (*_MDREEL, *steer, *_SIMULATION, WATER, channel, "--consumers", str(n_consumers))
    return Demo(folder, topology, (channel,), [command], page_analyses)


def ensemble_demo(folder: Path) -> Demo:
    """Write the files of an ensemble of peptides to a folder, and return the demo."""
    topology, name = folder / "peptide.pdb", f"peptide-{os.getpid()}"
    write_topology(HELIX, topology)
    replica = [*_SIMULATION, HELIX, "{channel}", "--seed", "{seed}", "--staging", "{staging}", "--consumers", "2"]
    text = ENSEMBLE.format(
        name=json.dumps(name), n_replicas=N_REPLICAS, grace=_GRACE_SECONDS, command=json.dumps(replica)
    )
    (folder / "ensemble.toml").write_text(text, encoding="utf-8")
    channels = tuple(f"{name}-{number:03d}" for number in range(N_REPLICAS))
    commands = [(*_MDREEL, "ensemble", "run", "ensemble.toml", "--quiet"), (*_CLUSTERS, topology.name, *channels)]
    return Demo(folder, topology, channels, commands, has_replicas=True)
