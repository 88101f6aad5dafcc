"""Tests of hubs over existing channels."""

import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import far_channels as far
import imd_client
from imd_client import LONG, ImdClient, Received
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.staging import Staging
from mdreel.live.channels.status import Status
from mdreel.live.engines.imd import Hub
from mdreel.live.producers.producer import Producer

N_ATOMS = 50
N_FRAMES = 40
ANYWHERE = "127.0.0.1:0"
TILTED = np.array([[30.0, 0, 0], [5, 31, 0], [1, 2, 33]])
ENERGIES = {"potential": -5.25, "temperature": 301.5, "of my own": 3.0}


@pytest.fixture
def said() -> list[str]:
    """Return the list of reported lines."""
    return []


def values(frame: int, kind: str = "run") -> np.ndarray:
    return far.positions(kind, frame, N_ATOMS)


def publish(producer: Producer, frames: range) -> None:
    for frame in frames:
        producer.publish(values(frame), 10 * frame, 0.5 * frame, far.BOX)


def check(frames: list[Received], expected: range) -> None:
    """Compare frames of IMD version 3 with the published ones."""
    assert [frame.step for frame in frames] == [10 * i for i in expected]
    for frame, i in zip(frames, expected, strict=True):
        assert np.array_equal(frame.positions, values(i))
        assert (frame.time, frame.step_time) == (0.5 * i, 0.05)
        assert frame.box is not None
        assert np.array_equal(frame.box, far.BOX)


def until(is_so: Callable[[], object]) -> None:
    end = time.monotonic() + LONG
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def in_background(read: Callable[[], list[Received]]) -> "tuple[threading.Thread, list[Received]]":
    found: list[Received] = []
    thread = threading.Thread(target=lambda: found.extend(read()))
    thread.start()
    return thread, found


@pytest.fixture
def producer(tmp_path: Path) -> Iterator[Producer]:
    """Check a channel without staging, with a small ring and a short producer timeout."""
    with Producer("run", N_ATOMS, n_slots=8, timeout=LONG, time_step=0.05) as made:
        yield made


def test_clients_get_each_frame_as_it_is(producer: Producer) -> None:
    with Hub("run", ANYWHERE) as hub:
        clients = [ImdClient(hub.address).go() for _ in range(3)]
        producer.await_consumers(3, LONG)
        readers = [in_background(client.rest) for client in clients]
        publish(producer, range(N_FRAMES))
        producer.end()
        for thread, found in readers:
            thread.join()
            check(found, range(N_FRAMES))
        for client in clients:
            assert client.switches == bytes([1, 0, 1, 1, 0, 0, 0])
            client.close()
        assert hub.wait(LONG) == "finished"
        assert [(client.n_sent, client.n_lost) for client in hub.clients] == [(N_FRAMES, 0)] * 3


def test_velocities_forces_energies_and_cells_are_sent_where_the_channel_has_them() -> None:
    with Producer("all", N_ATOMS, velocities=True, forces=True, energies=list(ENERGIES)) as producer:
        producer.publish(values(0), 7, 1.5, TILTED, values(1), values(2), ENERGIES)
        producer.publish(values(3), 2**40, 2.5)
        producer.end()
        with Hub("all", ANYWHERE) as hub, ImdClient(hub.address).go() as client:
            assert client.switches == bytes([1, 1, 1, 1, 0, 1, 1])
            first, second = client.rest()
    assert first.box is not None
    assert np.array_equal(first.box, TILTED.astype(np.float32))
    for kind, i in ((imd_client.POSITIONS, 0), (imd_client.VELOCITIES, 1), (imd_client.FORCES, 2)):
        assert np.array_equal(first.arrays[kind], values(i))
    np.testing.assert_array_equal(first.energies, [301.5, np.nan, -5.25, *[np.nan] * 6])
    assert (second.step, second.time) == (2**40, 2.5)
    assert second.box is not None
    assert not second.box.any()
    assert np.isnan(second.arrays[imd_client.VELOCITIES]).all()


def test_version_2_has_steps_and_kilocalories() -> None:
    with Producer("all", N_ATOMS, energies=["total"]) as producer:
        producer.publish(values(0), 7, 1.5, energies={"total": 4.184})
        producer.end()
        with Hub("all", ANYWHERE, version=2) as hub, ImdClient(hub.address).go() as client:
            assert client.version == 2
            (frame,) = client.rest()
    assert frame.step == 7
    assert frame.energies is not None
    assert frame.energies[1] == 1.0
    assert np.array_equal(frame.positions, values(0))


def test_session_is_what_vmd_has_of_engines(producer: Producer) -> None:
    """Check the messages that VMD sends and reads."""
    with Hub("run", ANYWHERE, version=2) as hub, ImdClient(hub.address) as vmd:
        assert vmd.version == 2  # the handshake, in the order of bytes of the engine, and nothing behind it
        vmd.say(imd_client.GO)
        vmd.say(imd_client.RATE, 1)
        vmd.socket.sendall(struct.pack(">ii", imd_client.MDCOMM, 2) + bytes(4 * 2 + 12 * 2))
        until(lambda: producer.n_consumers == 1)
        publish(producer, range(3))
        for i in range(3):
            assert vmd.read(8) == struct.pack(">ii", imd_client.ENERGIES, 1)
            assert struct.unpack("<i9f", vmd.read(40))[0] == 10 * i
            assert vmd.read(8) == struct.pack(">ii", imd_client.POSITIONS, N_ATOMS)
            assert np.array_equal(np.frombuffer(vmd.read(12 * N_ATOMS), "<f4").reshape(-1, 3), values(i))
        vmd.say(imd_client.DISCONNECT)
        assert vmd.next() is None
        until(lambda: [client.state for client in hub.clients] == ["left"])


@pytest.mark.parametrize("dtype", ["float64", "type and float64", "xtc"])
def test_other_numbers_are_sent_as_float32(dtype: str) -> None:
    with Producer("run", N_ATOMS, dtype=dtype) as producer:
        producer.publish(values(0), 0, 0.0)
        producer.end()
        with Hub("run", ANYWHERE) as hub, ImdClient(hub.address).go() as client:
            (frame,) = client.rest()
    (frame_of_channel,) = Consumer("run").open()
    assert frame_of_channel.positions is not None
    assert np.array_equal(frame.positions, np.asarray(frame_of_channel.positions, np.float32))


def test_late_client_gets_what_there_still_is_or_what_is_to_come(producer: Producer) -> None:
    publish(producer, range(20))
    with Hub("run", ANYWHERE) as early, Hub("run", ANYWHERE, start="latest") as late:
        first, last = ImdClient(early.address).go(), ImdClient(late.address).go()
        producer.await_consumers(2, LONG)
        readers = [in_background(client.rest) for client in (first, last)]
        publish(producer, range(20, 30))
        producer.end()
        for (thread, found), begin in zip(readers, (12, 20), strict=True):
            thread.join()
            check(found, range(begin, 30))
        first.close()
        last.close()


def test_late_client_gets_everything_from_staging(tmp_path: Path) -> None:
    with Producer("run", N_ATOMS, n_slots=4, time_step=0.05, staging=Staging(tmp_path / "staging")) as producer:
        publish(producer, range(N_FRAMES))
    with Hub("run", ANYWHERE, linger=LONG) as hub:
        for _ in range(2):
            with ImdClient(hub.address).go() as client:
                check(client.rest(), range(N_FRAMES))


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGSTOP])
def test_client_that_is_killed_or_stopped_disturbs_nobody(producer: Producer, signal_number: int) -> None:
    with Hub("run", ANYWHERE, patience=0.5) as hub:
        other = ImdClient(hub.address).go()
        program = [sys.executable, imd_client.__file__, hub.address, "hang"]
        with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as victim:
            assert victim.stdout is not None
            assert victim.stdout.readline() == "joined\n"
            producer.await_consumers(2, LONG)
            thread, found = in_background(other.rest)
            publish(producer, range(10))
            assert victim.stdout.readline() == "first\n"
            victim.send_signal(signal_number)
            publish(producer, range(10, N_FRAMES))
            producer.end()
            thread.join()
            check(found, range(N_FRAMES))
            other.close()
            assert hub.wait(LONG) == "finished"
            victim.kill()


def test_slow_client_loses_its_oldest_frames_and_holds_up_nobody(said: list[str]) -> None:
    n_atoms, n_frames = 100_000, 60  # 72 MB, which no socket holds
    with (
        Producer("large", n_atoms, n_slots=4, timeout=LONG) as producer,
        Hub("large", ANYWHERE, memory="4M", report=said.append) as hub,
    ):
        slow = ImdClient(hub.address).go()
        producer.await_consumers(1, LONG)
        for frame in range(n_frames):
            producer.publish(far.positions("large", frame, n_atoms), frame, 1.0 * frame)
        producer.end()
        until(lambda: hub.clients[0].n_lost > 0)
        found = slow.rest()
        steps = [frame.step for frame in found]
        assert all(step is not None for step in steps)
        assert steps == sorted(set(steps))  # type: ignore[type-var]
        assert steps[-1] == n_frames - 1
        for frame in found:
            assert np.array_equal(frame.positions, far.positions("large", frame.step or 0, n_atoms))
        slow.close()
        assert hub.wait(LONG) == "finished"
        (status,) = hub.clients
        assert status.n_sent == len(found) < n_frames
        assert status.n_lost == n_frames - len(found)
        assert f"{status.n_lost} lost" in said[-1]


def test_slow_client_gets_all_frames_where_they_are_staged(tmp_path: Path) -> None:
    n_atoms, n_frames = 100_000, 40
    staging = Staging(tmp_path / "staging")
    with (
        Producer("large", n_atoms, n_slots=4, timeout=LONG, staging=staging) as producer,
        Hub("large", ANYWHERE, memory="4M") as hub,
    ):
        slow = ImdClient(hub.address).go()
        producer.await_consumers(1, LONG)
        for frame in range(n_frames):
            producer.publish(far.positions("large", frame, n_atoms), frame, 1.0 * frame)
        producer.end()
        found = slow.rest()
        assert [frame.step for frame in found] == list(range(n_frames))
        for frame in found:
            assert np.array_equal(frame.positions, far.positions("large", frame.step or 0, n_atoms))
        slow.close()
        hub.wait(LONG)
        assert hub.clients[0].n_lost == 0


RUBBISH = {
    "a browser": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "zeros": bytes(64),
    "nothing": b"",
    "half a header": bytes([0, 0, 0]),
    "forces on more atoms than there are": bytes([0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 6, 127, 255, 255, 255]) + bytes(64),
    "forces on fewer than none": bytes([0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 6, 255, 255, 255, 255]) + bytes(64),
    "a message that servers send": bytes([0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 50]) + bytes(600),
    "a kind that there is not": bytes([0, 0, 0, 3, 0, 0, 0, 0, 9, 9, 9, 9, 0, 0, 0, 0]),
    "a line without end": b"MDREEL " + bytes(100_000),
}


@pytest.mark.parametrize("rubbish", RUBBISH.values(), ids=RUBBISH)
def test_client_that_talks_nonsense_is_left_and_others_are_not(producer: Producer, rubbish: bytes) -> None:
    with Hub("run", ANYWHERE) as hub:
        good = ImdClient(hub.address).go()
        producer.await_consumers(1, LONG)
        bad = ImdClient(hub.address)
        publish(producer, range(5))
        bad.socket.sendall(rubbish)
        if len(rubbish) < 8:
            bad.socket.shutdown(socket.SHUT_WR)
        with pytest.raises((EOFError, ConnectionError)):
            bad.read(1 << 30)  # there is an end
        thread, found = in_background(good.rest)
        publish(producer, range(5, 20))
        producer.end()
        thread.join()
        check(found, range(20))
        good.close()
        assert hub.wait(LONG) == "finished"
        assert max(client.n_sent for client in hub.clients) == 20
        bad.close()


def test_forces_of_a_client_are_read_over_and_it_is_served(producer: Producer) -> None:
    with Hub("run", ANYWHERE) as hub, ImdClient(hub.address).go() as client:
        client.socket.sendall(bytes([0, 0, 0, 6, 0, 0, 0, 2]) + bytes(32))
        client.say(imd_client.RATE, 20)
        until(lambda: producer.n_consumers == 1)
        client.say(imd_client.PAUSE)
        until(lambda: [each.state for each in hub.clients] == ["paused"])  # the rest was heard as well
        client.say(imd_client.RESUME)
        publish(producer, range(8))
        producer.end()
        assert [frame.step for frame in client.rest()] == [0, 20, 40, 60]


@pytest.mark.parametrize(("version", "resume"), [(3, imd_client.RESUME), (2, imd_client.PAUSE)])
def test_client_that_pauses_is_alone_with_that_and_gets_all_when_it_goes_on(
    producer: Producer, version: int, resume: int
) -> None:
    with Hub("run", ANYWHERE, version=version) as hub:
        pausing, other = ImdClient(hub.address).go(), ImdClient(hub.address).go()
        producer.await_consumers(2, LONG)
        pausing.say(imd_client.PAUSE)
        if version == 3:
            pausing.say(imd_client.PAUSE)  # says the same
        until(lambda: "paused" in [each.state for each in hub.clients])
        publish(producer, range(30))
        for frame in range(30):
            received = other.next()
            assert received is not None
            assert received.step == 10 * frame
        pausing.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            pausing.socket.recv(1)
        pausing.socket.settimeout(LONG)
        pausing.say(resume)
        producer.end()
        assert [frame.step for frame in pausing.rest()] == [10 * i for i in range(30)]
        pausing.close()
        other.close()


def test_client_comes_again_as_often_as_it_likes(producer: Producer) -> None:
    publish(producer, range(4))
    with Hub("run", ANYWHERE) as hub:
        for farewell in (imd_client.DISCONNECT, imd_client.KILL, None):
            with ImdClient(hub.address).go() as client:
                for frame in range(4):
                    received = client.next()
                    assert received is not None
                    assert received.step == 10 * frame
                if farewell is not None:
                    client.say(farewell)
                    assert client.next() is None
    assert Status.read("run").state == "running"


def test_clients_see_the_end_when_the_producer_is_killed(said: list[str]) -> None:
    with far.start(far.role("produce", 6, N_ATOMS, "hang", "run")) as process:
        assert far.line_of(process) == "open"
        with Hub("run", ANYWHERE, report=said.append) as hub, ImdClient(hub.address).go() as client:
            until(lambda: Status.read("run").n_consumers == 1)
            assert process.stdin is not None
            process.stdin.write("go\n")
            assert far.line_of(process) == "published"
            process.kill()
            assert [frame.step for frame in client.rest()] == [10 * i for i in range(6)]
            client.close()
            assert hub.wait(LONG) == "lost"
    assert any("the producer was lost" in line for line in said)


def test_lost_producer_is_waited_for_where_that_is_wanted() -> None:
    with far.start(far.role("produce", 6, N_ATOMS, "hang", "run")) as process:
        assert far.line_of(process) == "open"
        with Hub("run", ANYWHERE, restart=LONG) as hub, ImdClient(hub.address).go() as client:
            until(lambda: Status.read("run").n_consumers == 1)
            assert process.stdin is not None
            process.stdin.write("go\n")
            assert far.line_of(process) == "published"
            process.kill()
            process.wait()
            with Producer("run", N_ATOMS, resume_step=40) as producer:
                publish(producer, range(4, 9))
            assert [frame.step for frame in client.rest()] == [10 * i for i in range(9)]
            client.close()
            assert hub.wait(LONG) == "finished"
