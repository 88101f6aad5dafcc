"""Tests of the steering of OpenMM and of its reporter."""

import json
import os
import runpy
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

import mdreel
from architecture.checkout import ROOT
from live.steering.conftest import events, lines_of
from mdreel.errors import MismatchError, StreamError
from mdreel.live.channels.requests import FOLDER, Answer, send_request
from mdreel.live.engines.openmm import StopRequested

EXAMPLE = ROOT / "examples" / "steer_openmm.py"
PACE = 0.4
"""Seconds behind a frame: the simulation runs ahead of the rules by less than a frame."""

INTERVAL = 50
LONGEST_SECONDS = 120

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def _needs_openmm() -> None:
    pytest.importorskip("openmm", reason="openmm is not installed")


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


def positions_of(path: Path) -> np.ndarray:
    """Return the positions of all atoms in all frames, float32."""
    source = mdreel.open(path)
    atoms = np.arange(source.n_atoms, dtype=np.uint32)
    frames = mdreel._core.FrameSet.range(0, 1, source.n_frames)
    return source.read(frames, atoms).positions


def test_stops_within_two_frames_and_a_fork_goes_on(tmp_path: Path, example: dict[str, Any]) -> None:
    words = [f"--frames={10_000}", f"--interval={INTERVAL}", f"--pace={PACE}"]
    assert example["steer"](tmp_path, words, dry_run=False) == 0
    frames = positions_of(tmp_path / "run.dcd")
    oxygens = frames[:, ::3].astype(np.float64)
    rmsd = np.sqrt(((oxygens - oxygens[0]) ** 2).sum(axis=2).mean(axis=1))
    met = rmsd > 0.8
    event = next(i for i in range(4, len(frames)) if met[i - 4 : i + 1].sum() >= 4)
    log = tmp_path / "steering.jsonl"
    assert events(log) == [
        ("started", None, None, None),
        ("fired", "far enough", None, event),
        ("acted", "far enough", "stop", event),
        ("acted", "far enough", "new velocities", event),
        ("ended", None, None, None),
    ]
    _, fired, stopped, forked, ended = lines_of(log)
    assert fired["step"] == (event + 1) * INTERVAL
    assert fired["values"]["rmsd"] == pytest.approx(rmsd[event], abs=1e-3)
    assert fired["frame_time"] == pytest.approx((event + 1) * INTERVAL * 0.002)
    assert len(frames) - 1 - event <= 2
    last_step = len(frames) * INTERVAL
    assert stopped["message"] == f"stopped at step {last_step} with the checkpoint {tmp_path / 'run.checkpoint'}"
    assert f"from {tmp_path / 'run.checkpoint'}" in forked["message"]
    assert f"after {len(frames)} frames" in ended["message"]

    # The checkpoint is the last frame that was published; the fork begins there, and goes elsewhere.
    simulation = example["make_simulation"](tmp_path)
    simulation.loadCheckpoint(str(tmp_path / "run.checkpoint"))
    assert simulation.currentStep == last_step
    state = simulation.context.getState(positions=True)
    kept = np.asarray(state.getPositions(asNumpy=True)._value) * 10
    np.testing.assert_array_equal(kept.astype(np.float32), frames[-1])
    with mdreel.live.Consumer(tmp_path / "channel") as published:
        boxes = [frame.box.copy() for frame in published]
    np.testing.assert_allclose(boxes, [np.diag([10 * example["EDGE_NM"]] * 3)] * len(boxes), rtol=1e-6)
    fork = positions_of(tmp_path / "fork.dcd")
    assert len(fork) == 1 + example["FORK_FRAMES"]
    np.testing.assert_array_equal(fork[0], frames[-1])
    simulation.step(INTERVAL)
    assert not np.array_equal(fork[1], simulation.context.getState(positions=True).getPositions(asNumpy=True)._value)
    status = mdreel.live.channel(tmp_path / "channel").status()
    assert (status.state, status.n_published) == ("stopped", len(frames))
    assert list((tmp_path / "channel" / FOLDER).iterdir()) == []


def test_dry_run_lets_the_engine_run_to_its_end_and_changes_no_file(tmp_path: Path, example: dict[str, Any]) -> None:
    n_frames = 12
    words = [f"--frames={n_frames}", f"--interval={INTERVAL}"]
    assert example["steer"](tmp_path, words, dry_run=True) == 0
    assert len(positions_of(tmp_path / "run.dcd")) == n_frames
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["channel", "rules.toml", "run.dcd", "steering.jsonl", "water.pdb"]
    assert not (tmp_path / "channel" / FOLDER).exists()
    assert mdreel.live.channel(tmp_path / "channel").status().state == "finished"
    log = lines_of(tmp_path / "steering.jsonl")
    assert [line["event"] for line in log] == ["started", "fired", "dry-run", "dry-run", "ended"]
    assert "dry run" in log[0]["message"]
    assert log[2]["message"] == f"would ask the simulation of channel {tmp_path / 'channel'} to stop"
    assert "--checkpoint CHECKPOINT" in log[3]["message"]


# --- The reporter alone --------------------------------------------------------------------------------------------


@pytest.fixture
def asking() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as threads:
        yield threads


def balls(tmp_path: Path, **settings: Any) -> tuple[Any, mdreel.live.Producer, mdreel.live.OpenMMReporter]:
    """Create a simulation of two particles on a spring with its reporter."""
    import openmm
    from openmm import app, unit

    system, topology, spring = openmm.System(), app.Topology(), openmm.HarmonicBondForce()
    residue = topology.addResidue("AR", topology.addChain())
    for _ in range(2):
        system.addParticle(40.0)
        topology.addAtom("AR", app.element.argon, residue)
    spring.addBond(0, 1, 0.3, 1000.0)
    system.addForce(spring)
    integrator = openmm.LangevinMiddleIntegrator(300 * unit.kelvin, 1 / unit.picosecond, 2 * unit.femtosecond)
    platform = openmm.Platform.getPlatformByName("Reference")
    simulation = app.Simulation(topology, system, integrator, platform)
    simulation.context.setPositions([openmm.Vec3(0, 0, 0), openmm.Vec3(0.35, 0, 0)])
    simulation.context.setVelocitiesToTemperature(300 * unit.kelvin, 1)
    producer = mdreel.live.Producer(tmp_path / "run1", 2, n_slots=64, **settings)
    reporter = mdreel.live.OpenMMReporter(producer, 10, tmp_path / "state.chk")
    simulation.reporters.append(reporter)
    return simulation, producer, reporter


def asked(
    producer: mdreel.live.Producer, asking: ThreadPoolExecutor, kind: str, **arguments: object
) -> "Future[Answer]":
    """Send a request and return when its file exists."""
    said = asking.submit(send_request, producer.path, kind, arguments)
    until = monotonic() + LONGEST_SECONDS
    while not list((producer.path / FOLDER).glob("*.request")):
        assert monotonic() < until
        sleep(0.001)
    return said


def published_steps(producer: mdreel.live.Producer) -> list[int]:
    with mdreel.live.Consumer(producer.path) as frames:
        return [frame.step for frame in frames]


def test_reporter_does_what_it_is_asked_behind_the_next_frame(tmp_path: Path, asking: ThreadPoolExecutor) -> None:
    simulation, producer, reporter = balls(tmp_path)
    with producer:
        assert reporter.run(simulation, 25)
        said = asked(producer, asking, "checkpoint")
        assert reporter.run(simulation, 10)  # a frame at step 30
        answer = said.result(LONGEST_SECONDS)
        assert answer.facts == {"checkpoint": str(tmp_path / "state-30.chk"), "step": 30}
        said = asked(producer, asking, "change-stride", stride=20)
        assert reporter.run(simulation, 65)  # at 40, and then at 60, 80, 100
        assert said.result(LONGEST_SECONDS).message == "from step 40, a frame every 20 steps instead of 10"
        assert reporter.interval == 20
        said = asked(producer, asking, "stop")
        assert not reporter.run(simulation, 1000)
        assert reporter.is_stopped
        assert simulation.currentStep == 120
        assert said.result(LONGEST_SECONDS).facts == {"checkpoint": str(tmp_path / "state.chk"), "step": 120}
    assert published_steps(producer) == [10, 20, 30, 40, 60, 80, 100, 120]
    assert mdreel.live.channel(producer.path).status().state == "stopped"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run1", "state-30.chk", "state.chk"]
    for name, step in (("state-30.chk", 30), ("state.chk", 120)):
        simulation.loadCheckpoint(str(tmp_path / name))
        assert simulation.currentStep == step


@pytest.mark.parametrize("end", ["resume", "stop"])
def test_paused_simulation_computes_no_step_until_it_is_resumed_or_stopped(
    tmp_path: Path, asking: ThreadPoolExecutor, end: str
) -> None:
    simulation, producer, reporter = balls(tmp_path)

    def ask(kind: str) -> str:
        return send_request(producer.path, kind, timeout=LONGEST_SECONDS).message

    with producer:
        said = asked(producer, asking, "pause")
        running = asking.submit(reporter.run, simulation, 30)
        assert said.result(LONGEST_SECONDS).message == "paused at step 10"
        assert ask("pause") == "already paused at step 10"
        assert ask("checkpoint").startswith("checkpoint of step 10: ")
        assert simulation.currentStep == 10
        assert not running.done()
        ask(end)
        assert running.result(LONGEST_SECONDS) == (end == "resume")
    assert published_steps(producer) == ([10, 20, 30] if end == "resume" else [10])


def test_stop_without_run_leaves_by_its_exception(tmp_path: Path, asking: ThreadPoolExecutor) -> None:
    simulation, producer, _ = balls(tmp_path)
    with pytest.raises(StopRequested, match="at step 10"), producer:
        said = asked(producer, asking, "stop")
        simulation.step(1000)
    assert said.result(LONGEST_SECONDS).facts["step"] == 10
    assert mdreel.live.channel(producer.path).status().state == "stopped"  # and not failed


@pytest.mark.parametrize(
    ("kind", "arguments", "expected"),
    [
        ("change-stride", {"stride": 0}, "expected a stride of 1 step or more, got 0"),
        ("change-stride", {"stride": "7"}, "expected a stride of 1 step or more, got '7'"),
        ("dance", {}, "supports stop, checkpoint, change-stride, pause and resume, not 'dance'"),
    ],
)
def test_reporter_refuses_what_it_cannot_do(
    tmp_path: Path, asking: ThreadPoolExecutor, kind: str, arguments: dict[str, object], expected: str
) -> None:
    simulation, producer, reporter = balls(tmp_path)
    with producer:
        said = asked(producer, asking, kind, **arguments)
        assert reporter.run(simulation, 30)
        with pytest.raises(StreamError) as raised:
            said.result(LONGEST_SECONDS)
    assert expected in str(raised.value)
    assert published_steps(producer) == [10, 20, 30]


def test_simulation_goes_on_where_no_checkpoint_can_be_written(tmp_path: Path, asking: ThreadPoolExecutor) -> None:
    simulation, producer, _ = balls(tmp_path)
    simulation.reporters[0] = mdreel.live.OpenMMReporter(producer, 10, tmp_path / "none" / "state.chk")
    with producer:
        for kind in ("checkpoint", "stop"):
            said = asked(producer, asking, kind)
            assert simulation.reporters[0].run(simulation, 10)
            with pytest.raises(StreamError, match="the checkpoint could not be written"):
                said.result(LONGEST_SECONDS)
    assert published_steps(producer) == [10, 20]


def test_reporter_publishes_what_the_channel_was_opened_for(tmp_path: Path) -> None:
    settings = {"velocities": True, "forces": True, "energies": ["kinetic", "potential"], "dtype": "float64"}
    simulation, producer, reporter = balls(tmp_path, **settings)
    with producer:
        reporter.run(simulation, 10)
        state = simulation.context.getState(positions=True, velocities=True, forces=True, energy=True)
    with mdreel.live.Consumer(producer.path) as frames:
        (frame,) = [frame.copy() for frame in frames]
    np.testing.assert_allclose(frame.positions, state.getPositions(asNumpy=True)._value * 10, rtol=1e-12)
    np.testing.assert_allclose(frame.velocities, state.getVelocities(asNumpy=True)._value * 10, rtol=1e-12)
    np.testing.assert_allclose(frame.forces, state.getForces(asNumpy=True)._value / 10, rtol=1e-12)
    expected = [state.getKineticEnergy()._value, state.getPotentialEnergy()._value]
    np.testing.assert_allclose(frame.energies, expected, rtol=1e-12)
    assert frame.box is None


def test_checkpoint_is_kept_now_and_then_behind_its_frame(tmp_path: Path) -> None:
    simulation, producer, _ = balls(tmp_path)
    simulation.reporters[0] = mdreel.live.OpenMMReporter(producer, 10, tmp_path / "state.chk", checkpoint_frames=3)
    with producer:
        simulation.step(89)
        simulation.loadCheckpoint(str(tmp_path / "state.chk"))
        assert simulation.currentStep == 60
    assert published_steps(producer)[:8] == [10, 20, 30, 40, 50, 60, 70, 80]


def test_fork_has_the_positions_of_the_checkpoint_and_velocities_of_the_seed(tmp_path: Path) -> None:
    simulation, producer, reporter = balls(tmp_path)
    with producer:
        reporter.run(simulation, 20)
        simulation.saveCheckpoint(str(tmp_path / "here"))
    found = []
    for seed in (1, 2, 1):
        mdreel.live.fork_openmm(simulation, tmp_path / "here", 300.0, seed)
        assert simulation.currentStep == 20
        state = simulation.context.getState(positions=True, velocities=True)
        found.append(
            [json.dumps(np.asarray(array._value).tolist()) for array in (state.getPositions(), state.getVelocities())]
        )
    assert len({positions for positions, _ in found}) == 1
    assert found[0] == found[2] != found[1]


@pytest.mark.parametrize(
    ("arguments", "settings", "expected"),
    [
        ((0, "a"), {}, "expected 1 step or more between two frames, got 0"),
        ((1, "a"), {"checkpoint_frames": 0}, "expected 1 frame or more between two checkpoints, got 0"),
    ],
)
def test_reporter_that_makes_no_sense_is_refused(
    tmp_path: Path, arguments: tuple[Any, ...], settings: dict[str, Any], expected: str
) -> None:
    with pytest.raises(MismatchError, match=expected):
        mdreel.live.OpenMMReporter(mdreel.live.Producer(tmp_path / "run1", 2), *arguments, **settings)
    with pytest.raises(MismatchError, match="OpenMM has the energies potential and kinetic, not total"):
        mdreel.live.OpenMMReporter(mdreel.live.Producer(tmp_path / "run1", 2, energies=["total"]), 1, "a")


class EndedBySigterm:
    """Reporter that sends SIGTERM to this process at one step."""

    def __init__(self, step: int) -> None:
        self._step = step

    def describeNextReport(self, simulation: Any) -> tuple[int, bool, bool, bool, bool, None]:  # noqa: N802
        return max(1, self._step - simulation.currentStep), True, False, False, False, None

    def report(self, simulation: Any, state: object) -> None:
        if simulation.currentStep == self._step:
            assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL, "SIGTERM would end the tests"
            os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize(
    ("step", "is_before_publishing", "expected"), [(25, False, 25), (30, False, 30), (30, True, 0)]
)
def test_sigterm_stops_the_channel_and_leaves_a_checkpoint(
    tmp_path: Path, step: int, is_before_publishing: bool, expected: int
) -> None:
    simulation, producer, reporter = balls(tmp_path)
    simulation.reporters.insert(0 if is_before_publishing else 1, EndedBySigterm(step))
    with pytest.raises(SystemExit) as ended, producer:
        reporter.run(simulation, 1000)
    assert ended.value.code == 143
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert mdreel.live.channel(producer.path).status().state == "stopped"
    assert published_steps(producer) == [10, 20, 30][: 2 + (step == 30 and not is_before_publishing)]
    if expected:
        simulation.context.setStepCount(0)
        simulation.loadCheckpoint(str(tmp_path / "state.chk"))
        assert simulation.currentStep == expected
    else:  # a simulation that continued from step 30 would omit its frame
        assert not (tmp_path / "state.chk").exists()


def test_reporter_needs_no_checkpoint_file(tmp_path: Path, asking: ThreadPoolExecutor) -> None:
    simulation, producer, _ = balls(tmp_path)
    reporter = simulation.reporters[0] = mdreel.live.OpenMMReporter(producer, 10)
    with producer:
        said = asked(producer, asking, "checkpoint")
        assert reporter.run(simulation, 10)
        with pytest.raises(StreamError, match="OpenMM has no checkpoint file: create it with checkpoint="):
            said.result(LONGEST_SECONDS)
        said = asked(producer, asking, "stop")
        assert not reporter.run(simulation, 100)
        answer = said.result(LONGEST_SECONDS)
    assert "stopped at step 20 without a checkpoint" in answer.message
    assert answer.facts == {"step": 20}
    assert mdreel.live.channel(producer.path).status().state == "stopped"
    with pytest.raises(MismatchError, match="checkpoint_frames=3 needs a checkpoint file"):
        mdreel.live.OpenMMReporter(producer, 10, checkpoint_frames=3)
