"""mdreel from node to node: a channel, a process that serves it, one that relays it, and the other node's channel."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from peers.channels import mdreel as channel
from peers.channels.work import Work

SERVE = """
import sys, mdreel.insitu.nodes as nodes
endpoint, channel = sys.argv[1:]
with nodes.Server(channel, endpoint, without_authentication=True):
    sys.stdin.read()
"""
RELAY = """
import sys, mdreel.insitu.nodes as nodes
endpoint, channel = sys.argv[1:]
with nodes.Relay(endpoint, "channel", channel, wait=60.0):
    sys.stdin.read()
"""


def _start(code: str, work: Work) -> subprocess.Popen[bytes]:
    """Start what is between the channels on one of the nodes; it ends with its standard input."""
    words = (f"tcp/{work.address}:{work.port}", str(channel.place_of(work)))
    return subprocess.Popen([sys.executable, "-c", code, *words], stdin=subprocess.PIPE)


class Producer(channel.Producer):
    """Publishes on a channel of its own node, which is served."""

    def __init__(self, work: Work) -> None:
        self.server = _start(SERVE, work)
        super().__init__(work)

    def close(self) -> None:
        """End the channel, and the process that serves it when it has been read out."""
        super().close()
        self.server.communicate()


class Consumer(channel.Consumer):
    """Takes frames of the channel that is relayed to its node: one of the same name, in another folder."""

    def __init__(self, work: Work) -> None:
        here = Path(work.place) / "here"
        here.mkdir(mode=0o700)
        work = replace(work, place=str(here))
        self.relay = _start(RELAY, work)
        super().__init__(work)

    def close(self) -> None:
        """Leave, and end the relay."""
        super().close()
        self.relay.communicate()
