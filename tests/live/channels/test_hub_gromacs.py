"""Tests of a hub with GROMACS."""

import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import mdreel
from imd_client import ImdClient
from imd_engines import LONG, Gromacs, water
from mdreel._core import FrameSet
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.frame import Frame
from mdreel.live.channels.status import Status
from mdreel.live.engines.imd import Engine, Hub
from mdreel.live.engines.imd.messages import ENERGIES

N_FRAMES = 51
EDGE = 19.0
"""Å, of the cell."""
XTC_ROUNDING = 0.005 + 1e-5
"""Å: half of an integer of XTC, and what float32 adds."""


@pytest.fixture
def gromacs(tmp_path: Path) -> Gromacs:
    return water(tmp_path, N_FRAMES)


def engine_at(address: str, gromacs: Gromacs, **how: object) -> Engine:
    known = {"n_atoms": gromacs.n_atoms, "n_frames": N_FRAMES, "rate": gromacs.stride, "time_step": 0.002}
    return Engine(address, dialect="gromacs", **(known | how))  # type: ignore[arg-type]


def apart(frame: Frame, written: np.ndarray) -> np.ndarray:
    """Return the distances between positions modulo the cell, because IMD sends unwrapped positions."""
    assert frame.positions is not None
    difference = frame.positions.astype(np.float64) - written
    return difference - EDGE * np.round(difference / EDGE)


def read_frames(path: Path, n_frames: int) -> "tuple[list[int], list[float], np.ndarray]":
    """Return the steps, times and positions of a file."""
    source = mdreel.open(path)
    assert source.n_frames == n_frames
    reader = source.reader(np.arange(source.n_atoms, dtype=np.uint32), ["positions"])
    found = reader.read(FrameSet.range(0, 1, n_frames))
    return [int(step) for step in found.steps], [float(time) for time in found.times], np.array(found.positions)


def test_frames_on_the_channel_and_at_clients_are_those_that_gromacs_writes(gromacs: Gromacs) -> None:
    with gromacs.running() as (address, process):
        with Hub("water", "127.0.0.1:0", engine_at(address, gromacs, n_consumers=2), version=2) as hub:
            frames: list[Frame] = []

            def take() -> None:
                with Consumer("water", wait=LONG) as consumer:
                    assert consumer.manifest.energies == ENERGIES
                    frames.extend(frame.copy() for frame in consumer)

            thread = threading.Thread(target=take)
            thread.start()
            with ImdClient(hub.address).go() as client:
                received = client.rest()
            thread.join()
            assert hub.wait(LONG) == "finished"
        assert process.wait(LONG) == 0
    steps, times, positions = read_frames(gromacs.folder / "md.trr", N_FRAMES)
    assert [frame.step for frame in frames] == [frame.step for frame in received] == steps
    np.testing.assert_allclose([frame.time for frame in frames], times, rtol=1e-6)
    for frame, written in zip(frames, positions, strict=True):
        np.testing.assert_allclose(apart(frame, written), 0, atol=5e-6)
    for frame, got in zip(frames, received, strict=True):
        np.testing.assert_array_equal(got.positions, frame.positions)
    expected = gromacs.energies("Temperature", "Total Energy", "Potential", "LJ (SR)", "Coulomb (SR)")
    assert all(frame.energies is not None for frame in frames)
    np.testing.assert_allclose(np.array([frame.energies for frame in frames])[:, :5], expected, rtol=1e-6)


def test_follower_of_the_growing_file_sees_the_frames_that_are_sent(gromacs: Gromacs) -> None:
    path = gromacs.folder / "md.xtc"
    with gromacs.running() as (address, process):
        source = None
        with Hub("water", "127.0.0.1:0", engine_at(address, gromacs, n_consumers=1)) as hub:
            consumer = Consumer("water", wait=LONG, timeout=LONG).open()
            first = consumer.next()
            assert first is not None
            source = mdreel.trajectory.follow(path, n_frames=N_FRAMES, timeout=LONG)
            reader = source.reader(np.arange(gromacs.n_atoms, dtype=np.uint32), ["positions"])
            sent = [first.copy()]
            seen = [np.array(reader.read(FrameSet.range(0, 1, 1)).positions[0])]
            del first
            for i in range(1, N_FRAMES):
                frame = consumer.next()
                assert frame is not None
                sent.append(frame.copy())
                seen.append(np.array(reader.read(FrameSet.range(i, 1, 1)).positions[0]))
                del frame
            assert consumer.next() is None
            consumer.close()
            assert hub.wait(LONG) == "finished"
        assert process.wait(LONG) == 0
    _, _, written = read_frames(path, N_FRAMES)
    np.testing.assert_array_equal(seen, written)
    for frame, positions in zip(sent, seen, strict=True):
        np.testing.assert_allclose(apart(frame, positions), 0, atol=XTC_ROUNDING)


def test_hub_that_was_killed_is_succeeded_by_one_that_goes_on_with_the_channel(tmp_path: Path) -> None:
    """Check that GROMACS continues without a client and accepts another one later."""
    gromacs = water(tmp_path, 100_000)
    with gromacs.running() as (address, process), ExitStack() as stack:

        def hub(*words: str) -> "subprocess.Popen[str]":
            how = ["--dialect", "gromacs", "--rate", str(gromacs.stride), "--time-step", "0.002", "--quiet"]
            command = [sys.executable, "-m", "mdreel.cli", "hub", address, "--channel", "water", *how]
            return stack.enter_context(
                subprocess.Popen([*command, "--listen", "127.0.0.1:0", *words], stderr=subprocess.PIPE, text=True)
            )

        first = hub()
        consumer = stack.enter_context(Consumer("water", wait=LONG, restart=LONG, timeout=LONG))
        steps = [frame.step for _, frame in zip(range(10), consumer, strict=False)]
        first.kill()
        assert first.wait() == -signal.SIGKILL
        refused = hub()
        assert refused.wait(LONG) == 3
        assert refused.stderr is not None
        assert (
            "the hub of this channel has died; continue it (resumes, --resume) or remove the channel"
            in refused.stderr.read()
        )
        second = hub("--resume")
        n_before = Status.read("water").n_published
        steps += [frame.step for _, frame in zip(range(n_before + 10), consumer, strict=False)]
        assert process.poll() is None
        second.kill()
    assert steps == sorted(set(steps))
    assert {step % gromacs.stride for step in steps} == {0}
    assert Status.read("water").epoch == 1
    assert len(steps) == 10 + n_before + 10


def test_kill_reaches_gromacs_where_it_is_passed_on(tmp_path: Path) -> None:
    gromacs = water(tmp_path, 100_000)
    with gromacs.running() as (address, process):
        engine = engine_at(address, gromacs, n_frames=None)
        with Hub("water", "127.0.0.1:0", engine, forwards=["kill"]) as hub, ImdClient(hub.address).go() as client:
            for _ in range(3):
                assert client.next() is not None
            assert process.poll() is None
            client.say(5)
            assert process.wait(LONG) is not None
            assert hub.wait(LONG) == "stopped"
    assert "Received the remote" in (tmp_path / "screen").read_text(errors="replace")
    assert Status.read("water").state == "stopped"
