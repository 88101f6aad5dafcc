"""Parameters of clusters: nodes, network and file system."""

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
    """The network, whose links carry messages and file data.

    Attributes
    ----------
    link_bytes_per_s : float
        Bandwidth of the link of a node, bytes/s.
    latency_s : float
        Latency of a small message, s.
    connect_s : float
        Time to connect two processes of different nodes, s. A process sets up one connection after another.
    message_s : float
        Time of the receiving process for each message, s.
    array_bytes_per_s : float
        Rate at which one process reads a whole global array, bytes/s.
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
        Rate at which the metadata server opens files, 1/s.
    request_s : float
        Time of an idle server for one request, s.
    open_s : float
        Time of a reader to open a further file with its index, s.
    close_s : float
        Time of a reader to close a file, s.
    shared_frame_s : float
        Time for the lock at each read of a frame from a file that other ranks read, too, s.
    chain_frame_s : float
        Additional time for each frame if several files are read as one, s.
    n_targets : int
        Number of object storage targets.
    target_bytes_per_s : float
        Rate of each target, bytes/s.
    n_stripes : int
        Number of targets that hold a file.
    stripe_bytes : int
        Size of a stripe, bytes.
    stall_probability : float
        Share of requests that stall while several nodes share a file. A request opens the file, or connects to a
        process of another node.
    stall_shortest_s, stall_longest_s : float
        Range of the lengths of stalls, which follow a Pareto distribution of exponent 1, s.
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
        """Mean length of a stall, s."""
        low, high = self.stall_shortest_s, self.stall_longest_s
        return low if low == high else low * high / (high - low) * math.log(high / low)


@dataclass(frozen=True)
class Cluster:
    """A cluster.

    Attributes
    ----------
    title : str
        Description.
    cores_per_node : int
        Cores of a node, with one rank on each.
    speed_spread : float
        Standard deviation of the logarithm of the times of ranks of one node for the same work.
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
        """Return the number of nodes that hold `n_ranks` ranks."""
        return -(-n_ranks // self.cores_per_node)

    def node_of(self, rank: int) -> int:
        """Return the node of a rank; ranks fill one node after another."""
        return rank // self.cores_per_node

    def changed(self, settings: Mapping[str, float]) -> "Cluster":
        """Return the cluster with some parameters changed.

        Parameters
        ----------
        settings : mapping of str to float
            Values by name, such as ``speed_spread`` or ``interconnect.connect_s``.

        Raises
        ------
        MismatchError
            If a name is unknown, or a value is out of range.
        """
        tables = table_of(self)
        for name, value in settings.items():
            part, _, field = name.rpartition(".")
            table = tables.get(part) if part else tables
            if not isinstance(table, dict) or isinstance(table.get(field), dict | str | None):
                raise MismatchError(f"unknown parameter of a cluster {name!r}; known: {', '.join(_numbers(tables))}")
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
    """Read the parameters of a cluster.

    Parameters
    ----------
    name : str or path
        One of `named_clusters`, or a TOML file with the same entries.

    Raises
    ------
    FormatError
        If an entry of the file is missing, unknown or out of range.
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
    """Return the parameters of a cluster in the form of its file."""
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
    """Check a table of a file and make an object of class `kind` from it.

    Raises
    ------
    FormatError
        If an entry is missing, unknown or out of range.
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
    """Check that a value is a number in the range of its parameter."""
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
