"""What arrives from another node is a message, or refused with a `FormatError`; nothing else happens."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mdreel.errors import FormatError
from mdreel.live.channels.manifest import Manifest
from mdreel.live.nodes.inbox import ChunkOrder, Inbox
from mdreel.live.nodes.messages import (
    CHUNK_BYTES,
    ENDS,
    LEAST_CHUNK_BYTES,
    MOST_EPOCHS,
    STATES,
    ChannelDescription,
    Chunk,
    Credit,
    End,
    Epoch,
    Fault,
    Heartbeat,
    Join,
    Leave,
    Message,
    decode,
    encode,
)

word = st.integers(0, 2**64 - 1)
reason = st.text(max_size=200)


@st.composite
def chunks(draw: st.DrawFn) -> Chunk:
    content = draw(st.binary(min_size=1, max_size=200))
    offset = draw(st.integers(0, 2**63))
    total = offset + len(content) + draw(st.integers(0, 2**32))
    return Chunk(draw(word), offset, total, memoryview(content))


messages: st.SearchStrategy[Message] = st.one_of(
    chunks(),
    st.builds(Epoch, st.integers(0, MOST_EPOCHS - 1), st.integers(-(2**63), 2**63 - 1), word),
    st.builds(Heartbeat, word, st.sampled_from(STATES)),
    st.builds(End, word, st.sampled_from(ENDS), reason),
    st.builds(Fault, reason),
    st.tuples(word, word).map(lambda pair: Credit(min(pair), max(pair))),
    st.just(Leave()),
)
answers = st.builds(
    ChannelDescription,
    st.text(min_size=1, max_size=50),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**40 - 1),
    st.builds(
        Manifest,
        n_atoms=st.integers(0, 2**40 - 1),
        stream=word,
        sections=st.lists(st.tuples(st.text(), st.text()), max_size=4).map(tuple),
        energies=st.lists(st.text(), max_size=4).map(tuple),
        time_step=st.floats(allow_nan=False, allow_infinity=False),
        stride=word,
        topology_hash=st.binary(min_size=32, max_size=32),
    ),
    st.text(max_size=256),
)
starts = st.one_of(
    st.sampled_from([("earliest", None), ("latest", None)]),
    st.tuples(st.just("sequence"), word),
    st.tuples(st.just("step"), st.integers(-(2**62), 2**62)),
    st.tuples(st.just("time"), st.floats(allow_nan=False, allow_infinity=False)),
)


@given(word, messages)
def test_messages_come_back(session: int, message: Message) -> None:
    assert decode(encode(session, message)) == (session, message)


@given(answers, st.builds(Join, st.text("0123456789abcdef", min_size=1, max_size=32), st.just("here"), word, starts))
def test_questions_and_answers_come_back(answer: ChannelDescription, join: Join) -> None:
    assert ChannelDescription.decode(answer.encode()) == answer
    assert Join.decode(join.encode()) == join


@given(st.binary(max_size=200))
@example(b"[" * 60_000)
@example(b'{"version":1,"manifest":{"topology_hash":"' + b"zz" * 32 + b'","time_step":1}}')
def test_rubbish_is_refused(rubbish: bytes) -> None:
    for read in (decode, Join.decode, ChannelDescription.decode):
        with pytest.raises(FormatError):
            read(rubbish)


@given(messages, st.data())
def test_damaged_message_is_a_message_or_refused(message: Message, data: st.DataObject) -> None:
    sent = bytearray(encode(1, message))
    for _ in range(data.draw(st.integers(1, 4))):
        sent[data.draw(st.integers(0, len(sent) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(sent)))
    for damaged in (bytes(sent), bytes(sent[:cut])):
        with suppress(FormatError):
            session, found = decode(damaged)
            assert 0 <= session < 2**64
            assert not isinstance(found, Chunk) or found.offset + len(found.content) <= found.total


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(answers, st.data())
def test_answer_with_another_value_is_understood_or_refused(answer: ChannelDescription, data: st.DataObject) -> None:
    said = json.loads(answer.encode())
    place = data.draw(st.sampled_from([said, said["manifest"]]))
    place[data.draw(st.sampled_from(sorted(place)))] = data.draw(json_values)
    with suppress(FormatError):
        found = ChannelDescription.decode(json.dumps(said).encode())
        assert isinstance(found.manifest, Manifest)
        assert 0 <= found.slot_bytes < 2**40


@given(st.lists(chunks(), max_size=10), st.binary(min_size=1, max_size=500), st.integers(1, 100))
def test_chunks_of_frames_are_accepted_in_order_and_nothing_else_is(
    others: list[Chunk], frame: bytes, size: int
) -> None:
    order = ChunkOrder(500, least_bytes=1)
    for number in range(2):
        for offset in range(0, len(frame), size):
            for other in others:
                if (other.ordinal, other.offset) != (number, offset):
                    with pytest.raises(FormatError):
                        order.accept(other)
            content = memoryview(frame)[offset : offset + size]
            assert order.accept(Chunk(number, offset, len(frame), content)) == (offset + size >= len(frame))
    assert order.n_frames == 2
    order.restart()
    assert order.n_frames == 0
    assert order.accept(Chunk(0, 0, len(frame), memoryview(frame)))


def test_frame_that_is_larger_than_it_may_be_takes_no_memory() -> None:
    order = ChunkOrder(100)
    with pytest.raises(FormatError, match="at most 100"):
        order.accept(Chunk(0, 0, 2**60, memoryview(b"some")))
    with pytest.raises(FormatError, match=f"{LEAST_CHUNK_BYTES} bytes or more, got 4"):
        order.accept(Chunk(0, 0, 100, memoryview(b"some")))
    inbox = Inbox(10)
    inbox.put(bytes(11))
    inbox.put(bytes(9))
    inbox.put(bytes(2))
    assert [len(inbox.get(0) or b"") for _ in range(2)] == [9, 0]
    with pytest.raises(FormatError):
        decode(encode(0, Chunk(0, 0, CHUNK_BYTES + 1, memoryview(bytes(CHUNK_BYTES + 1)))))
