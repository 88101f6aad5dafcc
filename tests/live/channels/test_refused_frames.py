"""Tests that producers refuse what would confuse consumers, and say so in plain words."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from growing_file import N_ATOMS, positions
from mdreel._core import channel_most_consumers
from mdreel.errors import MismatchError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.staging import Staging
from mdreel.live.producers.producer import Producer
from publishing import publish


@pytest.mark.parametrize("step", [8.5, 8.0, float("nan"), True, np.bool_(True), np.float64(8), "8", None])
def test_step_that_is_no_integer_is_refused(step: object) -> None:
    with Producer("run", N_ATOMS) as producer:
        with pytest.raises(MismatchError, match="the step must be an integer, not"):
            producer.publish(positions(0), step=step, time=0.0)
        assert producer.publish(positions(0), step=np.int64(8), time=0.0).sequence == 0


@pytest.mark.parametrize("step", [10, 9, -1])
def test_step_that_does_not_increase_is_refused(step: int) -> None:
    with Producer("run", N_ATOMS) as producer:
        publish(producer, 1)
        with pytest.raises(MismatchError, match=f"step {step} came after step 10: the steps of a run must increase"):
            producer.publish(positions(0), step=step, time=0.0)
        assert publish(producer, 2) == 1
    with Producer("run", N_ATOMS) as producer:
        publish(producer, 0)  # a new run


@pytest.mark.parametrize(
    ("there", "given", "words"),
    [
        ({"n_atoms": 1000}, {"n_atoms": 500}, "the channel has 1,000 atoms, you gave 500 atoms"),
        (
            {},
            {"velocities": True},
            "you gave positions as float32, velocities as float32",
        ),
        ({}, {"dtype": "xtc"}, "the channel has the sections positions as float32, you gave positions as xtc"),
        ({"energies": ["a", "b"]}, {"energies": ["a"]}, "the channel has the energies a, b, you gave a"),
        ({"time_step": 0.002}, {"time_step": 0.004}, "the channel has a time step of 0.002 ps, you gave 0.004 ps"),
        ({"stride": 5}, {"stride": 10}, "the channel has a stride of 5 steps, you gave 10 steps"),
        ({}, {"topology_hash": b"1" * 32}, "a topology with the hash 00000000, you gave 31313131"),
        ({"n_slots": 4}, {"n_slots": 8}, "the channel has 4 slots, you gave 8"),
    ],
)
def test_channel_that_differs_is_refused_in_plain_words(
    there: dict[str, object], given: dict[str, object], words: str
) -> None:
    with Producer(**{"channel": "run", "n_atoms": N_ATOMS, "n_slots": 4, **there}):
        pass
    with pytest.raises(MismatchError) as caught:
        Producer(**{"channel": "run", "n_atoms": N_ATOMS, "n_slots": 4, **there, **given}).open()
    assert words in str(caught.value)
    assert not {"{", "Some(", "Manifest"} & set(str(caught.value).split())


def test_two_hundred_consumers_get_every_frame_and_too_many_are_refused_at_once() -> None:
    with Producer("run", N_ATOMS, n_slots=4) as producer:
        consumers = [Consumer("run").open() for _ in range(200)]
        producer.await_consumers(200, timeout=20)
        publish(producer, 0)
        for consumer in consumers:
            frame = consumer.next(timeout=20)
            assert frame is not None
            assert frame.step == 0
        with pytest.raises(MismatchError, match=r"at most 1,024 consumers, so that it cannot wait for 1,025"):
            producer.await_consumers(channel_most_consumers() + 1)
        for consumer in consumers:
            consumer.close()
        assert producer.n_consumers == 0


def test_staging_without_its_channel_is_not_hidden_by_a_new_run(tmp_path: Path) -> None:
    staging = Staging(tmp_path / "staging")
    with Producer(tmp_path / "run", N_ATOMS, staging=staging) as producer:
        for frame in range(3):
            publish(producer, frame)
    for path in (tmp_path / "run").iterdir():
        path.unlink()
    with pytest.raises(MismatchError, match=r"has 3 frames of a channel that is gone.*resume_step.*another staging"):
        Producer(tmp_path / "run", N_ATOMS, staging=staging).open()
    with Producer(tmp_path / "run", N_ATOMS, staging=staging, resume_step=30) as producer:
        publish(producer, 3)
    with Consumer(tmp_path / "run") as consumer:
        assert [frame.step for frame in consumer] == [0, 10, 20, 30]


FORKED = """
import os, sys
import numpy as np
from mdreel.live.channels.consumer import Consumer
from mdreel.live.producers.producer import Producer
with Producer("run", 3) as producer, Consumer("run") as consumer:
    child = os.fork()
    if child == 0:
        sys.exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    producer.publish(np.zeros((3, 3)), 0, 0.0)
    print(consumer.next().step)
"""


def test_exit_in_a_forked_child_is_quiet_and_leaves_the_channel_to_the_parent() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, env=os.environ, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n0\n", "")
