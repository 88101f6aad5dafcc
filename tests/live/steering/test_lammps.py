"""Tests of the steering of LAMMPS."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import mdreel
from architecture.checkout import ROOT
from imd_engines import file_of, read_restart
from live.steering.conftest import events, lines_of, run_steer
from mdreel.live.channels.requests import FOLDER

EXAMPLE = ROOT / "examples" / "lammps_producer.py"
PACE = 0.4
"""Seconds behind a frame: the simulation runs ahead of the rules by less than a frame."""

INTERVAL = 20
FORK_FRAMES = 5

RULES = """
[[analysis]]
type = "rmsd"
name = "moved"
select = "all"
superposition = false

[[rule]]
name = "early"
analysis = "moved"
below = 0.1
actions = ["rarer"]

[[rule]]
name = "far enough"
analysis = "moved"
above = 0.8
frames = 5
share = 0.8
actions = ["stop", "new velocities"]

[[action]]
name = "rarer"
type = "change-stride"
stride = 40

[[action]]
name = "new velocities"
type = "fork"
wait = true
command = [{words}, "--restart", "{{checkpoint}}", "--seed", "{{seed}}", "--frames", "{n_frames}"]
placeholders = true
"""

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def _needs_lammps() -> None:
    file_of("lammps", "lammps/lmp")
    file_of("mpich", "libmpi.so.12")


def steered(folder: Path, n_frames: int, pace: float, *words: str) -> "list[dict[str, object]]":
    """Steer the example for a maximum number of frames; return the lines of the log."""
    own = [sys.executable, str(EXAMPLE), "--simulate", str(folder), f"--interval={INTERVAL}", f"--pace={pace}"]
    rules = RULES.format(words=", ".join(map(json.dumps, own)), n_frames=FORK_FRAMES)
    (folder / "rules.toml").write_text(rules)
    topology = folder / "argon.gro"
    atoms = "".join(f"{1:5}AR      AR{i % 100000:5}{0:8.3f}{0:8.3f}{0:8.3f}\n" for i in range(1, 501))
    topology.write_text(f"argon\n500\n{atoms}{2.9:10.5f}{2.9:10.5f}{2.9:10.5f}\n")
    log = folder / "steering.jsonl"
    arguments = ["-s", topology, "--channel", folder / "run", "--log", log, "--quiet", *words]
    done = run_steer(folder, "rules.toml", *arguments, "--", *own, f"--frames={n_frames}")
    assert done.returncode == 0, done.stderr
    return lines_of(log)


def positions_of(path: Path) -> np.ndarray:
    """Return the positions of all atoms in all frames, float32."""
    source = mdreel.open(path)
    frames = mdreel._core.FrameSet.range(0, 1, source.n_frames)
    return source.read(frames, np.arange(source.n_atoms, dtype=np.uint32)).positions


def test_stops_within_two_frames_and_a_fork_goes_on(tmp_path: Path) -> None:
    _, early, _, fired, stopped, forked, ended = steered(tmp_path, 400, PACE)
    with mdreel.live.Consumer(tmp_path / "run") as published:
        frames = [frame.copy() for frame in published]
    first = frames[0].positions.astype(np.float64)
    moved = np.array([np.sqrt(((frame.positions - first) ** 2).sum(axis=1).mean()) for frame in frames])
    event = next(i for i in range(4, len(moved)) if (moved[i - 4 : i + 1] > 0.8).sum() >= 4)
    assert events(tmp_path / "steering.jsonl") == [
        ("started", None, None, None),
        ("fired", "early", None, 0),
        ("acted", "early", "rarer", 0),
        ("fired", "far enough", None, event),
        ("acted", "far enough", "stop", event),
        ("acted", "far enough", "new velocities", event),
        ("ended", None, None, None),
    ]
    assert early["step"] == INTERVAL
    steps = [frame.step for frame in frames]
    n_before = sum(step <= 3 * INTERVAL for step in steps)  # it looks behind each frame, one or two on
    assert steps[n_before:] == [*range(steps[n_before], steps[-1] + 1, 40)]
    assert fired["step"] == steps[event]
    assert fired["values"]["rmsd"] == pytest.approx(moved[event], abs=1e-3)
    assert len(frames) - 1 - event <= 2
    restart = tmp_path / "run.restart"
    assert stopped["message"] == f"stopped at step {steps[-1]} with the checkpoint {restart}"
    assert f"from {restart}" in str(forked["message"])
    assert f"after {len(frames)} frames" in str(ended["message"])
    status = mdreel.live.channel(tmp_path / "run").status()
    assert (status.state, status.n_published) == ("stopped", len(frames))
    assert list((tmp_path / "run" / FOLDER).iterdir()) == []

    # The restart file is the last frame that was published; the fork begins there, and goes elsewhere.
    kept = read_restart(restart)
    assert kept.steps == [steps[-1]]
    np.testing.assert_allclose(kept.positions[0], frames[-1].positions, atol=5e-6)
    fork = positions_of(tmp_path / "fork.dcd")
    assert len(fork) == 1 + FORK_FRAMES
    np.testing.assert_allclose(fork[0], frames[-1].positions, atol=5e-6)
    with mdreel.live.Consumer(tmp_path / "fork") as published:
        assert [frame.step for frame in published] == [steps[-1] + INTERVAL * (i + 1) for i in range(FORK_FRAMES)]
    # With the velocities of the checkpoint atoms would go on as they went: r = 0.99.
    went = np.corrcoef((fork[1] - fork[0]).ravel(), kept.velocities[0].ravel())[0, 1]
    assert abs(went) < 0.3


def test_dry_run_lets_the_engine_run_to_its_end_and_changes_no_file(tmp_path: Path) -> None:
    n_frames = 40
    log = steered(tmp_path, n_frames, 0.0, "--dry-run")
    assert len(positions_of(tmp_path / "run.dcd")) == 1 + n_frames
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["argon.gro", "rules.toml", "run", "run.dcd", "steering.jsonl"]
    assert not (tmp_path / "run" / FOLDER).exists()
    assert mdreel.live.channel(tmp_path / "run").status().state == "finished"
    expected = ["started", "fired", "dry-run", "fired", "dry-run", "dry-run", "ended"]
    assert [line["event"] for line in log] == expected
    assert log[2]["message"] == f"would ask the simulation of channel {tmp_path / 'run'} to change-stride"
    assert log[4]["message"] == f"would ask the simulation of channel {tmp_path / 'run'} to stop"
    assert "--restart CHECKPOINT" in str(log[5]["message"])
