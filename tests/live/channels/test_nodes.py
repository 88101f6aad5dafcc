"""Tests of servers and relays at loopback addresses."""

import ctypes
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import far_channels as far
from mdreel.errors import MismatchError, StreamError, StreamTimeoutError
from mdreel.live.channels.channel import channel
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.staging import Staging
from mdreel.live.channels.status import Status
from mdreel.live.nodes import Relay, Security, Server
from mdreel.live.producers.producer import Producer

pytest.importorskip("zenoh")

N_ATOMS = 50
LONG = 30.0


def publish(producer: Producer, frames: range) -> None:
    for frame in frames:
        producer.publish(far.positions("run", frame, N_ATOMS), 10 * frame, 0.5 * frame, far.BOX)


def steps(consumer: Consumer, n: int) -> list[int]:
    found = []
    for _ in range(n):
        frame = consumer.next(timeout=LONG)
        assert frame is not None
        found.append(frame.step // 10)
    return found


def until(is_so: object, seconds: float = LONG) -> None:
    end = time.monotonic() + seconds
    while not is_so():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("n_atoms", [N_ATOMS, 200_000])
def test_frames_arrive_as_they_are_and_once_for_three_consumers(endpoint: str, n_atoms: int) -> None:
    producer = Producer("run", n_atoms, n_slots=4).open()
    with Server("run", endpoint) as server, Relay(endpoint, "run", "there", n_slots=4) as relay:
        found: list[list[tuple[int, int, float, int]]] = [[], [], []]
        consumers = [Consumer("there", timeout=LONG).open() for _ in found]

        def look(consumer: Consumer, seen: list[tuple[int, int, float, int]]) -> None:
            for frame in consumer:
                assert frame.positions is not None
                assert np.array_equal(frame.positions, far.positions("run", frame.sequence, n_atoms))
                assert np.array_equal(frame.box, far.BOX)
                seen.append((frame.sequence, frame.step, frame.time, frame.epoch))

        threads = [threading.Thread(target=look, args=each) for each in zip(consumers, found, strict=True)]
        for thread in threads:
            thread.start()
        for frame in range(30):
            producer.publish(far.positions("run", frame, n_atoms), 10 * frame, 0.5 * frame, far.BOX)
        producer.end()
        for thread in threads:
            thread.join()
        relay.wait(LONG)
        until(lambda: server.relays[0].n_taken == 30)
    assert found == [[(frame, 10 * frame, 0.5 * frame, 0) for frame in range(30)]] * 3
    assert [consumer.end for consumer in consumers] == ["finished"] * 3
    assert (server.relays[0].n_frames, server.relays[0].n_again) == (30, 0)
    assert 30 * 12 * n_atoms < server.relays[0].n_bytes < 30 * (12 * n_atoms + 4096)
    assert relay.statistics == (30, 0, 0, 1)
    assert Status.read("there").manifest == Status.read("run").manifest


@pytest.mark.parametrize(("how", "reason"), [("stopped", None), ("failed", "no luck")])
def test_end_is_that_of_the_simulation(endpoint: str, how: str, reason: str | None) -> None:
    producer = Producer("run", N_ATOMS).open()
    with Server("run", endpoint), Relay(endpoint, "run", "there") as relay:
        publish(producer, range(3))
        producer.end(how, reason or "")
        relay.wait(LONG)
    status = Status.read("there")
    assert (status.state, status.reason, status.n_published) == (how, reason, 3)


def test_slow_consumer_holds_the_simulation_of_the_other_node(endpoint: str) -> None:
    producer = Producer("run", N_ATOMS, n_slots=4, timeout=0.5).open()
    with Server("run", endpoint), Relay(endpoint, "run", "there", n_slots=4):
        consumer = Consumer("there").open()
        with pytest.raises(StreamTimeoutError, match="no room"):
            publish(producer, range(100))
        sequence = Status.read("run").n_published
        assert 4 < sequence <= 12
        assert steps(consumer, sequence) == list(range(sequence))
        publish(producer, range(sequence, sequence + 2))
        assert steps(consumer, 2) == [sequence, sequence + 1]


def test_late_relay_gets_what_is_staged_and_keeps_it_for_late_consumers(endpoint: str, tmp_path: Path) -> None:
    producer = Producer("run", N_ATOMS, n_slots=4, staging=Staging(tmp_path / "staging")).open()
    publish(producer, range(40))
    with (
        Server("run", endpoint),
        Relay(endpoint, "run", "there", n_slots=4, staging=Staging(tmp_path / "far")) as relay,
    ):
        publish(producer, range(40, 50))
        producer.end()
        relay.wait(LONG)
    assert steps(Consumer("there").open(), 50) == list(range(50))


def test_frames_that_nobody_has_any_more_are_missed_here_too(endpoint: str) -> None:
    producer = Producer("run", N_ATOMS, n_slots=4).open()
    publish(producer, range(3))
    with Server("run", endpoint, patience=0.0) as server, Relay(endpoint, "run", "there") as relay:
        consumer = Consumer("there").open()
        assert steps(consumer, 3) == [0, 1, 2]
        until(lambda: server.relays[0].n_taken == 3)
        server.close()
        publish(producer, range(3, 20))
        with Server("run", endpoint):
            assert steps(consumer, 4) == [16, 17, 18, 19]
            assert consumer.missed == 13
            assert relay.statistics.n_missed == 13


def test_producer_that_was_killed_is_lost_there_too_and_its_successor_goes_on(endpoint: str) -> None:
    with Server("run", endpoint, report=print):
        with far.start(far.role("produce", 6, N_ATOMS, "hang", "run")) as process:
            assert far.line_of(process) == "open"
            relay = Relay(endpoint, "run", "there", report=print).start()
            consumer = Consumer("there", timeout=LONG).open()
            assert process.stdin is not None
            process.stdin.write("go\n")
            assert steps(consumer, 6) == list(range(6))
            process.kill()
            killed = time.monotonic()
            said = rf"the producer was lost: the server, process {os.getpid()} .* that the simulation there has died"
            with pytest.raises(StreamError, match=said):
                consumer.next()
            assert time.monotonic() - killed < 10  # 1 s is meant, but machines are busy
        assert Status.read("there").state == "lost"
        patient = Consumer("there", timeout=LONG, restart=LONG).open()
        assert steps(patient, 6) == list(range(6))
        with Producer("run", N_ATOMS, resume_step=40) as producer:
            publish(producer, range(4, 9))
        assert steps(patient, 3) == [6, 7, 8]
        relay.wait(LONG)
        assert patient.next(timeout=LONG) is None
    relay.close()
    assert (Status.read("there").state, Status.read("there").epoch) == ("finished", 1)


def test_new_run_is_relayed_behind_the_one_before(endpoint: str) -> None:
    for _ in range(2):
        producer = Producer("run", N_ATOMS).open()
        with Server("run", endpoint), Relay(endpoint, "run", "there") as relay:
            publish(producer, range(3))
            producer.end()
            relay.wait(LONG)
        assert [frame.step for frame in Consumer("there").open()] == [0, 10, 20]


def test_relay_that_was_killed_goes_on_where_it_was(endpoint: str) -> None:
    producer = Producer("run", N_ATOMS, n_slots=8).open()
    with Server("run", endpoint) as server:
        consumer = None
        for first in (0, 5, 10):
            with far.program("relay", endpoint, "run", "--as", "there", "--slots", 16) as process:
                far.says(process, "joined")
                consumer = consumer or Consumer("there", timeout=LONG, restart=LONG).open()
                publish(producer, range(first, first + 5))
                assert steps(consumer, 5) == list(range(first, first + 5))
                publish(producer, range(first + 5, first + 5))
                process.kill()
        with Relay(endpoint, "run", "there", n_slots=16) as relay:
            publish(producer, range(15, 20))
            producer.end()
            relay.wait(LONG)
        assert consumer is not None
        assert steps(consumer, 5) == list(range(15, 20))
        assert consumer.next() is None
        assert len(server.relays) == 1
    assert consumer.missed == 0


def test_server_that_was_killed_is_waited_for(endpoint: str, tmp_path: Path) -> None:
    producer = Producer("run", N_ATOMS, n_slots=8, staging=Staging(tmp_path / "staging")).open()
    with far.program("serve", "run", "--listen", endpoint) as server:
        far.says(server, "served at")
        relay = Relay(endpoint, "run", "there", wait=LONG).start()
        consumer = Consumer("there", timeout=LONG).open()
        publish(producer, range(10))
        assert steps(consumer, 10) == list(range(10))
        server.kill()
    publish(producer, range(10, 40))
    with pytest.raises(StreamTimeoutError):
        consumer.next(timeout=0.2)
    with far.program("serve", "run", "--listen", endpoint) as server:
        assert steps(consumer, 30) == list(range(10, 40))
        producer.end()
        relay.wait(LONG)
        assert consumer.next() is None
    assert relay.statistics[:3] == (40, 0, 0)
    relay.close()


def test_server_of_which_nothing_is_heard_is_lost_after_some_time_and_may_come_back(endpoint: str) -> None:
    producer = Producer("run", N_ATOMS).open()
    with Server("run", endpoint):
        relay = Relay(endpoint, "run", "there", patience=0.5).start()
        consumer = Consumer("there", timeout=LONG).open()
    with pytest.raises(StreamError, match="lost"):
        consumer.next()
    with Server("run", endpoint):
        until(lambda: Status.read("there").state == "running")
        publish(producer, range(2))
        assert steps(consumer, 2) == [0, 1]
    relay.close()


def test_second_relay_on_a_node_is_refused_and_so_is_another_channel(endpoint: str, folder: Path) -> None:
    producer = Producer("run", N_ATOMS).open()
    with Server(["run", "absent"], endpoint), Relay(endpoint, "run", "there"):
        with pytest.raises(StreamError, match="there: the channel has a running producer"):
            Relay(endpoint, "run", "there").start()
        with pytest.raises(FileNotFoundError, match="no such channel on that node"):
            Relay(endpoint, "absent", "elsewhere").start()
        with pytest.raises(StreamTimeoutError, match="no server answers for this channel"):
            Relay(endpoint, "unknown", "elsewhere").start()
    producer.end()
    channel("run").remove()
    with Producer("run", N_ATOMS), Server("run", endpoint), pytest.raises(MismatchError, match="was created again"):
        Relay(endpoint, "run", "there").start()
    with Producer("run2", N_ATOMS), Server("run2", endpoint), pytest.raises(MismatchError, match="allow more memory"):
        Relay(endpoint, "run2", "there2", memory="8K").start()
    assert not (folder / "there2").exists()


def test_relay_waits_for_server_and_channel(endpoint: str) -> None:
    with pytest.raises(StreamTimeoutError, match="no server answers"):
        Relay(endpoint, "run", "there").start()
    relay = Relay(endpoint, "run", "there", wait=LONG)
    starting = threading.Thread(target=relay.start)
    starting.start()
    with Server("run", endpoint):
        producer = Producer("run", N_ATOMS).open()
        starting.join()
        publish(producer, range(2))
        producer.end()
        relay.wait(LONG)
    assert Status.read("there").n_published == 2


def test_rubbish_is_told_and_does_not_stop_the_server(endpoint: str) -> None:
    import zenoh

    from mdreel.live.nodes.link import connect_to

    producer = Producer("run", N_ATOMS).open()
    with Server("run", endpoint) as server, Relay(endpoint, "run", "there") as relay:
        with connect_to(endpoint, Security(), 0) as stranger:
            for rubbish in (b"", b"rubbish", bytes(100), b"MDRN\x01\x05" + b"\xff" * 40):
                stranger.put(f"mdreel/1/run/from/{relay._local.relay}", rubbish)
                stranger.put(f"mdreel/1/run/to/{relay._local.relay}", rubbish)
            replies = list(stranger.get("mdreel/1/run/join", payload=b"rubbish", timeout=10.0))
            assert [reply.ok is None for reply in replies] == [True]
            assert isinstance(replies[0], zenoh.Reply)
        until(lambda: server.n_refused >= 5 and relay.statistics.n_refused >= 1)
        publish(producer, range(5))
        producer.end()
        relay.wait(LONG)
    assert Status.read("there").n_published == 5
    assert relay.statistics.n_missed == 0


def test_ctrl_c_ends_server_and_relay(endpoint: str) -> None:
    with Producer("run", N_ATOMS), far.program("serve", "run", "--listen", endpoint) as server:
        far.says(server, "served at")
        with far.program("relay", endpoint, "run", "--as", "there") as relay:
            far.says(relay, "joined")
            relay.send_signal(signal.SIGINT)
            assert relay.wait(LONG) == 130
        assert Status.read("there").state == "lost"
        server.send_signal(signal.SIGTERM)
        assert server.wait(LONG) == 143


def test_ctrl_c_that_meets_a_thread_of_zenoh_ends_the_server(endpoint: str) -> None:
    with far.program("serve", "run", "--listen", endpoint) as server:
        far.says(server, "served at")
        others = {int(thread) for thread in os.listdir(f"/proc/{server.pid}/task")} - {server.pid}
        time.sleep(1)  # by then its first thread waits
        assert ctypes.CDLL(None).tgkill(server.pid, max(others), signal.SIGINT) == 0
        assert server.wait(LONG) == 130
