"""Exchanges: points of exchange are run, each with fresh processes, folders and channels."""

import socket
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from mdreel.bench.exchange.catalogue import module_of
from mdreel.bench.exchange.pairs import Entrances, Pairs
from mdreel.bench.exchange.places import MEMORY, Places
from mdreel.bench.exchange.points import ExchangePoint
from mdreel.bench.exchange.profile import write_profile
from mdreel.bench.exchange.work import Work
from mdreel.bench.hosts import Host, network_hosts, why_there_are_none
from mdreel.bench.kept import DONE, FAILED, LEFT_OUT, Kept, place_of
from mdreel.errors import MdreelError, UnsupportedError
from mdreel.executors.processors import available_processors

MOST_PROCESSES_PER_CORE = 32
"""They sleep most of the time; points with more are left out, and that is said."""

_FAR_PORT = 17_500


@dataclass(frozen=True)
class _Node:
    """Where processes are: a host of its own, or this machine."""

    address: str = "127.0.0.1"
    entrance: tuple[str, ...] = ()


class Exchanges:
    """Runs points of exchange; hosts and file systems that it makes are gone when ``with`` ends.

    Parameters
    ----------
    folder : Path
        Where records go.
    data : Path
        Where files are exchanged on this node.
    shared : Path, optional
        A folder on a file system that all nodes have.
    """

    def __init__(self, folder: Path, data: Path, shared: Path | None) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._places = Places(data, shared)
        self._hosts: list[_Node] = []

    def run(self, point: ExchangePoint) -> Kept[ExchangePoint]:
        """Run a point; return its record."""
        n_cores = available_processors()
        if point.n_workers > MOST_PROCESSES_PER_CORE * n_cores:
            most = f"{MOST_PROCESSES_PER_CORE} for each of {n_cores} cores"
            return Kept(point, LEFT_OUT, f"{point.n_workers} processes are more than {most}")
        try:
            with ExitStack() as stack:
                return self._run(point, stack)
        except UnsupportedError as error:
            return Kept(point, LEFT_OUT, str(error))
        except (MdreelError, OSError, RuntimeError) as error:
            return Kept(point, FAILED, str(error))

    def _run(self, point: ExchangePoint, stack: ExitStack) -> Kept[ExchangePoint]:
        from mdreel.timing.environment import environment_of, versions

        root = self._places.of(point.solution)
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mdreel-exchange-", dir=root)))
        nodes = self._nodes(point)
        works, entrances = [], []
        for number in range(point.n_pairs):
            producer, consumer = (side[number // point.pairs_per_node % len(side)] for side in nodes)
            works.append(_work(point, number, place, producer, stack))
            entrances.append(Entrances(producer.entrance, consumer.entrance))
        if missing := module_of(point.solution).missing(works[0]):
            raise UnsupportedError(missing)
        environment = environment_of([])
        environment["versions"] = versions()
        with Pairs(works, entrances) as pairs:
            seconds, found = pairs.run()
        facts: dict[str, Any] = {
            "n_cores": available_processors(),
            "file_system": self._places.kind_of(place),
            "period": point.period,
            "pairs": found,
        }
        kept = Kept(point, DONE, "", seconds, facts, environment)
        write_profile(place_of(self._folder, point).with_suffix(".cali.json"), str(point), found)
        return kept

    def _nodes(self, point: ExchangePoint) -> tuple[list[_Node], list[_Node]]:
        """Return nodes for producers and nodes for consumers, which are made when they are first wanted."""
        if point.placement == "one-node":
            return [_Node()], [_Node()]
        wanted = 2 * point.n_nodes
        if len(self._hosts) < wanted:
            if problem := why_there_are_none():
                raise UnsupportedError(problem)
            folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
            names = [f"node{number}" for number in range(wanted)]
            hosts: list[Host] = self._stack.enter_context(network_hosts(names, folder))
            self._hosts = [_Node(host.address, host.entrance) for host in hosts]
        return self._hosts[: point.n_nodes], self._hosts[point.n_nodes : wanted]

    def __enter__(self) -> Self:
        self._stack.enter_context(self._places)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def _work(point: ExchangePoint, number: int, place: Path, producer: _Node, stack: ExitStack) -> Work:
    """Say what a pair has to do, in folders of its own."""
    folder = place / str(number)
    folder.mkdir(mode=0o700)
    own = [stack.enter_context(tempfile.TemporaryDirectory(prefix="mdreel-exchange-", dir=MEMORY)) for _ in range(2)]
    far = point.placement == "nodes"
    return Work(
        solution=point.solution,
        synchronisation=point.synchronisation,
        model=point.model,
        n_frames=point.n_frames,
        period=point.period,
        analysis=point.analysis * point.period,
        place=str(folder),
        producer_memory=own[0],
        consumer_memory=own[1] if far else own[0],
        address=producer.address,
        port=_FAR_PORT + number if far else _free_port(),
        far=far,
    )


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
