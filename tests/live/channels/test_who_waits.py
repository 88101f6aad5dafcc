"""Tests that whoever waits is told for which process, and since when."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import MDAnalysis
import pytest

import mdreel
from growing_file import N_ATOMS
from mdreel.errors import MismatchError, SlowConsumerWarning, StreamError, StreamTimeoutError
from mdreel.live.channels.channel import Channel
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.staging import Staging
from mdreel.live.channels.status import Status
from mdreel.live.producers.producer import Producer
from mdreel.live.watch.snapshot_json import to_json
from mdreel.live.watch.text_lines import lines
from mdreel.live.watch.watcher import Watcher
from publishing import publish, running, said

IDLE = """
import signal, sys
from mdreel.live.channels.consumer import Consumer
with Consumer("run", policy=sys.argv[1]):
    print("joined", flush=True)
    signal.pause()
"""
HOST = socket.gethostname()


@contextmanager
def idle_consumer(policy: str = "every") -> "Iterator[subprocess.Popen[str]]":
    """A process that joins the channel and takes no frame."""
    with running([sys.executable, "-c", IDLE, policy]) as process:
        assert said(process) == "joined"
        yield process
        process.kill()


def name_of(process: "subprocess.Popen[str]") -> str:
    """What messages call the process."""
    return rf"process {process.pid} \(\S+ -c import signal, sys .*\) on {HOST}"


def fill(producer: Producer, n_frames: int = 4) -> None:
    for frame in range(n_frames):
        publish(producer, frame)


def test_producer_that_waits_names_the_consumer_once_and_says_what_would_help() -> None:
    settings = {"n_slots": 4, "timeout": 0.2, "warn_after": 0.05}
    with Producer("run", N_ATOMS, **settings) as producer, idle_consumer() as slow:
        producer.await_consumers(1, timeout=20)
        fill(producer)
        advice = r'policy="latest".*staging and full="spill".*full="drop-oldest"'
        found = rf"run: the simulation has waited 0\.\d s for {name_of(slow)}; .*{advice}"
        expected = rf"no room for frame 4: in 0\.\d s, {name_of(slow)} has not taken the frame 4 before it"
        with pytest.warns(SlowConsumerWarning, match=found), pytest.raises(StreamTimeoutError, match=expected):
            publish(producer, 4)
        with pytest.raises(StreamTimeoutError, match=expected):  # and no warning, which would be an error
            publish(producer, 4)


@pytest.mark.parametrize("how", ["in time", "drop-oldest", "spill", "latest"])
def test_producer_that_waits_for_nobody_says_nothing(how: str, tmp_path: Path) -> None:
    staging = Staging(tmp_path / "staging") if how == "spill" else None
    full = how if how in ("drop-oldest", "spill") else "block"
    producer = Producer("run", N_ATOMS, n_slots=4, full=full, staging=staging, warn_after=0)
    with producer, idle_consumer("latest" if how == "latest" else "every"), warnings.catch_warnings():
        warnings.simplefilter("error")
        fill(producer, 4 if how == "in time" else 9)
        assert Status.read("run").waits is None


def test_time_after_which_a_producer_warns_is_checked() -> None:
    with pytest.raises(MismatchError, match="warn_after must be a time in seconds, 0 or more, not -1"):
        Producer("run", N_ATOMS, warn_after=-1)


@pytest.fixture
def waiting() -> "Iterator[subprocess.Popen[str]]":
    """A consumer for which a producer waits, on another thread, until the test has ended."""
    with Producer("run", N_ATOMS, n_slots=4, warn_after=float("inf")) as producer, idle_consumer() as slow:
        producer.await_consumers(1, timeout=20)
        fill(producer)
        thread = threading.Thread(target=publish, args=(producer, 4))
        thread.start()
        while Status.read("run").waits is None:
            time.sleep(0.001)
        yield slow
        slow.kill()
        thread.join(20)
        assert Status.read("run").waits is None


def test_status_and_watch_name_who_is_waited_for(waiting: "subprocess.Popen[str]") -> None:
    status = Status.read("run")
    assert status.producer is not None
    assert (status.producer.process, status.producer.host) == (os.getpid(), HOST)
    (consumer,) = status.consumers
    assert consumer.process is not None
    assert (consumer.process.process, consumer.process.host) == (waiting.pid, HOST)
    assert (consumer.lag, consumer.takes_latest, consumer.is_waited_for) == (4, False, True)
    assert abs(time.time() - consumer.process.joined) < 60
    (seen,) = Watcher(["run"]).take_snapshots()
    assert seen.reason is not None
    assert f"for process {waiting.pid} (" in seen.reason
    assert f"for process {waiting.pid} (" in lines([seen], 0.0)[0]
    facts = json.loads(json.dumps(to_json(seen)))
    assert facts["waits"] >= 0
    assert facts["consumers"][0]["process"] == waiting.pid


def test_channels_names_who_is_waited_for(waiting: "subprocess.Popen[str]") -> None:
    command = [sys.executable, "-m", "mdreel.cli", "channels", "run", "--seconds", "0"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert re.search(rf"^run: the simulation has waited [0-9.]+ s for process {waiting.pid} \(", shown, re.MULTILINE)
    assert f"run: producer, process {os.getpid()} (" in shown
    assert f") on {HOST}, lag 4\n" in shown
    (facts,) = json.loads(subprocess.run([*command, "--json"], capture_output=True, check=True).stdout)
    assert facts["consumers"][0]["process"]["process"] == waiting.pid
    assert facts["waits"] > 0


def test_consumer_that_waits_in_vain_names_the_producer() -> None:
    name = rf"the producer, process {os.getpid()} \(.*\) on {HOST}, is running"
    with Producer("run", N_ATOMS), Consumer("run") as consumer:
        with pytest.raises(StreamTimeoutError, match=f"no frame came within 0.01 s; {name}"):
            consumer.next(timeout=0.01)
        atoms = MDAnalysis.Universe.empty(N_ATOMS, trajectory=True).atoms
        with pytest.raises(StreamTimeoutError, match=f"nothing came for 0.01 s; {name}"):
            mdreel.RMSD(atoms).run(source=Channel("run", timeout=0.01))


def test_wait_for_consumers_names_those_that_have_joined() -> None:
    with Producer("run", N_ATOMS) as producer, idle_consumer() as there:
        expected = rf"1 of 2 consumers joined within 0.05 s: {name_of(there)}"
        with pytest.raises(StreamTimeoutError, match=expected):
            producer.await_consumers(2, timeout=0.05)


def test_refusals_name_the_running_producer() -> None:
    name = rf"process {os.getpid()} \(.*\) on {HOST}"
    with Producer("run", N_ATOMS):
        with pytest.raises(StreamError, match=f"the channel has a running producer: {name}"):
            Producer("run", N_ATOMS).open()
        with pytest.raises(StreamError, match=f"the channel has a running producer, {name}; end the simulation"):
            Channel("run").remove()


def test_text_of_another_process_does_not_reach_the_terminal() -> None:
    code = "# \x1b[31m" + IDLE
    with Producer("run", N_ATOMS), running([sys.executable, "-c", code, "every"]) as process:
        assert said(process) == "joined"
        (consumer,) = Status.read("run").consumers
        assert "\x1b" not in str(consumer)
        process.kill()


def test_channel_without_records_of_processes_works() -> None:
    with Producer("run", N_ATOMS) as producer, Consumer("run").open() as consumer:
        (producer.path / "processes").unlink()
        publish(producer, 0)
        assert consumer.next(timeout=20) is not None
        status = Status.read("run")
        assert (status.producer, [one.process for one in status.consumers]) == (None, [None])
        assert str(status.consumers[0]) == "an unknown process"
