"""Channels and processes of a round of the fault run."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from mdreel.live.channels.staging import Staging

HOSTS = ("anna", "bert", "cara")
"""Names of the hosts: the simulations run on the first one, relays bring their frames to the others."""

PORT = 7447
LONG = 90.0
"""Maximum time that a process may wait for anything, s: longer than all faults that can meet it together."""

RETAINED = 100
"""Number of frames that a staging on a small disk keeps at least."""

LAST_FRAMES = 20
"""Number of frames that a simulation publishes after it was asked to finish."""


@dataclass(frozen=True)
class Group:
    """Consumer group of a channel on a host."""

    host: str
    name: str
    n_members: int = 1
    share: bool = False
    is_lossless: bool = False


@dataclass(frozen=True)
class Channel:
    """Channel of a simulation, with everything that takes its frames."""

    name: str
    full: str
    n_slots: int
    n_atoms: int = 500
    staging: str | None = None
    own_archive: str | None = None
    groups: tuple[Group, ...] = ()
    archives: tuple[tuple[str, str, bool], ...] = ()
    """Host, file and whether it has to have every frame, of archives beside the simulation's own."""
    readers: tuple[str, ...] = ()
    viewers: tuple[str, ...] = ()
    relays: tuple[tuple[str, str | None, float], ...] = ()
    """Host, disk of the staging or None without staging, and patience, s, of each relay."""

    def groups_on(self, host: str) -> list[Group]:
        """Return the groups on a host."""
        return [group for group in self.groups if group.host == host]


A, B, C = HOSTS

CHANNELS = (
    Channel(
        "block",
        full="block",
        n_slots=8,
        staging="disk",
        own_archive="block.h5md",
        groups=(
            Group(A, "all", is_lossless=True),
            Group(A, "work", 3, share=True, is_lossless=True),
            Group(B, "all", is_lossless=True),
            Group(B, "work", 2, share=True, is_lossless=True),
            Group(C, "all", is_lossless=True),
        ),
        archives=((B, "block-on-bert.xtc", True),),
        viewers=(A,),
        relays=((B, "disk", 4.0), (C, "disk", 60.0)),
    ),
    Channel(
        "spill",
        full="spill",
        n_slots=8,
        staging="small disk",
        groups=(
            Group(A, "all", 2, is_lossless=True),
            Group(A, "work", 2, share=True, is_lossless=True),
            Group(C, "all"),
        ),
        archives=((A, "spill.h5md", True),),
        viewers=(A, C),
        relays=((C, "small disk", 6.0),),
    ),
    Channel(
        "lossy",
        full="drop-oldest",
        n_slots=8,
        groups=(Group(A, "all"), Group(B, "all")),
        archives=((A, "lossy.trr", False),),
        readers=(A, B),
        viewers=(A,),
        relays=((B, None, 4.0),),
    ),
    Channel(
        "ring",
        full="block",
        n_slots=16,
        groups=(Group(A, "all"), Group(A, "work", 2, share=True), Group(C, "all")),
        viewers=(A,),
        relays=((C, None, 60.0),),
    ),
)


@dataclass(frozen=True)
class Actor:
    """Process of a round: what it does, where, and for which channel."""

    name: str
    host: str
    role: str
    channel: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    def described(self) -> dict[str, Any]:
        """Return what an agent needs to start it."""
        return asdict(self)


@dataclass(frozen=True)
class Place:
    """Files and address of a round, which all hosts see alike; each host has a small disk of its own."""

    folder: Path
    disks: Path
    token: Path
    address: str
    round: int

    @property
    def finish(self) -> Path:
        """File that asks the simulations to finish."""
        return self.folder / "finish"

    @property
    def close(self) -> Path:
        """File that asks the server to close."""
        return self.folder / "close"

    def journal(self, actor: str) -> Path:
        """Return the journal of an actor."""
        return self.folder / f"{actor}.journal"

    def archive(self, file: str) -> Path:
        """Return the path of an archive."""
        return self.folder / file

    def staging(self, channel: str, host: str, disk: str) -> Staging:
        """Return the staging of a channel on a host; on the small disk, old frames are deleted."""
        is_small = disk == "small disk"
        parent = small_disk(self.disks, host) if is_small else self.folder
        folder = parent / f"staging-{channel}-{host}-{self.round}"
        return Staging(folder, n_frames=RETAINED if is_small else None, segment_bytes=100_000)

    def channel(self, channel: str) -> str:
        """Return the name of a channel in this round."""
        return f"{channel}{self.round}"

    def described(self) -> dict[str, Any]:
        """Return what an agent needs to know."""
        return {name: str(value) if isinstance(value, Path) else value for name, value in asdict(self).items()}

    @classmethod
    def from_description(cls, said: dict[str, Any]) -> "Place":
        """Return the place that was described."""
        paths = {name: Path(said[name]) for name in ("folder", "disks", "token")}
        return cls(**{**said, **paths})


def small_disk(folder: Path, host: str) -> Path:
    """Return the place of the small disk of a host, which only this host sees."""
    return folder / f"disk-{host}"


def channel_named(name: str) -> Channel:
    """Return the channel of a name."""
    return next(channel for channel in CHANNELS if channel.name == name)


def _actors_of(channel: Channel) -> Iterator[Actor]:
    yield Actor(f"{channel.name}-simulation", A, "simulate", channel.name)
    for group in channel.groups:
        for member in range(group.n_members):
            name = f"{channel.name}-{group.host}-{group.name}-{member}"
            options = {"group": group.name, "member": str(member), "share": group.share, "number": member}
            yield Actor(name, group.host, "commit", channel.name, options)
    for host, file, is_whole in channel.archives:
        options = {"file": file, "group": "archive", "is_whole": is_whole}
        yield Actor(f"{channel.name}-{host}-archive", host, "archive", channel.name, options)
    for role, hosts in (("read", channel.readers), ("view", channel.viewers)):
        for host in hosts:
            yield Actor(f"{channel.name}-{host}-{role}", host, role, channel.name)
    for host, disk, patience in channel.relays:
        options = {"staging": disk, "patience": patience}
        yield Actor(f"{channel.name}-{host}-relay", host, "relay", channel.name, options)


@cache
def actors() -> tuple[Actor, ...]:
    """Return all processes of a round, in the order of their first start."""
    return (Actor("server", A, "serve"), *(actor for channel in CHANNELS for actor in _actors_of(channel)))


def final_archives() -> tuple[Actor, ...]:
    """Return the archivers that complete the simulations' own archives after a round."""
    return tuple(
        Actor(
            f"{channel.name}-own-archive",
            A,
            "archive",
            channel.name,
            {"file": channel.own_archive, "group": "own", "is_whole": True},
        )
        for channel in CHANNELS
        if channel.own_archive is not None
    )


def judges() -> tuple[Actor, ...]:
    """Return the processes that report what the groups of each host have committed."""
    return tuple(Actor(f"{host}-judge", host, "judge") for host in HOSTS)
