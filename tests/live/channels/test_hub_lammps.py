"""Tests of a hub with LAMMPS."""

import hashlib
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import imd_client
import imd_reader
from imd_client import ImdClient
from imd_engines import LONG, N_ARGON, lammps, written_by_lammps
from mdreel.errors import MismatchError, StreamError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.frame import Frame
from mdreel.live.channels.staging import Staging
from mdreel.live.channels.status import Status
from mdreel.live.engines.imd import Engine, Hub

ANYWHERE = "127.0.0.1:0"
N_FRAMES = 100
ENDLESS = 100_000_000


def until(is_so: Callable[[], object]) -> None:
    end = time.monotonic() + LONG
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def taken(name: str) -> tuple[threading.Thread, list[Frame]]:
    """Take all frames of a channel in the background."""
    frames: list[Frame] = []

    def take() -> None:
        with Consumer(name, wait=LONG) as consumer:
            frames.extend(frame.copy() for frame in consumer)

    thread = threading.Thread(target=take)
    thread.start()
    return thread, frames


@pytest.mark.parametrize(
    ("units", "ps", "kilojoules"), [("metal", 1.0, 96.48533212331002), ("real", 0.001, 4.184)], ids=["metal", "real"]
)
def test_frames_on_the_channel_and_at_clients_are_those_that_lammps_writes(
    tmp_path: Path, units: str, ps: float, kilojoules: float
) -> None:
    with lammps(tmp_path, N_FRAMES, units=units) as (address, process):
        engine = Engine(address, LONG, n_atoms=N_ARGON, n_frames=N_FRAMES, dialect=units, n_consumers=2)
        with Hub("argon", ANYWHERE, engine) as hub:
            thread, frames = taken("argon")
            with ImdClient(hub.address).go() as client:
                received = client.rest()
            thread.join()
            assert hub.wait(LONG) == "finished"
        assert process.wait(LONG) == 0
    written = written_by_lammps(tmp_path)
    assert len(written.steps) == len(frames) == len(received) == N_FRAMES
    for i, (frame, got) in enumerate(zip(frames, received, strict=True)):
        assert frame.step == got.step == written.steps[i]
        np.testing.assert_allclose([frame.time, got.time], 0.002 * frame.step, rtol=1e-12)
        np.testing.assert_allclose(frame.box, written.boxes[i], rtol=1e-6)
        np.testing.assert_array_equal(frame.positions, written.positions[i].astype(np.float32))
        np.testing.assert_allclose(frame.velocities, written.velocities[i] / ps, rtol=3e-7)
        forces = written.forces[i] * kilojoules
        np.testing.assert_allclose(frame.forces, forces, rtol=3e-7, atol=1e-12 * kilojoules)
        assert got.box is not None
        np.testing.assert_array_equal(got.box, np.asarray(frame.box, np.float32))
        np.testing.assert_array_equal(got.positions, frame.positions)
        np.testing.assert_array_equal(got.arrays[imd_client.VELOCITIES], frame.velocities)
        np.testing.assert_array_equal(got.arrays[imd_client.FORCES], frame.forces)


def test_version_2_of_lammps_is_told_times_and_steps(tmp_path: Path) -> None:
    with lammps(tmp_path, N_FRAMES, version=2) as (address, process):
        engine = Engine(address, LONG, time_step=0.002, stride=5, n_frames=N_FRAMES, n_consumers=1)
        with Hub("argon", ANYWHERE, engine) as hub:
            thread, frames = taken("argon")
            thread.join()
            assert hub.wait(LONG) == "finished"
        assert process.wait(LONG) == 0
    written = written_by_lammps(tmp_path)
    assert [frame.step for frame in frames] == [5 * i for i in range(N_FRAMES)]
    assert all(frame.box is None for frame in frames)
    positions = np.array([frame.positions for frame in frames])
    np.testing.assert_array_equal(positions, written.positions.astype(np.float32))


@pytest.mark.parametrize(("known", "missing"), [({}, "no times"), ({"time_step": 0.002}, "no step numbers")])
def test_version_2_of_lammps_is_refused_where_times_or_steps_are_not_told(
    tmp_path: Path, known: dict[str, float], missing: str
) -> None:
    with (
        lammps(tmp_path, N_FRAMES, version=2) as (address, _),
        pytest.raises(MismatchError, match=missing),
        Hub("argon", ANYWHERE, Engine(address, LONG, **known)) as hub,  # type: ignore[arg-type]
    ):
        hub.wait(LONG)


def test_readers_of_mdanalysis_get_all_frames_together_and_late(tmp_path: Path) -> None:
    if find_spec("imdclient") is None:
        pytest.skip("imdclient is not installed")
    with lammps(tmp_path, N_FRAMES) as (address, _), ExitStack() as stack:
        engine = Engine(address, LONG, n_consumers=2, n_frames=N_FRAMES, staging=Staging(tmp_path / "staging"))
        hub = stack.enter_context(Hub("argon", ANYWHERE, engine, linger=LONG))

        def reader() -> "subprocess.Popen[str]":
            command = [sys.executable, imd_reader.__file__, hub.address, str(N_ARGON)]
            return stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))

        readers = [reader(), reader()]
        said = [process.communicate(timeout=LONG)[0] for process in readers]
        until(lambda: Status.read("argon").state == "finished")
        said.append(reader().communicate(timeout=LONG)[0])
    written = written_by_lammps(tmp_path)
    digest = hashlib.sha256(written.positions.astype(np.float32).tobytes()).hexdigest()
    for text in said:
        found = json.loads(text.splitlines()[1])
        assert found["steps"] == written.steps
        assert len(found["times"]) == N_FRAMES
        assert found["digest"] == digest


def test_clients_that_are_killed_slow_or_rubbish_do_not_stop_lammps(tmp_path: Path) -> None:
    with lammps(tmp_path, 20 * N_FRAMES, stride=1, writes=False) as (address, process), ExitStack() as stack:
        engine = Engine(address, LONG, n_frames=20 * N_FRAMES, n_consumers=3)
        hub = stack.enter_context(Hub("argon", ANYWHERE, engine, patience=1.0, memory="100K"))
        client = stack.enter_context(ImdClient(hub.address).go())
        slow = stack.enter_context(ImdClient(hub.address).go())
        command = [sys.executable, imd_client.__file__, hub.address, "hang"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        victim = stack.enter_context(subprocess.Popen(command, **pipes, text=True))
        assert victim.stdout is not None
        assert [victim.stdout.readline() for _ in range(2)] == ["joined\n", "first\n"]
        victim.send_signal(signal.SIGKILL)
        bad = stack.enter_context(ImdClient(hub.address))
        bad.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
        steps = [frame.step for frame in client.rest()]
        assert process.wait(LONG) == 0
        assert hub.wait(LONG) == "finished"
        assert slow.next() is not None  # it has read nothing before
    assert steps == list(range(1, 20 * N_FRAMES + 1))


def test_death_of_lammps_is_the_end_for_clients_and_a_failure_for_consumers(tmp_path: Path) -> None:
    with lammps(tmp_path, ENDLESS, writes=False) as (address, process):
        with Hub("argon", ANYWHERE, Engine(address, LONG, n_frames=ENDLESS, n_consumers=1)) as hub:
            with ImdClient(hub.address).go() as client:
                for _ in range(10):
                    assert client.next() is not None
                process.kill()
                assert all(frame.step is not None and frame.step % 5 == 0 for frame in client.rest())
            with pytest.raises(StreamError, match=r"expected 100,000,000 frames|connection"):
                hub.wait(LONG)
        with pytest.raises(StreamError, match="failed"):
            for _ in Consumer("argon", on_late="ignore").open():
                pass
    assert Status.read("argon").state == "failed"


def test_pause_and_kill_reach_lammps_only_where_they_are_passed_on(tmp_path: Path) -> None:
    with (
        lammps(tmp_path, ENDLESS, writes=False) as (address, process),
        Hub("argon", ANYWHERE, Engine(address, LONG), forwards=["pause", "kill"]) as hub,
    ):
        first, second = ImdClient(hub.address).go(), ImdClient(hub.address).go()
        until(lambda: Status.read("argon").n_consumers == 2)
        first.say(imd_client.PAUSE)
        second.say(imd_client.PAUSE)

        def is_still() -> bool:
            before = Status.read("argon").n_published
            time.sleep(0.5)
            return Status.read("argon").n_published == before

        until(is_still)
        second.say(imd_client.RESUME)
        until(lambda: sorted(client.state for client in hub.clients) == ["paused", "served"])
        assert is_still()
        n_before = Status.read("argon").n_published
        first.close()  # who pauses and goes away does not hold it
        until(lambda: Status.read("argon").n_published > n_before)
        second.say(imd_client.KILL)
        assert process.wait(LONG) is not None
        assert hub.wait(LONG) in ("finished", "stopped", "failed")
        second.close()


def test_another_number_of_atoms_is_refused(tmp_path: Path) -> None:
    with lammps(tmp_path, N_FRAMES) as (address, _):
        hub = Hub("argon", ANYWHERE, Engine(address, LONG, n_atoms=N_ARGON + 1))
        with hub, pytest.raises(MismatchError, match="expected positions of 109 atoms, got 108"):
            hub.wait(LONG)
        with pytest.raises(FileNotFoundError):
            Status.read("argon")
