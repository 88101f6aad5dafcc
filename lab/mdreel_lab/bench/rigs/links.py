"""Links of hosts with a limited bandwidth, and the bytes that have passed through them."""

import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mdreel.errors import UnsupportedError
from mdreel_lab.bench.rigs.hosts import IN_TIME, Host

_BURST_BYTES = 1 << 16
"""Bytes that pass without delay: a segmentation unit of the virtual links, which are not split below it."""


@dataclass(frozen=True)
class Throttle:
    """Bandwidth and queue of one direction of a link.

    Attributes
    ----------
    bytes_per_s : float
        Bandwidth, bytes/s.
    queue_bytes : int
        Size of the queue in front of the link. Packets that do not fit into it are lost, and TCP sends them again.
    """

    bytes_per_s: float
    queue_bytes: int = 1 << 18


def why_there_is_none() -> str | None:
    """Return the reason why no link can be throttled here, or None if it can."""
    return None if shutil.which("tc") else "throttled links need tc (Debian: iproute2)"


def throttle(hosts: Iterable[Host], limit: Throttle, network: int = 0) -> None:
    """Limit both directions of the link of each host to a network.

    Raise an `UnsupportedError` if the kernel cannot limit it.
    """
    if problem := why_there_is_none():
        raise UnsupportedError(problem)
    rate = ("rate", f"{round(8 * limit.bytes_per_s)}bit", "burst", f"{_BURST_BYTES}b", "limit", f"{limit.queue_bytes}b")
    for host in hosts:
        far_end = f"{host.name}-{network}" if network else host.name
        for command in (
            [*host.switch, *IN_TIME, "tc", "qdisc", "replace", "dev", far_end, "root", "tbf", *rate],
            host.command(*IN_TIME, "tc", "qdisc", "replace", "dev", f"eth{network}", "root", "tbf", *rate),
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise UnsupportedError(f"the link of {host.name} cannot be throttled: {done.stderr.strip()}")


def received_bytes(network: int = 0) -> int:
    """Return the number of bytes that this host has received from a network; call it in a process of the host."""
    return int(Path(f"/sys/class/net/eth{network}/statistics/rx_bytes").read_text(encoding="ascii"))
