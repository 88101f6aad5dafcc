"""The sockets on which a tree of processes listens, as the kernel lists them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_LISTENS = "0A"
_ACCEPTS = 0x10000


@dataclass(frozen=True)
class Listening:
    """A socket on which a process waits for connections."""

    pid: int
    kind: str
    address: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether nobody on another host can reach it."""
        return self.address in ("0100007F", "00000000000000000000000001000000", "unix")


def processes_of(root: int) -> list[int]:
    """Return a process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has ended meanwhile
            continue
        children.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        found.append(waiting.pop())
        waiting += children.get(found[-1], [])
    return found


def listening_sockets(root: int) -> list[Listening]:
    """Return on what a process, and those that descend from it, listen."""
    by_inode = dict(_listening())
    found = set()
    for pid in processes_of(root):
        for inode in _inodes(pid):
            if inode in by_inode:
                found.add((inode, pid))
    return [Listening(pid, *by_inode[inode]) for inode, pid in sorted(found)]


def _listening() -> Iterator[tuple[str, tuple[str, str, int]]]:
    for kind in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == _LISTENS:
                address, port = local.split(":")
                yield rest[5], (kind, address, int(port, 16))
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        _, _, _, flags, _, _, inode, *_ = line.split()
        if int(flags, 16) & _ACCEPTS:
            yield inode, ("unix", "unix", 0)


def _inodes(pid: int) -> Iterator[str]:
    folder = Path(f"/proc/{pid}/fd")
    try:
        links = list(folder.iterdir())
    except OSError:
        return
    for link in links:
        try:
            held = re.fullmatch(r"socket:\[(\d+)\]", str(link.readlink()))
        except OSError:
            continue
        if held is not None:
            yield held[1]
