"""Faults of DYAD and of channels: ``python -m mdreel_lab.bench.exchange.faults FOLDER``.

Each fault is the same for all ways: a process is killed while it writes, between frames, or while it receives, or a
broker is killed. The script prints a table of what the other process observes. DYAD takes part if it is installed.
"""

import argparse
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from statistics import median
from time import monotonic, sleep

import numpy as np

from mdreel_lab.bench.exchange.catalogue import DYAD, OWN, POLLING, RING, STAGED
from mdreel_lab.bench.exchange.fault_members import STARTED_WITHIN, WAITS, Answer, Member, descendants, kill, words_of
from mdreel_lab.bench.exchange.fault_process import DONE, DYAD_IN_PLACE, ERROR, IN_PLACE, PARTIAL, READY
from mdreel_lab.bench.exchange.models import MODELS
from mdreel_lab.bench.exchange.places import MEMORY
from mdreel_lab.bench.exchange.regions import CONSUME, PRODUCE
from mdreel_lab.bench.exchange.work import STREAM, Work, free_port
from mdreel_lab.bench.rigs.dyad import dyad_on, why_there_is_none
from mdreel_lab.bench.rigs.hosts import Host, network_hosts, why_there_are_none

ONE_NODE, NODES = "one node", "two nodes"
WAYS_OF = {ONE_NODE: (RING, STAGED, DYAD, DYAD_IN_PLACE, IN_PLACE), NODES: (RING, STAGED, DYAD, DYAD_IN_PLACE)}
"""The ways at each placement."""

N_TRIALS = 10
BROKER = "broker"
"""What the broker of Flux calls itself."""

N_BEFORE = 3
"""Frames that are exchanged before a fault."""

_ATTEMPTS = 5
"""Attempts for each trial: an attempt does not count if the call ends before the process is killed."""

_FAR_PORT = 17_500
_MOMENTS = np.random.default_rng()


@dataclass(frozen=True)
class Patience:
    """Time limits for an answer, s: for each of several trials, and for a single trial.

    A relay waits 60 s for a server that is silent.
    """

    short: float = 4.0
    long: float = 90.0


@dataclass(frozen=True)
class Rig:
    """A place for pairs: the entrances of the producer's and the consumer's host, without DYAD and with it."""

    placement: str
    folder: Path
    model: str
    address: str
    plain: Sequence[tuple[str, ...]]
    with_dyad: Sequence[tuple[str, ...]]

    @contextmanager
    def pair(self, way: str) -> Iterator["Pair"]:
        """Start a pair that has exchanged nothing; kill it at the end, and remove its files."""
        token = token_hex(8)
        place = self.folder / f"run-{token}" / "0"
        place.mkdir(parents=True)
        is_far = self.placement == NODES
        memory = [MEMORY / f"mdreel-fault-{token}-{side}" for side in range(2 if is_far else 1)]
        for folder in memory:
            folder.mkdir(mode=0o700)
        port = _FAR_PORT if is_far else free_port()
        named = (str(place), str(memory[0]), str(memory[-1]), self.address, port, is_far, STREAM)
        solution = {IN_PLACE: "local", DYAD_IN_PLACE: DYAD}.get(way, way)
        work = Work(solution, POLLING if way == IN_PLACE else OWN, self.model, 2**20, 0.0, 0.0, *named)
        entrances = self.with_dyad if way in (DYAD, DYAD_IN_PLACE) else self.plain
        pair = Pair(way, work, entrances)
        try:
            pair.start()
            yield pair
        finally:
            pair.close()
            for folder in (place.parent, *memory):
                shutil.rmtree(folder, ignore_errors=True)


class Pair(ExitStack):
    """A producer and a consumer, and consumers in its place."""

    def __init__(self, way: str, work: Work, entrances: Sequence[tuple[str, ...]]) -> None:
        super().__init__()
        self._way, self._work, self._entrances = way, work, entrances

    def start(self) -> None:
        """Start both processes; return when both are ready."""
        self.producer = self._member(PRODUCE)
        self.consumer = self._member(CONSUME)
        for member in (self.consumer, self.producer):
            self._await(member)

    def replace_consumer(self) -> None:
        """Start another consumer with the same work."""
        self.consumer = self._member(CONSUME)
        self._await(self.consumer)

    def exchange(self, number: int) -> tuple[float, float]:
        """Exchange a frame; return the durations of both calls, s."""
        put = self.producer.do("put", number)
        return put.seconds, self.consumer.do("get", number).seconds

    def _member(self, role: str) -> Member:
        member = Member(role, self._way, self._work, self._entrances[0 if role == PRODUCE else -1])
        self.callback(member.close)
        return member

    def _await(self, member: Member) -> None:
        answer = member.answer(STARTED_WITHIN)
        if answer.key != READY:
            raise RuntimeError(f"{self._way}: {answer.value or answer.key}")
        member.locate()


@contextmanager
def rig(placement: str, model: str, data: Path, *, has_dyad: bool = False) -> Iterator[Rig]:
    """Make hosts, on which DYAD runs if it is needed."""
    with ExitStack() as stack:

        def made(place: Path | None) -> Path:
            return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mdreel-fault-", dir=place))).resolve()

        data.mkdir(parents=True, exist_ok=True)
        folder, managed = made(data), made(data)
        hosts = [Host("here", "127.0.0.1")]
        if placement == NODES:
            hosts = stack.enter_context(network_hosts(["node0", "node1"], made(None)))
        with_dyad: Sequence[tuple[str, ...]] = ()
        if has_dyad:
            with_dyad = stack.enter_context(dyad_on(hosts, made(None), managed))
            stack.callback(_kill_brokers, BROKER, None)
        yield Rig(placement, folder, model, hosts[0].address, [host.entrance for host in hosts], with_dyad)


def _kill_brokers(program: str, of: int | None) -> int:
    """Kill brokers, servers or relays that this process has started; of Flux, the one of a rank. Return how many."""
    found = []
    for process in descendants(os.getpid()):
        words = words_of(process)
        if program == BROKER:
            end = "" if of is None else f"/{of}"
            is_it = words[0] == BROKER and any("rundir=" in one and one.endswith(end) for one in words)
        else:
            is_it = program in words and "mdreel.cli" in words
        if is_it:
            found.append(process)
    for process in found:
        kill(process)
    return len(found)


def killed_within_write(place: Rig, way: str, n_trials: int, patience: Patience) -> str:
    """Kill the producer within a call that publishes a frame; the consumer then asks for this frame."""
    outcomes: Counter[str] = Counter()
    for _ in range(_ATTEMPTS * n_trials):
        if outcomes.total() == n_trials:
            break
        with place.pair(way) as pair:
            duration = median(pair.exchange(number)[0] for number in range(N_BEFORE))
            pair.producer.order("put", N_BEFORE)
            sleep(float(_MOMENTS.random()) * duration)
            pair.producer.kill()
            if pair.producer.answer(0.0).key == DONE:
                continue
            pair.consumer.order("get", N_BEFORE)
            outcomes[pair.consumer.answer(patience.short).key] += 1
    return _told(outcomes)


def dead_producer(place: Rig, way: str, n_trials: int, patience: Patience) -> str:
    """Kill the producer between two frames, while the consumer waits for the next one."""
    del n_trials
    with place.pair(way) as pair:
        for number in range(N_BEFORE):
            pair.exchange(number)
        pair.consumer.order("get", N_BEFORE)
        sleep(0.5)
        pair.producer.kill()
        killed = monotonic()
        return _ended(pair.consumer.answer(patience.long), monotonic() - killed)


def killed_consumer(place: Rig, way: str, n_trials: int, patience: Patience) -> str:
    """Kill the consumer within a call that receives a frame; another consumer then asks for this frame."""
    outcomes: Counter[str] = Counter()
    with place.pair(way) as pair:
        duration = median(pair.exchange(number)[1] for number in range(N_BEFORE))
        number = N_BEFORE
        for _ in range(_ATTEMPTS * n_trials):
            if outcomes.total() == n_trials:
                break
            pair.producer.do("put", number)
            pair.consumer.order("get", number)
            sleep(float(_MOMENTS.random()) * duration)
            pair.consumer.kill()
            is_late = pair.consumer.answer(0.0).key == DONE
            pair.replace_consumer()
            if not is_late:
                pair.consumer.order("get", number)
                outcomes[pair.consumer.answer(patience.short).key] += 1
            elif way in (RING, STAGED):  # a new consumer begins with the oldest frame, and would fall behind
                pair.consumer.do("get", number)
            number += 1
    return _told(outcomes)


def _broker_killed(place: Rig, way: str, patience: Patience, of: int) -> str:
    """Kill a broker; then the producer publishes a frame, and the consumer asks for it."""
    is_dyad = way in (DYAD, DYAD_IN_PLACE)
    if not is_dyad and place.placement == ONE_NODE:
        return "has no broker"
    with place.pair(way) as pair:
        for number in range(N_BEFORE):
            pair.exchange(number)
        program = BROKER if is_dyad else ("serve", "relay")[of]
        if not _kill_brokers(program, of if is_dyad else None):
            raise RuntimeError(f"{way}: no {program} was found")
        killed = monotonic()
        pair.producer.order("put", N_BEFORE)
        produced = _ended(pair.producer.answer(patience.long / 3), monotonic() - killed)
        pair.consumer.order("get", N_BEFORE)
        consumed = _ended(pair.consumer.answer(patience.long), monotonic() - killed)
        return f"producer: {produced}; consumer: {consumed}"


def producers_broker_killed(place: Rig, way: str, n_trials: int, patience: Patience) -> str:
    """Kill the broker of the producer's host, or the server of the channel."""
    del n_trials
    return _broker_killed(place, way, patience, 0)


def consumers_broker_killed(place: Rig, way: str, n_trials: int, patience: Patience) -> str:
    """Kill the broker of the consumer's host, or the relay of the channel."""
    del n_trials
    return _broker_killed(place, way, patience, 1) if place.placement == NODES else "see above"


FAULTS = {
    "producer killed within a write, consumer comes later": killed_within_write,
    "producer killed between frames, consumer waits": dead_producer,
    "consumer killed while it receives, another one follows": killed_consumer,
    "broker or server of the producer's node killed": producers_broker_killed,
    "broker or relay of the consumer's node killed": consumers_broker_killed,
}
"""The faults, and the functions that inject them."""


def _told(outcomes: Counter[str]) -> str:
    words = {DONE: "complete frame", PARTIAL: "partial frame", ERROR: "error", WAITS: "still waits"}
    return ", ".join(f"{words[key]} {outcomes[key]} of {outcomes.total()}" for key in words if outcomes[key])


def _ended(answer: Answer, seconds: float) -> str:
    if answer.key == WAITS:
        return f"still waits after {answer.seconds:.0f} s"
    if answer.key == DONE:
        return f"complete after {seconds:.1f} s"
    return f"{answer.key} after {seconds:.1f} s ({answer.value})"


def table(
    data: Path, model: str, n_trials: int, patience: Patience, placements: Sequence[str] = tuple(WAYS_OF)
) -> Iterator[str]:
    """Yield the lines of the table, each when its fault has been injected."""
    yield "| Placement | Fault | Way | What is observed |"
    yield "|---|---|---|---|"
    for placement in placements:
        if placement == NODES and (problem := why_there_are_none()):
            yield f"| {placement} | | | left out: {problem} |"
            continue
        for fault, inject in FAULTS.items():
            for way in WAYS_OF[placement]:
                is_dyad = way in (DYAD, DYAD_IN_PLACE)
                if is_dyad and (problem := why_there_is_none()):
                    yield f"| {placement} | {fault} | {way} | left out: {problem} |"
                    continue
                # A new rig for each row, because a killed broker has no successor.
                with rig(placement, model, data, has_dyad=is_dyad) as place:
                    yield f"| {placement} | {fault} | {way} | {inject(place, way, n_trials, patience)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", choices=MODELS, default="stmv")
    parser.add_argument("--trials", type=int, default=N_TRIALS)
    parser.add_argument("--placement", choices=WAYS_OF, nargs="+", default=tuple(WAYS_OF))
    given = parser.parse_args()
    for line in table(given.folder, given.model, given.trials, Patience(), given.placement):
        print(line, flush=True)


if __name__ == "__main__":
    main()
