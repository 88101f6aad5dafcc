"""Tests of hubs with engines that violate the IMD protocol."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from imd_client import HANDSHAKE, LONG, POSITIONS, SESSION, TIME
from mdreel.errors import FormatError, MismatchError, StreamError, UnsupportedError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.status import Status
from mdreel.live.engines.imd import Engine, Hub

ANYWHERE = "127.0.0.1:0"


def header(kind: int, value: int) -> bytes:
    return struct.pack(">ii", kind, value)


def greeting(version: int) -> bytes:
    return header(HANDSHAKE, 0)[:4] + struct.pack("<i", version)


def session(*switches: int) -> bytes:
    return greeting(3) + header(SESSION, len(switches)) + bytes(switches)


def frame(n_atoms: int, step: int = 0) -> bytes:
    time = header(TIME, 1) + struct.pack("<ddq", 0.002, 0.002 * step, step)
    return time + header(POSITIONS, n_atoms) + bytes(12 * max(0, min(n_atoms, 100)))


WITH_TIMES = session(1, 0, 0, 1, 0, 0, 0)
WRONG = {
    "another protocol": (b"HTTP/1.1 400 Bad Request\r\n\r\n", FormatError, "expected the handshake of IMD"),
    "another version": (greeting(7), UnsupportedError, "expected version 2 or 3 of IMD, got 7"),
    "a session of six": (session(1, 0, 0, 1, 0, 0), FormatError, "expected session information of 7 bytes, got 6"),
    "no positions": (session(1, 0, 0, 0, 0, 1, 0), UnsupportedError, "the engine sends no positions"),
    "no atoms": (WITH_TIMES + frame(-1), FormatError, "frame 0: expected 1 atom or more, got -1"),
    "too many atoms": (WITH_TIMES + frame(2**31 - 1), MismatchError, "2,147,483,647 atoms would take more than"),
    "other atoms": (WITH_TIMES + frame(3) + frame(4), MismatchError, "frame 1: expected positions of 3 atoms, got 4"),
    "another message": (WITH_TIMES + header(9, 9), FormatError, "expected time, got a message of kind 9 and length 9"),
    "half a frame": (WITH_TIMES + frame(3) + frame(3)[:40], StreamError, "ended within a message or a frame"),
}


@contextmanager
def engine_that_says(said: bytes) -> Iterator[str]:
    """Start an engine that sends given bytes and then nothing; yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def speak() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):  # it is left before it has said all
                connection.sendall(said)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(100):
                    pass

        thread = threading.Thread(target=speak)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(("said", "error", "words"), WRONG.values(), ids=WRONG)
def test_engine_that_does_not_keep_to_imd_is_left(said: bytes, error: type[Exception], words: str) -> None:
    with (
        engine_that_says(said) as address,
        pytest.raises(error, match=words),
        Hub("run", ANYWHERE, Engine(address, LONG)) as hub,
    ):
        hub.wait(LONG)
    if said.startswith(WITH_TIMES + frame(3)):  # there was a frame before that
        assert Status.read("run").state == "failed"
        with pytest.raises(StreamError, match=words), Consumer("run") as frames:
            assert frames.next() is not None
            frames.next()
    else:
        with pytest.raises(FileNotFoundError):
            Status.read("run")


@pytest.mark.parametrize(
    ("interval", "stride", "expected"),
    [(10, 50, [7, 57, 107, 157]), (10, 10, [7 + 10 * i for i in range(20)]), (30, 100, [7, 127, 217, 307, 427, 517])],
)
def test_hub_publishes_frames_a_stride_apart(interval: int, stride: int, expected: list[int]) -> None:
    steps = [7 + interval * frame for frame in range(20)]
    said = WITH_TIMES + b"".join(frame(3, step) for step in steps)
    found: list[int] = []
    with engine_that_says(said) as address:
        engine = Engine(address, LONG, n_frames=20, stride=stride, n_consumers=1, n_slots=32)
        with Hub("run", ANYWHERE, engine) as hub:
            with Consumer("run", wait=LONG) as frames:
                assert frames.manifest.stride == stride
                found.extend(taken.step for taken in frames)
            assert hub.wait(LONG) == "finished"  # the engine has sent as many frames as expected
    assert found == expected
