"""mdreel from node to node: a channel, a process that serves it, one that relays it, and the other node's channel."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from peers.channels import mdreel as channel
from peers.channels.work import TIME_LIMIT, Work


def _start(*words: str) -> subprocess.Popen[bytes]:
    """Start what is between the channels on one of the nodes."""
    command = [sys.executable, "-m", "mdreel.cli", *words, "--quiet"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)  # ours is read to its end


def _endpoint(work: Work) -> str:
    return f"tcp/{work.address}:{work.port}"


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()  # no SIGINT: who is started behind an & of a script ignores that, and so do its children
    try:
        process.wait(TIME_LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        raise


class Producer(channel.Producer):
    """Publishes on a channel of its own node, which is served."""

    def __init__(self, work: Work) -> None:
        words = ("--listen", _endpoint(work), "--without-authentication")
        self.server = _start("serve", str(channel.place_of(work)), *words)
        super().__init__(work)

    def close(self) -> None:
        """End the channel, and the process that serves it when it has been read out."""
        super().close()
        _stop(self.server)


class Consumer(channel.Consumer):
    """Takes frames of the channel that is relayed to its node: one of the same name, in another folder."""

    def __init__(self, work: Work) -> None:
        here = Path(work.place) / "here"
        here.mkdir(mode=0o700)
        work = replace(work, place=str(here))
        self.relay = _start("relay", _endpoint(work), "channel", "--as", str(channel.place_of(work)), "--wait", "60")
        super().__init__(work)

    def close(self) -> None:
        """Leave, and end the relay."""
        super().close()
        _stop(self.relay)
