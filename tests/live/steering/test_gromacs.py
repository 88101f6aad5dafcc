"""Tests of the steering of GROMACS."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from live.steering.conftest import events, lines_of, run_steer
from live.steering.gromacs import RUN, gmx, prepare, structure

N_FRAMES = 15
STRIDE = 3000
"""Steps between two frames: half a second on an idle core."""

RULES = f"""
[engine]
checkpoint = "md.cpt"

[[analysis]]
type = "rmsd"
select = "name OW"
superposition = false
output = "rmsd.csv"

[[rule]]
name = "moved"
analysis = "rmsd"
above = 0.5
frames = {N_FRAMES}
actions = ["stop", "again"]

[[action]]
name = "again"
type = "fork"
wait = true
output = "fork.out"
command = ["sh", "-ec", '''
    sed "s/SEED/$MDREEL_SEED/" fork.mdp > fork-seeded.mdp
    gmx -quiet grompp -f fork-seeded.mdp -c md.tpr -t "$MDREEL_CHECKPOINT" -p water.top -o fork.tpr -po fork-out.mdp
    gmx -quiet mdrun -deffnm fork -nt 1
''']
"""

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def _needs_gromacs() -> Iterator[None]:
    if structure() is None:
        pytest.skip("gmx is not installed, or its spc216.gro is not there")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def trajectory(folder: Path, name: str) -> list[tuple[float, np.ndarray, np.ndarray | None]]:
    """Return times, positions and velocities of all frames."""
    import MDAnalysis

    universe = MDAnalysis.Universe(folder / "conf.gro", folder / name)
    return [
        (ts.time, ts.positions.copy(), ts.velocities.copy() if ts.has_velocities else None)
        for ts in universe.trajectory
    ]


def test_stops_within_two_frames_and_a_fork_goes_on(tmp_path: Path) -> None:
    prepare(tmp_path, steps=2_000_000, stride=STRIDE)
    (tmp_path / "rules.toml").write_text(RULES)
    done = run_steer(tmp_path, "rules.toml", "-s", "conf.gro", "-f", "md.xtc", "--follow", "--", *RUN)
    assert done.returncode == 0, done.stderr

    frames = trajectory(tmp_path, "md.xtc")
    oxygens = [positions[::3].astype(np.float64) for _, positions, _ in frames]
    rmsd = [np.sqrt(((one - oxygens[0]) ** 2).sum(axis=1).mean()) for one in oxygens]
    met = [value > 0.5 for value in rmsd]
    event = next(i for i in range(len(frames)) if i + 1 >= N_FRAMES and all(met[i + 1 - N_FRAMES : i + 1]))
    log = tmp_path / "steering.jsonl"
    assert events(log) == [
        ("started", None, None, None),
        ("fired", "moved", None, event),
        ("acted", "moved", "stop", event),
        ("acted", "moved", "again", event),
        ("ended", None, None, None),
    ]
    _, fired, stopped, forked, ended = lines_of(log)
    assert fired["step"] == STRIDE * event
    assert fired["frame_time"] == pytest.approx(frames[event][0])
    assert fired["values"]["rmsd"] == pytest.approx(rmsd[event], abs=1e-3)
    assert "SIGTERM" in stopped["message"]
    assert str(tmp_path / "md.cpt") in stopped["message"]
    assert len(frames) - 1 - event <= 2
    assert f"after {len(frames)} frames: 1 firing, 2 actions done, 0 failed" in ended["message"]
    assert len((tmp_path / "rmsd.csv").read_text().splitlines()) >= len(frames)

    # The run itself goes on from the checkpoint ...
    gmx(tmp_path, "mdrun", "-s", "md.tpr", "-cpi", "md.cpt", "-deffnm", "on", "-noappend", "-nt", "1", "-nsteps", "20")
    # ... and so has the fork: from its positions, with velocities of its own.
    gmx(tmp_path, "trjconv", "-f", "md.cpt", "-s", "md.tpr", "-o", "checkpoint.trr", given="0\n")
    ((time, positions, velocities),) = trajectory(tmp_path, "checkpoint.trr")
    assert frames[-1][0] <= time < frames[-1][0] + STRIDE * 0.002
    fork = trajectory(tmp_path, "fork.trr")
    assert len(fork) == 3
    np.testing.assert_allclose(fork[0][1], positions, atol=1e-5)  # molecules are made rigid again, in the last bits
    assert fork[0][2] is not None
    assert velocities is not None
    assert np.abs(fork[0][2] - velocities).mean() > 1
    assert "seed" in forked["message"]


def test_dry_run_lets_the_engine_run_to_its_end_and_changes_no_file(tmp_path: Path) -> None:
    alone, steered = tmp_path / "alone", tmp_path / "steered"
    for folder in (alone, steered):
        folder.mkdir()
        prepare(folder, steps=400, stride=20)
        (folder / "rules.toml").write_text(RULES.replace('output = "rmsd.csv"\n', ""))
    inputs = {path.name: path.read_bytes() for path in steered.iterdir()}
    gmx(alone, *RUN[2:])
    words = ("rules.toml", "-s", "conf.gro", "-f", "md.xtc", "--follow", "--dry-run", "--", *RUN)
    done = run_steer(steered, *words)
    assert done.returncode == 0, done.stderr
    assert "dry run, no action carried out" in done.stderr
    # The same files as without us, but for the log; the same input, and all frames.
    names = {path.name for path in alone.iterdir()}
    assert {path.name for path in steered.iterdir()} == names | {"steering.jsonl"}
    assert {name: (steered / name).read_bytes() for name in inputs} == inputs
    assert "Finished mdrun" in (steered / "md.log").read_text()
    assert len(trajectory(steered, "md.xtc")) == len(trajectory(alone, "md.xtc")) == 21
    log = lines_of(steered / "steering.jsonl")
    assert [line["event"] for line in log] == ["started", "fired", "dry-run", "dry-run", "ended"]
    assert "dry run" in log[0]["message"]
    assert log[2]["message"].startswith("would stop: send SIGTERM to process ")
    assert log[3]["message"].startswith("would run sh -ec")

    # Once more: what is there of the run before is not taken for this one's, and the log goes on.
    done = run_steer(steered, *words)
    assert done.returncode == 0, done.stderr
    assert (steered / "#md.xtc.1#").exists()
    log = lines_of(steered / "steering.jsonl")
    assert [line["event"] for line in log] == 2 * ["started", "fired", "dry-run", "dry-run", "ended"]
    assert log[-1]["message"].startswith("after 21 frames: 1 firing,")


def test_engine_that_fails_is_said_with_its_status(tmp_path: Path) -> None:
    prepare(tmp_path, steps=400, stride=20)
    (tmp_path / "rules.toml").write_text(RULES)
    ends = ("gmx", "-quiet", "mdrun", "-s", "none.tpr")
    done = run_steer(tmp_path, "rules.toml", "-s", "conf.gro", "-f", "md.xtc", "--follow", "--", *ends)
    assert done.returncode == 3
    assert "mdreel: error: " in done.stderr
    assert "md.xtc" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "steering.jsonl").exists()
    done = run_steer(tmp_path, "rules.toml", "-s", "conf.gro", "-f", "md.xtc", "--follow", "--", "no-such-program")
    assert done.returncode == 3
    assert done.stderr == "mdreel: error: no-such-program: the engine cannot be started: No such file or directory\n"


def test_engine_whose_frames_cannot_be_checked_is_stopped_in_order(tmp_path: Path) -> None:
    prepare(tmp_path, steps=4_000_000, stride=20)
    (tmp_path / "rules.toml").write_text(RULES)
    done = run_steer(tmp_path, "rules.toml", "-s", "none.gro", "-f", "md.xtc", "--follow", "--", *RUN)
    assert done.returncode == 3
    assert "mdreel: stopped the simulation, because its frames cannot be checked\n" in done.stderr
    assert done.stderr.endswith("mdreel: error: none.gro: No such file or directory\n")
    assert "Finished mdrun" in (tmp_path / "md.log").read_text()
    assert 1 <= len(trajectory(tmp_path, "md.xtc")) < 200_000
