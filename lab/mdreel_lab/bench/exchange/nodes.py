"""Nodes of the processes of pairs: this machine, hosts made on it, or hosts that a launcher reaches."""

import ipaddress
import shlex
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from mdreel.errors import MismatchError, UnsupportedError
from mdreel.execution.available_cores import available_processors
from mdreel_lab.bench.exchange.catalogue import DYAD, MOOSEFS
from mdreel_lab.bench.exchange.pairs import Node
from mdreel_lab.bench.exchange.places import kind_of
from mdreel_lab.bench.exchange.points import ExchangePoint
from mdreel_lab.bench.rigs.dyad import dyad_on, is_running
from mdreel_lab.bench.rigs.hosts import Host, network_hosts, why_there_are_none
from mdreel_lab.bench.rigs.moosefs import start_moosefs, why_there_is_none

HOST = "{host}"
"""Placeholder for the name of a host in the command of a launcher."""

MOST_PROCESSES_PER_CORE = 32
"""The processes sleep most of the time. Points with more processes on this machine are left out, with a message."""

_SERVERS = "servers"
_PATIENCE = 120.0


@dataclass(frozen=True)
class Placed:
    """Nodes for a point; they are apart where each has files and a clock of its own."""

    producers: Sequence[Node]
    consumers: Sequence[Node]
    said: str
    are_apart: bool = False


class Nodes(ExitStack):
    """Provider of nodes for points: launched nodes, or hosts that exist until ``with`` ends."""

    def __init__(self, data: Path, launched: Sequence[Node]) -> None:
        super().__init__()
        self._data = data
        self._launched = launched
        self._hosts: list[Host] = []
        self._mounted, self._kept = Path(), Path()
        self._moosefs: str | UnsupportedError = ""
        self._dyad: dict[tuple[Host, ...], list[Node]] = {}

    def of(self, point: ExchangePoint) -> Placed:
        """Return the nodes of a point; raise an `UnsupportedError` if there are too few, and none can be made."""
        n_nodes, is_far, is_moosefs = point.n_nodes, point.placement == "nodes", point.solution == MOOSEFS
        if is_far and self._launched:
            return self._placed_by_launcher(point)
        n_cores = available_processors()
        if point.n_workers > MOST_PROCESSES_PER_CORE * n_cores:
            most = f"{MOST_PROCESSES_PER_CORE} for each of {n_cores} cores"
            raise UnsupportedError(f"{point.n_workers} processes are more than {most}")
        if not is_far and not is_moosefs:
            here = self._joined(point, [Host(socket.gethostname(), Node().address)])
            return Placed(here, here, "this machine")
        if is_moosefs and (problem := why_there_is_none()):
            raise UnsupportedError(problem)
        several = self._joined(point, self._made(2 * n_nodes if is_far else 1))
        consumers = several[n_nodes : 2 * n_nodes] if is_far else several[:1]
        return Placed(several[:n_nodes], consumers, "namespaces of this machine")

    def moosefs(self) -> tuple[Path, str]:
        """Return the mount point of a MooseFS on the hosts, and its name; start it on the first call.

        Raise an `UnsupportedError` if it cannot be started.
        """
        if not self._moosefs:
            *clients, servers = self._hosts
            try:
                started = start_moosefs(servers, clients, self._mounted, self._kept)
                self._moosefs = f"{started} on {kind_of(self._kept)}"
            except UnsupportedError as error:
                self._moosefs = error
        if isinstance(self._moosefs, UnsupportedError):
            raise self._moosefs
        return self._mounted, self._moosefs

    def _joined(self, point: ExchangePoint, hosts: Sequence[Host]) -> list[Node]:
        """Return the hosts as nodes; for a point with DYAD, with its service, which the first call starts."""
        if point.solution != DYAD or is_running():
            return [Node(host.address, host.entrance) for host in hosts]
        key = tuple(hosts)
        if key not in self._dyad:
            self._data.mkdir(parents=True, exist_ok=True)
            managed = self._temporary_folder("mdreel-dyad-", self._data)
            folder = self._temporary_folder("mdreel-dyad-", None)
            entrances = self.enter_context(dyad_on(hosts, folder, managed))
            self._dyad[key] = [Node(host.address, one) for host, one in zip(hosts, entrances, strict=True)]
        return self._dyad[key]

    def _placed_by_launcher(self, point: ExchangePoint) -> Placed:
        n_nodes = point.n_nodes
        if point.solution == MOOSEFS:
            raise UnsupportedError("MooseFS is started on hosts made on this machine, not on those of a launcher")
        if len(self._launched) < 2 * n_nodes:
            raise UnsupportedError(f"{2 * n_nodes} hosts are wanted, and --hosts names {len(self._launched)}")
        several = self._launched[: 2 * n_nodes]
        said = f"hosts that {Path(several[0].entrance[0]).name} reaches"
        return Placed(several[:n_nodes], several[n_nodes:], said, are_apart=True)

    def _made(self, wanted: int) -> list[Host]:
        """Return hosts, which the first call creates, with one more for servers."""
        if len(self._hosts) <= wanted:
            if problem := why_there_are_none():
                raise UnsupportedError(problem)
            self.close()
            self._hosts, self._moosefs, self._dyad = [], "", {}
            self._data.mkdir(parents=True, exist_ok=True)
            # The files of servers are removed after the servers have ended.
            self._kept = self._temporary_folder("mdreel-moosefs-", self._data)
            self._mounted = self._temporary_folder("mdreel-moosefs-", None)
            names = [f"node{number}" for number in range(wanted)]
            hosts = network_hosts([*names, _SERVERS], self._temporary_folder("mdreel-hosts-", None))
            self._hosts = self.enter_context(hosts)
        return self._hosts[:-1]

    def _temporary_folder(self, prefix: str, place: Path | None) -> Path:
        return Path(self.enter_context(tempfile.TemporaryDirectory(prefix=prefix, dir=place))).resolve()


def launched_nodes(hosts: Sequence[str], launcher: str) -> tuple[Node, ...]:
    """Return the nodes that a launcher reaches.

    A host is a name, or ``NAME=ADDRESS`` where others reach it by a different address than that of its name here. The
    launcher is a command with ``{host}`` in it, which runs the command that follows there, as ``srun``, ``mpiexec`` and
    ``ssh`` do.

    Raise a `MismatchError` if it names no host, or hosts have no addresses at which they reach each other.
    """
    words, nodes = launcher_words(launcher), []
    for host in hosts:
        name, _, address = host.partition("=")
        if not name:
            raise MismatchError(f"--hosts: {host!r} names no host; expected NAME or NAME=ADDRESS")
        nodes.append(Node(address or _address_of(name), tuple(word.replace(HOST, name) for word in words)))
    inside = [_is_of_one_machine(node.address) for node in nodes]
    if any(inside) and not all(inside):
        name = hosts[inside.index(True)]
        raise MismatchError(f"--hosts: the address of {name!r} is one that others do not reach; expected NAME=ADDRESS")
    return tuple(nodes)


def launcher_words(launcher: str) -> tuple[str, ...]:
    """Return the words of a launcher; raise a `MismatchError` if it has no placeholder or is not installed."""
    if HOST not in launcher:
        raise MismatchError(f"--launcher {launcher!r}: expected {HOST} in it, for which the name of a host is put")
    words = tuple(shlex.split(launcher))
    if shutil.which(words[0]) is None:
        raise MismatchError(f"--launcher: {words[0]} was not found")
    return words


def _address_of(name: str) -> str:
    try:
        return socket.gethostbyname(name)
    except OSError:
        raise MismatchError(f"--hosts: {name!r} has no address here; expected NAME=ADDRESS") from None


def _is_of_one_machine(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        raise MismatchError(f"--hosts: {address!r} is no address; expected one as 10.0.0.1") from None


@contextmanager
def folders_on(folders: Mapping[Node, Sequence[Path]], root: Path) -> Iterator[None]:
    """Create private folders on nodes; remove them at the end of the context.

    The folder ``root`` exists on each node. Raise a `RuntimeError` if a folder cannot be created.
    """
    there = ("env", f"--chdir={root}")
    make = {node: (*there, "mkdir", "-p", "-m", "700", *map(str, paths)) for node, paths in folders.items()}
    remove = {node: ("rm", "-rf", *map(str, paths)) for node, paths in folders.items()}
    try:
        if problem := _problem_of(make):
            raise RuntimeError(problem)
        yield
    finally:
        _problem_of(remove)
        # Hosts on this machine have its files, and may have ended.
        for path in {path for paths in folders.values() for path in paths}:
            shutil.rmtree(path, ignore_errors=True)


def _problem_of(commands: Mapping[Node, Sequence[str]]) -> str:
    """Run a command on each node, all at the same time; return the message of one that fails, or an empty text."""

    def run(node: Node, words: Sequence[str]) -> str:
        command = [*node.entrance, *words]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            return f"a node has not answered within {_PATIENCE:g} s"
        return done.stderr.strip() if done.returncode else ""

    with ThreadPoolExecutor(len(commands)) as pool:
        problems = list(pool.map(run, commands.keys(), commands.values()))
    return next(filter(None, problems), "")
