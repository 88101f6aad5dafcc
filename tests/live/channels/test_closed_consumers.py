"""Tests that a closed consumer stays closed."""

import threading
from collections.abc import Callable

import numpy as np
import pytest

from growing_file import N_ATOMS, positions
from mdreel.errors import MismatchError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.producers.producer import Producer
from publishing import publish

USES: dict[str, Callable[[Consumer], object]] = {
    "open": Consumer.open,
    "next": Consumer.next,
    "iterate": list,
    "enter": Consumer.__enter__,
    "commit": Consumer.commit,
    "committed": lambda consumer: consumer.committed,
    "members": Consumer.members,
    "manifest": lambda consumer: consumer.manifest,
    "missed": lambda consumer: consumer.missed,
    "missed_at_start": lambda consumer: consumer.missed_at_start,
    "end": lambda consumer: consumer.end,
}


def test_every_method_and_property_is_tried() -> None:
    public = {name for name in vars(Consumer) if not name.startswith("_")}
    assert public - {"close"} <= set(USES)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("joined", [True, False])
def test_closed_consumer_refuses_all_and_never_joins_again(use: str, joined: bool) -> None:
    with Producer("run", N_ATOMS, n_slots=4, timeout=0) as producer:
        consumer = Consumer("run")
        if joined:
            consumer.open()
        consumer.close()
        consumer.close()
        for _ in range(2):
            with pytest.raises(MismatchError, match="run: the consumer is closed"):
                USES[use](consumer)
        assert producer.n_consumers == 0
        for frame in range(20):
            publish(producer, frame)


def test_close_on_another_thread_wakes_one_that_waits() -> None:
    with Producer("run", N_ATOMS) as producer:
        consumer = Consumer("run").open()
        publish(producer, 0)
        caught: list[BaseException] = []
        has_first = threading.Event()

        def wait() -> None:
            try:
                for _ in consumer:
                    has_first.set()
            except MismatchError as error:
                caught.append(error)

        waiting = threading.Thread(target=wait)
        waiting.start()
        assert has_first.wait(20)
        consumer.close()
        waiting.join(20)
        assert not waiting.is_alive()
        assert isinstance(caught[0], MismatchError)
        assert "the consumer is closed" in str(caught[0])
        assert producer.n_consumers == 0


def test_arrays_outlive_their_consumer_and_hold_up_nobody() -> None:
    with Producer("run", N_ATOMS, n_slots=4, timeout=0) as producer:
        publish(producer, 0)
        with Consumer("run") as consumer:
            frame = consumer.next()
            assert frame is not None
            array = frame.positions
        for number in range(1, 30):
            publish(producer, number)
        assert producer.n_consumers == 0
        for values in (array, frame.positions):
            np.testing.assert_array_equal(values, positions(0))
