"""Tests of relays whose link to the server is cut again and again."""

import os
import shutil
import threading
from collections.abc import Callable

import numpy as np
import pytest

import far_channels as far
from cut_link import CutLink
from mdreel.errors import MismatchError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.directory import channel_path
from mdreel.live.nodes import Relay, Server, relay_client
from mdreel.live.nodes.messages import ChannelDescription
from mdreel.live.producers.producer import Producer

pytest.importorskip("zenoh")

N_ATOMS = 50
LONG = 30.0
IS_SLOW = bool(os.environ.get("MDREEL_SLOW_TESTS"))


class Progress:
    """Number of the frames that a consumer has taken, for which a test waits."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self._changed = threading.Condition()

    def take(self, consumer: Consumer) -> None:
        for frame in consumer:
            assert np.array_equal(frame.positions, far.positions("run", frame.sequence, N_ATOMS))
            with self._changed:
                self.seen.append(frame.sequence)
                self._changed.notify_all()

    def wait_for(self, n: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.seen) >= n, LONG), f"{len(self.seen)} frames instead of {n}"


def relay_through_cuts(
    endpoint: str, n_frames: int, cut: Callable[[CutLink, Progress], None], pause: float = 0.0
) -> None:
    """Relay frames through a link, with a pause, s, after each, and compare what arrives with what was published."""
    producer = Producer("run", N_ATOMS, n_slots=8).open()
    told: list[str] = []
    pausing = threading.Event()
    server = Server("run", endpoint, without_authentication=True, patience=LONG)
    with (
        server,
        CutLink(endpoint) as link,
        Relay(link.endpoint, "run", "there", wait=LONG, report=told.append) as relay,
    ):
        consumer = Consumer("there", timeout=LONG).open()
        progress = Progress()
        reading = threading.Thread(target=progress.take, args=(consumer,))
        reading.start()

        def simulate() -> None:
            for frame in range(n_frames):
                producer.publish(far.positions("run", frame, N_ATOMS), 10 * frame, 0.5 * frame, far.BOX)
                pausing.wait(pause)
            producer.end()

        simulation = threading.Thread(target=simulate, daemon=True)
        simulation.start()
        cut(link, progress)
        link.open()
        relay.wait(LONG)
        simulation.join(LONG)
        reading.join(LONG)
        assert progress.seen == list(range(n_frames)), told
        assert consumer.end == "finished"
        assert relay.statistics.n_missed == 0


def test_relay_survives_links_that_close_again_and_again(endpoint: str) -> None:
    def cut(link: CutLink, progress: Progress) -> None:
        for n_seen in (50, 100, 150):
            progress.wait_for(n_seen)
            link.close()
            link.open()

    relay_through_cuts(endpoint, 400, cut)


def test_relay_survives_a_join_that_gets_no_answer(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut the link while the relay waits for the answer to its join; Zenoh then answers with an error of its own."""
    monkeypatch.setattr(relay_client, "SILENCE_SECONDS", 0.3)
    monkeypatch.setattr(relay_client, "_ANSWER_SECONDS", 0.2)
    n_queries = threading.Semaphore(0)
    query = relay_client.RelayClient._query

    def count(client: relay_client.RelayClient, question: bytes) -> ChannelDescription:
        try:
            return query(client, question)
        finally:
            n_queries.release()

    def cut(link: CutLink, progress: Progress) -> None:
        for n_seen in (50, 100):
            progress.wait_for(n_seen)
            monkeypatch.setattr(relay_client.RelayClient, "_query", count)
            link.silence()
            for _ in range(2):
                assert n_queries.acquire(timeout=LONG)
            link.open()

    relay_through_cuts(endpoint, 200, cut)


def test_relay_is_refused_at_once_when_the_channel_was_created_again(
    endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay_client, "SILENCE_SECONDS", 0.3)
    Producer("run", N_ATOMS).open()
    with CutLink(endpoint) as link:
        with Server("run", endpoint, without_authentication=True):
            relay = Relay(link.endpoint, "run", "there", wait=LONG, patience=LONG).start()
        link.close()
        shutil.rmtree(channel_path("run"))
        Producer("run", N_ATOMS).open()
        link.open()
        with (
            Server("run", endpoint, without_authentication=True),
            pytest.raises(MismatchError, match="was created again"),
        ):
            relay.wait(LONG)


@pytest.mark.skipif(not IS_SLOW, reason="takes minutes; set MDREEL_SLOW_TESTS=1")
@pytest.mark.parametrize("seed", range(6))
def test_relay_survives_random_cuts(endpoint: str, seed: int) -> None:
    random = np.random.default_rng(seed)

    def cut(link: CutLink, progress: Progress) -> None:
        pause = threading.Event()
        for _ in range(12):
            progress.wait_for(min(2000, len(progress.seen) + int(random.integers(0, 20))))
            pause.wait(random.uniform(0.0, 1.5))
            (link.close, link.silence)[int(random.integers(2))]()
            pause.wait(random.uniform(0.0, 6.0))
            link.open()

    relay_through_cuts(endpoint, 2000, cut, pause=0.01)
