"""Tests of producers: cells, and the end of a program by SIGTERM."""

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from MDAnalysis.lib.mdamath import triclinic_vectors

import mdreel
from mdreel.errors import MismatchError
from mdreel.live.channels.status import Status

POSITIONS = np.zeros((3, 3), np.float32)


@pytest.mark.parametrize("dimensions", [[10.0, 11.0, 12.0, 90.0, 90.0, 90.0], [10.0, 11.0, 12.0, 80.0, 95.0, 110.0]])
def test_cell_may_be_lengths_and_angles(tmp_path: Path, dimensions: list[float]) -> None:
    expected = triclinic_vectors(dimensions, np.float64)
    with mdreel.live.Producer(tmp_path / "run1", 3) as producer:
        producer.publish(POSITIONS, 0, 0.0, dimensions)
        producer.publish(POSITIONS, 1, 0.1, np.array(dimensions, np.float32))
        producer.publish(POSITIONS, 2, 0.2, expected)
    with mdreel.live.Consumer(tmp_path / "run1") as frames:
        first, second, third = (frame.copy() for frame in frames)
    np.testing.assert_array_equal(first.box, expected)
    np.testing.assert_allclose(second.box, expected, rtol=1e-6, atol=1e-5)
    np.testing.assert_array_equal(third.box, expected)


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        ([10.0, 10.0, 10.0], r"expected box as vectors of shape \(3, 3\), or three lengths and three angles"),
        ([[10.0] * 6], r"got the shape \(1, 6\)"),
        ([10.0, 10.0, 10.0, 90.0, 90.0, 0.0], "no cell has the lengths .* give box=None if there is no cell"),
        ([0.0, 0.0, 0.0, 0.0, 0.0, 0.0], "give box=None if there is no cell"),
        ([10.0, 10.0, 10.0, 60.0, 60.0, 150.0], "no cell has the lengths"),
        ([10.0, 10.0, np.nan, 90.0, 90.0, 90.0], "no cell has the lengths|must be finite"),
        (np.full((3, 3), np.inf), "the numbers of the box must be finite"),
        ("a cell", "expected box as vectors"),
        ([["10"] * 3] * 3, "expected box as numbers"),
    ],
)
def test_cell_that_is_none_is_refused(tmp_path: Path, box: Any, expected: str) -> None:
    with mdreel.live.Producer(tmp_path / "run1", 3) as producer:
        with pytest.raises(MismatchError, match=expected):
            producer.publish(POSITIONS, 0, 0.0, box)
        assert producer.publish(POSITIONS, 0, 0.0).sequence == 0


def test_time_limit_of_one_frame_replaces_that_of_the_producer(tmp_path: Path) -> None:
    with mdreel.live.Producer(tmp_path / "run1", 3, n_slots=2) as producer, mdreel.live.Consumer(tmp_path / "run1"):
        producer.await_consumers(1, 10)
        producer.publish(POSITIONS, 0, 0.0)
        producer.publish(POSITIONS, 1, 0.0)
        with pytest.raises(mdreel.errors.StreamTimeoutError):
            producer.publish(POSITIONS, 2, 0.0, timeout=0.01)


PROGRAM = """
import os, signal, sys, time
import numpy as np
import mdreel
{before}
with mdreel.live.Producer(sys.argv[1], 3) as producer:
    producer.publish(np.zeros((3, 3), np.float32), 0, 0.0)
    {within}
    print("ready", flush=True)
    while True:
        time.sleep(60)
"""


def ended(channel: Path, before: str = "", within: str = "") -> tuple[int, Status]:
    """Send SIGTERM to a simulation; return its exit status and the status of its channel."""
    command = [sys.executable, "-c", PROGRAM.format(before=before, within=within), str(channel)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors
    return process.returncode, Status.read(channel)


def test_sigterm_ends_the_channel_as_stopped(tmp_path: Path) -> None:
    code, status = ended(tmp_path / "run1")
    assert (code, status.state, status.n_published) == (143, "stopped", 1)


def test_handler_of_the_program_is_not_replaced(tmp_path: Path) -> None:
    code, status = ended(tmp_path / "run1", "signal.signal(signal.SIGTERM, lambda *_: os._exit(7))")
    assert (code, status.state) == (7, "lost")
    assert re.fullmatch(r"process \d+ \(.+\) on .+ has died without an end record", str(status.reason))


def test_sigterm_to_a_forked_child_leaves_the_channel_alone(tmp_path: Path) -> None:
    child = """
    here, there = os.pipe()
    pid = os.fork()
    if not pid:
        os.write(there, b"!")  # Python forgets signals that arrive before its fork ends
        signal.pause()
    os.read(here, 1)
    os.kill(pid, signal.SIGTERM)
    _, how = os.waitpid(pid, 0)
    sequence = producer.publish(np.zeros((3, 3), np.float32), 1, 0.1).sequence
    print(how, sequence, file=open(sys.argv[1] + ".txt", "w"))
"""
    code, status = ended(tmp_path / "run1", within=child)
    assert (tmp_path / "run1.txt").read_text().split() == [str(int(signal.SIGTERM)), "1"]
    assert (code, status.state, status.n_published) == (143, "stopped", 2)


def test_default_action_is_restored_behind_the_block(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with mdreel.live.Producer(tmp_path / "run1", 3):
        assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
    assert signal.getsignal(signal.SIGTERM) == before
