"""Target machines: nodes, cores and file system."""

from dataclasses import dataclass, replace

from mdreel.errors import MismatchError
from mdreel.execution.available_cores import available_processors
from mdreel.foundation.formatting import counted


@dataclass(frozen=True)
class FileSystem:
    """Assumed performance of a kind of file system, which is used if no measurement is available.

    Attributes
    ----------
    name : str
        ``local``, ``nfs``, ``lustre`` or ``gpfs``.
    stream_bytes_per_s : float
        Rate of a single process that reads alone, in bytes/s.
    file_bytes_per_s : float
        Total rate of all processes that read the same file, in bytes/s.
    node_bytes_per_s : float
        Total rate of all processes on a node, in bytes/s.
    total_bytes_per_s : float
        Total rate of all nodes for any number of files, in bytes/s.
    open_seconds : float
        Time to open a file, in s. The file system handles open requests one after another.
    is_shared : bool
        Whether several nodes see the same files.
    """

    name: str
    stream_bytes_per_s: float
    file_bytes_per_s: float
    node_bytes_per_s: float
    total_bytes_per_s: float
    open_seconds: float
    is_shared: bool = True

    def striped(self, count: int) -> "FileSystem":
        """Return the performance for a Lustre stripe count. Other file systems are returned unchanged."""
        if self.name != "lustre" or count <= 1:
            return self
        return replace(self, file_bytes_per_s=min(count * self.file_bytes_per_s, self.total_bytes_per_s))


FILE_SYSTEMS = {
    one.name: one
    for one in (
        FileSystem("local", 2e9, 2e9, 2e9, 2e9, 2e-5, is_shared=False),  # an NVMe disk
        FileSystem("nfs", 0.5e9, 1e9, 1e9, 1e9, 1e-3),  # one server behind 10 Gbit/s
        FileSystem("lustre", 1e9, 1e9, 5e9, 50e9, 1e-3),  # each file on one target, the default
        FileSystem("gpfs", 1e9, 5e9, 5e9, 50e9, 1e-3),  # blocks of a file are spread over all servers
    )
}
"""Kinds of file systems by name, with rounded figures from clusters built around 2020."""

# A few machines serve these over a network; NFS is the most similar kind.
_SERVED = {"9p", "afs", "beegfs", "ceph", "cifs", "glusterfs", "mfs", "moosefs", "orangefs", "pvfs2", "smb3", "sshfs"}


def kind_of(file_system: str | None) -> str:
    """Return the name in `FILE_SYSTEMS` that corresponds to a file system type, such as ``ext4`` or ``fuse.sshfs``."""
    name = (file_system or "").removeprefix("fuse.")
    if name in ("lustre", "gpfs"):
        return name
    return "nfs" if name.startswith("nfs") or name in _SERVED else "local"


@dataclass(frozen=True)
class Target:
    """Target machine of a recommendation.

    Attributes
    ----------
    n_nodes : int
        Number of nodes.
    n_cores : int
        Number of cores per node.
    file_system : FileSystem
        File system of the trajectory.
    is_here : bool
        Whether the target is this machine with the current file system of the trajectory. In this case, measurements
        can be used directly.
    """

    n_nodes: int
    n_cores: int
    file_system: FileSystem
    is_here: bool

    @property
    def n_workers(self) -> int:
        """Number of cores on all nodes."""
        return self.n_nodes * self.n_cores

    def __str__(self) -> str:
        if self.is_here:
            return f"this machine, {counted(self.n_cores, 'core')}"
        nodes = counted(self.n_nodes, "node")
        return f"{nodes} with {counted(self.n_cores, 'core')}{' each' if self.n_nodes > 1 else ''}"


def target_of(
    n_cores: int | None = None,
    n_nodes: int | None = None,
    file_system: str | None = None,
    *,
    found: str | None = None,
    n_stripes: int = 1,
) -> Target:
    """Return the target machine.

    Parameters
    ----------
    n_cores : int, optional
        Number of cores per node. By default, the number of cores that are available to this process.
    n_nodes : int, optional
        Number of nodes. The default is one.
    file_system : {"local", "nfs", "lustre", "gpfs"}, optional
        File system on which the trajectory will be stored. By default, its current file system.
    found : str, optional
        Type of the current file system of the trajectory, as reported by the operating system.
    n_stripes : int
        Lustre stripe count of the trajectory.

    Raises
    ------
    MismatchError
        If a number is less than 1, if the file system is unknown, or if several nodes cannot share it.
    """
    available = available_processors()
    n_cores = available if n_cores is None else n_cores
    n_nodes = 1 if n_nodes is None else n_nodes
    if min(n_cores, n_nodes) < 1:
        raise MismatchError(f"the target needs at least 1 node with 1 core, not {n_nodes} with {n_cores}")
    now = kind_of(found)
    name = now if file_system is None else file_system
    if name not in FILE_SYSTEMS:
        raise MismatchError(f"unknown file system {name!r}; known: {', '.join(FILE_SYSTEMS)}")
    storage = FILE_SYSTEMS[name].striped(n_stripes if name == now else 1)
    if n_nodes > 1 and not storage.is_shared:
        where = f"{found or name} of this machine" if file_system is None else "a local file system"
        others = ", ".join(one for one, known in FILE_SYSTEMS.items() if known.is_shared)
        raise MismatchError(f"{n_nodes} nodes cannot share {where}: name a shared file system ({others})")
    is_here = n_nodes == 1 and n_cores <= available and name == now
    return Target(n_nodes, n_cores, storage, is_here)
