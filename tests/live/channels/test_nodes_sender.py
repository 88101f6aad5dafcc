"""Tests of servers whose relay joins again while messages are in transit."""

import threading
from pathlib import Path

import numpy as np
import pytest

import far_channels as far
from mdreel._core import channel_frame_identity
from mdreel.live.channels.directory import channel_path
from mdreel.live.nodes.messages import CHUNK_BYTES, Chunk, Credit, End, Heartbeat, Join, Message, decode
from mdreel.live.nodes.sender import Sender
from mdreel.live.producers.producer import Producer

N_ATOMS = CHUNK_BYTES // 12 + 1000  # two chunks each
N_FRAMES = 8


class Impatient:
    """Relay that takes all messages and joins again while the n-th message is in transit."""

    def __init__(self, path: Path, n_th: int) -> None:
        self.n_th = n_th
        self.sent: list[tuple[int, Message]] = []
        self.n_taken = 0
        self.ended = threading.Event()
        self.sender = Sender(path, Join("relay", "host", 1, ("earliest", None)), self.put, patience=10.0)
        self.sender.receive(1, Credit(0, 2 * N_FRAMES))

    def put(self, sent: bytes) -> None:
        self.sent.append(decode(sent))
        if len(self.sent) == self.n_th:
            self.n_taken = len(numbers(self.messages(1)))
            self.sender.rejoin(Join("relay", "host", 2, ("sequence", self.n_taken)))
            self.sender.receive(2, Credit(0, 2 * N_FRAMES))
        elif isinstance(self.sent[-1][1], End) and self.sent[-1][0] == 2:
            self.ended.set()

    def messages(self, session: int) -> list[Message]:
        return [message for of_session, message in self.sent if of_session == session]


def numbers(messages: list[Message]) -> list[int]:
    """Check the order of the chunks of a session and return the sequence numbers of its complete frames."""
    found, number, offset = [], 0, 0
    for message in messages:
        match message:
            case Chunk():
                assert (message.ordinal, message.offset) == (len(found), offset)
                if offset == 0:
                    number = channel_frame_identity(np.frombuffer(message.content, np.uint8), message.total)[1]
                offset += len(message.content)
                if offset == message.total:
                    found.append(number)
                    offset = 0
            case Heartbeat() | End():
                assert (message.n_sent, offset) == (len(found), 0)
    return found


# An epoch, two chunks a frame, one beat or two, and the end.
@pytest.mark.parametrize("n_th", range(1, 2 * N_FRAMES + 4))
def test_relay_that_joins_again_at_any_message_gets_a_session_of_its_own(n_th: int) -> None:
    with Producer("run", N_ATOMS, n_slots=4 * N_FRAMES) as producer:
        for frame in range(N_FRAMES):
            producer.publish(far.positions("run", frame, N_ATOMS), 10 * frame, 0.5 * frame, far.BOX)
        relay = Impatient(channel_path("run"), n_th)
        relay.sender.start()
    assert relay.ended.wait(30)
    relay.sender.stop()
    relay.sender.join()
    assert relay.n_taken <= N_FRAMES
    assert numbers(relay.messages(2)) == list(range(relay.n_taken, N_FRAMES))
    assert isinstance(relay.messages(2)[-1], End)
