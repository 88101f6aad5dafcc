"""Consumers of a relay whose server is killed: all are processes of their own."""

import re
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import far_channels as far
from mdreel.errors import StreamError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.status import Status

pytest.importorskip("zenoh")

N_ATOMS = 50
LONG = 60.0
"""Time that a busy machine may need, s."""


@contextmanager
def simulation() -> "Iterator[subprocess.Popen[str]]":
    """Open a channel, whose frames are published on request."""
    with far.start(far.role("produce_parts", N_ATOMS, "run")) as process:
        try:
            assert far.line_of(process) == "open"
            yield process
        finally:
            process.kill()


def publish(process: "subprocess.Popen[str]", n_frames: int) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{n_frames}\n")
    process.stdin.flush()
    assert far.line_of(process) == "published"


@contextmanager
def serving(endpoint: str) -> "Iterator[subprocess.Popen[str]]":
    with far.program("serve", "run", "--listen", endpoint) as server:
        far.says(server, "served at")
        yield server


@contextmanager
def relaying(endpoint: str, *words: object) -> "Iterator[subprocess.Popen[str]]":
    with far.program("relay", endpoint, "run", "--as", "there", *words) as relay:
        far.says(relay, "joined")
        yield relay


@contextmanager
def consuming() -> "Iterator[subprocess.Popen[str]]":
    with far.start(far.role("consume", "there")) as consumer:
        try:
            assert far.line_of(consumer) == "joined"
            yield consumer
        finally:
            consumer.kill()


def outcome(consumer: "subprocess.Popen[str]") -> dict[str, Any]:
    """Return what a consumer has received. A consumer that waits for ever is killed, and this raises KeyError."""
    watchdog = threading.Timer(LONG, consumer.kill)
    watchdog.start()
    try:
        return far.results_of(consumer)["there"]
    finally:
        watchdog.cancel()


def silence_of(server: "subprocess.Popen[str]") -> str:
    """Return a pattern of the words for a server that is silent: its process, its host and the remedy."""
    host = re.escape(socket.gethostname()[:40])
    return rf"no message from the server, process {server.pid} \(.+\) on {host}.*, for 1 s; .*start it again"


def test_consumer_of_a_killed_server_is_told_which_process_to_start_again(endpoint: str) -> None:
    with (
        simulation() as producer,
        serving(endpoint) as server,
        relaying(endpoint, "--patience", 1),
        consuming() as consumer,
    ):
        publish(producer, 1)  # frames after the first may still be on their way when the server is killed
        assert far.line_of(consumer) == "first"
        server.send_signal(signal.SIGKILL)
        found = outcome(consumer)
    assert found["steps"] == [0]
    assert re.search(f"the producer was lost: {silence_of(server)}", found["end"]), found["end"]


def test_consumer_of_a_killed_server_that_is_back_in_time_goes_on(endpoint: str) -> None:
    with simulation() as producer, serving(endpoint) as server, relaying(endpoint), consuming() as consumer:
        publish(producer, 3)
        assert far.line_of(consumer) == "first"
        server.send_signal(signal.SIGKILL)
        server.wait()
        publish(producer, 3)
        with serving(endpoint):
            assert producer.stdin is not None
            producer.stdin.close()
            assert outcome(consumer) == far.expected("run", 6, N_ATOMS)


def test_server_that_is_back_too_late_is_followed_and_its_silence_is_forgotten(endpoint: str, folder: Path) -> None:
    with simulation() as producer, serving(endpoint) as server, relaying(endpoint, "--patience", 1) as relay:
        hasty = Consumer("there", timeout=LONG).open()
        patient = Consumer("there", timeout=LONG, restart=LONG).open()
        publish(producer, 1)
        assert [consumer.next().step for consumer in (hasty, patient)] == [0, 0]  # type: ignore[union-attr]
        server.send_signal(signal.SIGKILL)
        with pytest.raises(StreamError, match=silence_of(server)):
            hasty.next()
        lost = Status.read("there")
        assert lost.state == "lost"
        assert re.match(silence_of(server), str(lost.reason))
        with serving(endpoint):
            publish(producer, 1)
            frame = patient.next()
            assert frame is not None
            assert frame.step == 10
            current = Status.read("there")
            assert (current.state, current.reason) == ("running", None)
            relay.send_signal(signal.SIGKILL)
            relay.wait()
            with pytest.raises(StreamError, match=rf"lost: process {relay.pid} \(.+\) on \S+ has died"):
                while hasty.next() is not None:
                    pass
