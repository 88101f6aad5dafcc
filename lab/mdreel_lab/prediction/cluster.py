"""Clusters: nodes, the network between them, and the file system that they share, as numbers."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from mdreel.errors import FormatError, MismatchError

T = TypeVar("T")

_SHARES = {"speed_spread", "stall_probability"}
_MAY_BE_ZERO = _SHARES | {"connect_s", "message_s", "latency_s", "shared_frame_s", "chain_frame_s"}
_WHOLE = {"cores_per_node", "n_targets", "n_stripes", "stripe_bytes"}


@dataclass(frozen=True)
class Interconnect:
    """The network; messages and what is read go over the same links.

    Attributes
    ----------
    link_bytes_per_s : float
        What a node's link carries, bytes/s.
    latency_s : float
        How long a small message is under way, s.
    connect_s : float
        How long it takes until two processes of different nodes can exchange their first message, s. A process sets
        up one connection after another.
    message_s : float
        What the receiving process does for each message, s.
    array_bytes_per_s : float
        How fast one process gets a whole global array, bytes/s.
    """

    link_bytes_per_s: float
    latency_s: float
    connect_s: float
    message_s: float
    array_bytes_per_s: float


@dataclass(frozen=True)
class Storage:
    """The parallel file system.

    Attributes
    ----------
    opens_per_s : float
        Files that the metadata server opens, 1/s.
    request_s : float
        How long a server takes to answer one request when it has nothing else to do, s.
    open_s : float
        How long a reader of frames takes to open one more file, with its index, s.
    close_s : float
        How long it takes to close one, s.
    shared_frame_s : float
        What the lock costs each time that a frame is read from a file that other ranks read, too, s.
    chain_frame_s : float
        What reading several files as one costs a frame, s.
    n_targets : int
        Object storage targets.
    target_bytes_per_s : float
        What each of them gives, bytes/s.
    n_stripes : int
        Over how many targets one file is striped.
    stripe_bytes : int
        How many consecutive bytes lie on one of them.
    stall_probability : float
        How many of the requests that another node makes while nodes share a file are held up. A request is opening the
        file, or connecting to another process.
    stall_shortest_s, stall_longest_s : float
        For how long they are held up: Pareto's distribution of exponent 1, cut off, s.
    """

    opens_per_s: float
    request_s: float
    open_s: float
    close_s: float
    shared_frame_s: float
    chain_frame_s: float
    n_targets: int
    target_bytes_per_s: float
    n_stripes: int
    stripe_bytes: int
    stall_probability: float
    stall_shortest_s: float
    stall_longest_s: float

    @property
    def stall_mean_s(self) -> float:
        """How long a request is held up on average, of those that are, s."""
        low, high = self.stall_shortest_s, self.stall_longest_s
        return low if low == high else low * high / (high - low) * math.log(high / low)


@dataclass(frozen=True)
class Cluster:
    """A cluster.

    Attributes
    ----------
    title : str
        What it is, in words.
    cores_per_node : int
        Cores of a node, with one rank on each.
    speed_spread : float
        Standard deviation of the logarithm of how long ranks of one node take for the same work.
    interconnect : Interconnect
        The network.
    storage : Storage
        The file system.
    """

    title: str
    cores_per_node: int
    speed_spread: float
    interconnect: Interconnect
    storage: Storage

    def n_nodes(self, n_ranks: int) -> int:
        """Return how many nodes so many ranks fill."""
        return -(-n_ranks // self.cores_per_node)

    def node_of(self, rank: int) -> int:
        """Return the node of a rank: they fill one node after another."""
        return rank // self.cores_per_node

    def changed(self, settings: Mapping[str, float]) -> "Cluster":
        """Return the cluster with other numbers.

        Parameters
        ----------
        settings : mapping of str to float
            By name: that of a field, or as ``interconnect.connect_s``.

        Raises
        ------
        MismatchError
            If there is no such number, or it cannot be that large or small.
        """
        tables = table_of(self)
        for name, value in settings.items():
            part, _, field = name.rpartition(".")
            table = tables.get(part) if part else tables
            if not isinstance(table, dict) or isinstance(table.get(field), dict | str | None):
                raise MismatchError(f"a cluster has no number {name!r}; it has {', '.join(_numbers(tables))}")
            table[field] = int(value) if field in _WHOLE and float(value).is_integer() else value
        try:
            return _cluster(tables, "settings")
        except FormatError as error:
            raise MismatchError(str(error)) from error


def named_clusters() -> list[str]:
    """Return the names of the clusters that come with mdreel."""
    folder = files("mdreel_lab.prediction") / "machines"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def read_cluster(name: str | Path) -> Cluster:
    """Read the numbers of a cluster.

    Parameters
    ----------
    name : str or path
        One of `named_clusters`, or a TOML file with the same names in it.

    Raises
    ------
    FormatError
        If something in the file is missing, unknown, or no number that it can be.
    OSError
        If the file cannot be read.
    """
    if str(name) in named_clusters():
        where = f"cluster {name}"
        content = (files("mdreel_lab.prediction") / "machines" / f"{name}.toml").read_bytes()
    else:
        where = str(name)
        path = Path(name)
        if not path.suffix and not path.exists():
            known = ", ".join(named_clusters())
            raise FormatError(f"{where}: neither a known cluster ({known}) nor a file")
        content = path.read_bytes()
    try:
        table = tomllib.loads(content.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{where}: not TOML: {error}") from error
    return _cluster(table, where)


def table_of(cluster: Cluster) -> dict[str, Any]:
    """Return the numbers of a cluster as its file has them."""
    own = {field.name: getattr(cluster, field.name) for field in fields(cluster)}
    for part in ("interconnect", "storage"):
        own[part] = {field.name: getattr(own[part], field.name) for field in fields(own[part])}
    return own


def _numbers(tables: Mapping[str, Any]) -> list[str]:
    names = [name for name, value in tables.items() if not isinstance(value, dict | str)]
    return names + [f"{part}.{name}" for part in ("interconnect", "storage") for name in tables[part]]


def _cluster(table: Mapping[str, Any], where: str) -> Cluster:
    parts = {
        "interconnect": build(Interconnect, table.get("interconnect"), f"{where}: interconnect"),
        "storage": build(Storage, table.get("storage"), f"{where}: storage"),
    }
    cluster = build(Cluster, {**table, **parts}, where)
    low, high = cluster.storage.stall_shortest_s, cluster.storage.stall_longest_s
    if low > high:
        raise FormatError(f"{where}: storage.stall_shortest_s ({low}) is more than stall_longest_s ({high})")
    return cluster


def build(kind: type[T], table: object, where: str) -> T:
    """Make a class of numbers from a table of a file, with everything in it checked.

    Raises
    ------
    FormatError
        If something is missing, unknown, or no number that it can be.
    """
    if not isinstance(table, Mapping):
        raise FormatError(f"{where}: missing")
    names = {field.name: field.type for field in fields(kind)}  # type: ignore[arg-type]
    missing, unknown = names.keys() - table.keys(), table.keys() - names.keys()
    if missing or unknown:
        wrong = [f"{name} is missing" for name in sorted(missing)] + [f"unknown: {name}" for name in sorted(unknown)]
        raise FormatError(f"{where}: {'; '.join(wrong)}")
    for name, value in table.items():
        if names[name] in (int, float):
            _check_number(name, value, where)
        elif names[name] is str and not isinstance(value, str):
            raise FormatError(f"{where}: {name} must be text, not {value!r}")
    return kind(**table)


def _check_number(name: str, value: object, where: str) -> None:
    """Check that a number is one, and can be what its name says."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value):  # type: ignore[arg-type]
        raise FormatError(f"{where}: {name} must be a number, not {value!r}")
    assert isinstance(value, int | float)
    if value < 0 or (value == 0 and name not in _MAY_BE_ZERO):
        raise FormatError(f"{where}: {name} must be more than 0, not {value}")
    if name in _SHARES and value >= 1:
        raise FormatError(f"{where}: {name} must be less than 1, not {value}")
    if name in _WHOLE and not isinstance(value, int):
        raise FormatError(f"{where}: {name} must be a whole number, not {value}")
