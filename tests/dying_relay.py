"""A relay that dies at a moment: ``python dying_relay.py ENDPOINT CHANNEL NAME MOMENT N``.

It is killed, by SIGKILL, where another epoch than the first begins; N frames of the session come before that.

Server, network and channels are what they always are. Only the relay's process knows when it has to end: a signal from
outside could not be there between two messages.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from mdreel.live.nodes import Relay
from mdreel.live.nodes.local_channel import LocalChannel
from mdreel.live.nodes.messages import Chunk, Epoch, decode
from mdreel.live.nodes.receive_queue import ChunkOrder
from mdreel.live.nodes.relay_session import Passing


def is_later_epoch(_: Passing, received: bytes) -> bool:
    """Whether a message says that another epoch than the first begins."""
    message = decode(received)[1]
    return isinstance(message, Epoch) and message.epoch > 0


def dies_behind(kind: type, method: str, is_so: Callable[..., bool]) -> None:
    """Have this process killed as soon as a method has returned that was called in some way."""
    original = getattr(kind, method)

    def and_dies(*arguments: Any) -> Any:
        found = original(*arguments)
        if is_so(*arguments):
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    setattr(kind, method, and_dies)


def main(endpoint: str, channel: str, name: str, moment: str, n_before: int) -> None:
    """Relay until the moment."""

    def is_in_first_frame(_: ChunkOrder, chunk: Chunk) -> bool:
        return chunk.ordinal == n_before and 0 < chunk.offset < chunk.total - len(chunk.content)

    def is_later(local: LocalChannel, *_: object) -> bool:
        return local._core is not None and local._core.epoch > 0

    def has_frames_of_it(local: LocalChannel, *_: object) -> bool:
        return local._last is not None and local._last[0] > 0

    moments: dict[str, tuple[type, str, Callable[..., bool]]] = {
        "behind the message of the epoch": (Passing, "_take", is_later_epoch),
        "within its first frame": (ChunkOrder, "accept", is_in_first_frame),
        "behind the epoch of the local channel": (LocalChannel, "_advance", is_later),
        "behind its first frame": (LocalChannel, "add", has_frames_of_it),
    }
    dies_behind(*moments[moment])
    Relay(endpoint, channel, name, n_slots=16, report=lambda line: print(line, file=sys.stderr, flush=True)).run()


if __name__ == "__main__":
    main(*sys.argv[1:5], int(sys.argv[5]))
