"""Target machines: nodes, cores and file system."""

from dataclasses import dataclass, replace

from mdreel.errors import MismatchError
from mdreel.execution.available_cores import available_processors


@dataclass(frozen=True)
class FileSystem:
    """What a kind of file system gives; assumed, and stated with the advice, where nothing is measured.

    Attributes
    ----------
    name : str
        ``local``, ``nfs``, ``lustre`` or ``gpfs``.
    stream_bytes_per_s : float
        What one process gets that reads alone, bytes/s.
    file_bytes_per_s : float
        What all processes together get that read one file, bytes/s.
    node_bytes_per_s : float
        What all processes of a node get, bytes/s.
    total_bytes_per_s : float
        What all nodes together get from any number of files, bytes/s.
    open_seconds : float
        An opening of a file; those of the same file are served one after another, s.
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
        """Return the same with files that are spread over so many targets of Lustre; unchanged where it is another."""
        if self.name != "lustre" or count <= 1:
            return self
        return replace(self, file_bytes_per_s=min(count * self.file_bytes_per_s, self.total_bytes_per_s))


FILE_SYSTEMS = {
    one.name: one
    for one in (
        FileSystem("local", 2e9, 2e9, 2e9, 2e9, 2e-5, is_shared=False),  # an NVMe disk
        FileSystem("nfs", 0.5e9, 1e9, 1e9, 1e9, 1e-3),  # one server behind 10 Gbit/s
        FileSystem("lustre", 1e9, 1e9, 5e9, 50e9, 1e-3),  # files on one target each, as is the default
        FileSystem("gpfs", 1e9, 5e9, 5e9, 50e9, 1e-3),  # files are spread over all servers in blocks
    )
}
"""The kinds of file systems by name, with round figures of clusters of about 2020."""

# Served over a network by few machines: nearest to NFS of what is known here.
_SERVED = {"9p", "afs", "beegfs", "ceph", "cifs", "glusterfs", "mfs", "moosefs", "orangefs", "pvfs2", "smb3", "sshfs"}


def kind_of(file_system: str | None) -> str:
    """Return the name in `FILE_SYSTEMS` of what the system calls ``ext4``, ``nfs4``, ``fuse.sshfs`` and the like."""
    name = (file_system or "").removeprefix("fuse.")
    if name in ("lustre", "gpfs"):
        return name
    return "nfs" if name.startswith("nfs") or name in _SERVED else "local"


@dataclass(frozen=True)
class Target:
    """The machine that advice is for.

    Attributes
    ----------
    n_nodes : int
        Nodes.
    n_cores : int
        Cores of each.
    file_system : FileSystem
        Where the trajectory lies.
    is_here : bool
        Whether that is this machine and the file system on which the trajectory lies now: what was measured holds.
    """

    n_nodes: int
    n_cores: int
    file_system: FileSystem
    is_here: bool

    @property
    def n_workers(self) -> int:
        """One for each core."""
        return self.n_nodes * self.n_cores

    def __str__(self) -> str:
        if self.is_here:
            return f"this machine, {_counted(self.n_cores, 'core')}"
        nodes = _counted(self.n_nodes, "node")
        return f"{nodes} with {_counted(self.n_cores, 'core')}{' each' if self.n_nodes > 1 else ''}"


def target_of(
    n_cores: int | None = None,
    n_nodes: int | None = None,
    file_system: str | None = None,
    *,
    found: str | None = None,
    n_stripes: int = 1,
) -> Target:
    """Return the target that is meant.

    Parameters
    ----------
    n_cores : int, optional
        Cores of a node; by default those that this process may use.
    n_nodes : int, optional
        Nodes, by default one.
    file_system : {"local", "nfs", "lustre", "gpfs"}, optional
        Where the trajectory will lie, by default where it lies now.
    found : str, optional
        The file system on which it lies, as the system calls it.
    n_stripes : int
        Targets of Lustre over which it is spread.

    Raises
    ------
    MismatchError
        If a number is less than 1, the file system is unknown, or several nodes cannot see it.
    """
    available = available_processors()
    n_cores = available if n_cores is None else n_cores
    n_nodes = 1 if n_nodes is None else n_nodes
    if min(n_cores, n_nodes) < 1:
        raise MismatchError(f"at least 1 node with 1 core is needed, not {n_nodes} with {n_cores}")
    now = kind_of(found)
    name = now if file_system is None else file_system
    if name not in FILE_SYSTEMS:
        raise MismatchError(f"unknown file system {name!r}; known: {', '.join(FILE_SYSTEMS)}")
    storage = FILE_SYSTEMS[name].striped(n_stripes if name == now else 1)
    if n_nodes > 1 and not storage.is_shared:
        where = f"{found or name} of this machine" if file_system is None else "a local file system"
        others = ", ".join(one for one, known in FILE_SYSTEMS.items() if known.is_shared)
        raise MismatchError(f"{n_nodes} nodes do not see the files on {where}: name the file system ({others})")
    is_here = n_nodes == 1 and n_cores <= available and name == now
    return Target(n_nodes, n_cores, storage, is_here)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' if number > 1 else ''}"
