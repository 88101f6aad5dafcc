"""Agent of a host: a process that has imported everything, and forks a process for each actor.

``python -m fault_run.agent HOST DISK KIB`` makes a small file system at DISK, reads commands from its input, a line of
JSON each, and writes to its output what has happened. It ends with its input, and the actors with the namespaces.
"""

import contextlib
import gc
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py  # noqa: F401 - imported once, for all actors
import numpy as np  # noqa: F401
import zenoh  # noqa: F401

from fault_run import readers, simulation, transfers
from fault_run.cast import Place
from fault_run.journal import Journal

_ROLES: dict[str, Callable[[dict[str, Any], Place, Journal], None]] = {
    "simulate": simulation.simulate,
    "commit": readers.commit,
    "read": readers.read,
    "view": readers.view,
    "judge": readers.judge,
    "archive": transfers.archive,
    "serve": transfers.serve,
    "relay": transfers.relay,
}
_FILLER = "filler"


class Agent:
    """Starts actors, and has faults happen to them and to the host."""

    def __init__(self, disk: Path) -> None:
        self._disk = disk
        self._actors: dict[int, str] = {}
        self._place: Place | None = None

    def obey(self, command: dict[str, Any]) -> None:
        """Carry out a command."""
        match command:
            case {"do": "place", "place": place}:
                self._place = Place.from_description(place)
            case {"do": "start", "actor": actor}:
                self._start(actor)
            case {"do": "signal", "actor": name, "signal": number}:
                self._signal(name, number)
            case {"do": "kill-archiver", "actor": name}:
                tell(did="kill-archiver", actor=name, n=self._kill_children(name))
            case {"do": "link", "state": state}:
                subprocess.run(["ip", "link", "set", "eth0", state], check=True)
                tell(did="link", state=state)
            case {"do": "fill"}:
                tell(did="fill", n_bytes=fill(self._disk / _FILLER))
            case {"do": "forget"}:
                self._forget()
            case {"do": "free"}:
                (self._disk / _FILLER).unlink(missing_ok=True)
                tell(did="free")
            case _:
                raise ValueError(command)

    def reap(self) -> None:
        """Tell of each actor that has ended how it did."""
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not process:
                return
            name = self._actors.pop(process, None)
            if name is not None:
                tell(did="exit", actor=name, code=os.waitstatus_to_exitcode(status))

    def _forget(self) -> None:
        """Remove the channels of a round, and what is on the small disk."""
        for folder in (Path(os.environ["MDREEL_CHANNELS"]), self._disk):
            for path in folder.iterdir():
                shutil.rmtree(path)

    def _start(self, actor: dict[str, Any]) -> None:
        assert self._place is not None
        process = os.fork()
        if process == 0:
            _become(actor, self._place)
        self._actors[process] = actor["name"]
        tell(did="start", actor=actor["name"])

    def _process_of(self, name: str) -> int | None:
        return next((process for process, known in self._actors.items() if known == name), None)

    def _signal(self, name: str, number: int) -> None:
        process = self._process_of(name)
        if process is not None:
            os.kill(process, number)
        tell(did="signal", actor=name, signal=number, was_there=process is not None)

    def _kill_children(self, name: str) -> int:
        """Kill what an actor has started: the archiver of a simulation."""
        process = self._process_of(name)
        if process is None:
            return 0
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        for child in map(int, children):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        return len(children)


def _become(actor: dict[str, Any], place: Place) -> None:
    """Be an actor until it ends."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        said = os.open(place.folder / f"{actor['name']}.said", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for own, instead in ((0, nothing), (1, said), (2, said)):
            os.dup2(instead, own)
        journal = Journal(place.journal(actor["name"]))
        journal.event("started", process=os.getpid())
        simulation.report_warnings(journal)
        try:
            _ROLES[actor["role"]](actor, place, journal)
            code = 0
        except BaseException as error:  # noqa: BLE001 - the runner judges
            journal.event("error", kind=type(error).__name__, text=str(error))
            traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def fill(path: Path) -> int:
    """Write a file until its disk is full; return its length."""
    n_bytes = 0
    with path.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1 << 8):
            try:
                while written := file.write(bytes(size)):
                    n_bytes += written
            except OSError:
                continue
    return n_bytes


def tell(**what: Any) -> None:
    """Tell the runner something."""
    os.write(1, f"{json.dumps(what)}\n".encode())


def main(host: str, disk: Path, kib: int) -> None:
    """Obey until the input ends."""
    disk.mkdir(mode=0o700, exist_ok=True)
    for folder, size in ((disk, f"{kib}k"), (os.environ["MDREEL_CHANNELS"], "256m")):
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(folder)]
        subprocess.run(mount, check=True)
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    signal.set_wakeup_fd(ends[1], warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    agent = Agent(disk)
    gc.collect()
    gc.freeze()
    threads = len(list(Path("/proc/self/task").iterdir()))
    tell(did="ready", host=host, n_threads=threads)
    pending = b""
    while True:
        ready, _, _ = select.select([0, ends[0]], [], [])
        if ends[0] in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(ends[0], 1 << 12)
        agent.reap()
        if 0 not in ready:
            continue
        content = os.read(0, 1 << 16)
        if not content:
            return
        *lines, pending = (pending + content).split(b"\n")
        for line in lines:
            agent.obey(json.loads(line))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
