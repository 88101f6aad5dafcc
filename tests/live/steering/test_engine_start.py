"""Tests of how ``mdreel steer`` starts an engine: nothing starts in vain, and no frames of another run are checked."""

import sys
from pathlib import Path

import pytest

from growing_file import N_ATOMS
from live.steering.conftest import ENDLESS, run_steer, write_inputs

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path_factory.mktemp("channels")
    place.chmod(0o700)
    monkeypatch.setenv("MDREEL_CHANNELS", str(place))
    return place


def test_simulation_that_cannot_be_checked_is_stopped(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    words = ["rules.toml", "-s", "none.gro", "--channel", "run", "--log", "log.jsonl"]
    done = run_steer(tmp_path, *words, "--", sys.executable, "-c", ENDLESS)
    assert done.returncode != 0
    stopped, error = done.stderr.splitlines()[-2:]
    assert stopped == "mdreel: stopped the simulation, because its frames cannot be checked"
    assert "none.gro" in error


@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        ('select = "name OW"', 'select = "all"', "selection 'name OW' matches none of the"),
        ('column = "radius"', 'column = "rg"', "rule 'any': rg has no column 'radius'; known: rg"),
        ("", 'column = "rg"\n', "rule 'any': rg has several columns; set column to one of: rg"),
    ],
)
@pytest.mark.parametrize("has_positions", [True, False])
def test_simulation_is_not_started_if_rules_do_not_fit_the_topology(
    tmp_path: Path, wrong: str, right: str, message: str, has_positions: bool
) -> None:
    write_inputs(tmp_path)
    topology = "top.gro"
    if not has_positions:
        topology = "top.psf"
        atoms = [f"{i:8d} A {i:4d} ALA CA CT1 0.000000 12.0110 0\n" for i in range(1, N_ATOMS + 1)]
        text = f"PSF\n\n       1 !NTITLE\n REMARKS\n\n{N_ATOMS:8d} !NATOM\n{''.join(atoms)}\n       0 !NBOND: bonds\n\n"
        (tmp_path / topology).write_text(text)
    rules = (tmp_path / "rules.toml").read_text()
    assert right in rules
    (tmp_path / "rules.toml").write_text(rules.replace(right, wrong))
    words = ["rules.toml", "-s", topology, "--channel", "run", "--log", "log.jsonl"]
    done = run_steer(tmp_path, *words, "--", sys.executable, "-c", "open('started', 'w')")
    assert done.returncode == 3, done.stderr
    assert message in done.stderr
    assert not (tmp_path / "started").exists()


def test_engine_that_publishes_on_another_channel_is_terminated(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    words = ["rules.toml", "-s", "top.gro", "--channel", "rum", "--wait", "300", "--log", "log.jsonl"]
    (tmp_path / "endless.py").write_text(ENDLESS)
    engine = f"{sys.executable} endless.py & trap 'kill $!' TERM; wait"
    done = run_steer(tmp_path, *words, "--", "sh", "-c", engine)
    assert done.returncode == 3, done.stderr
    assert "rum: the engine publishes on the channel run instead: give --channel run" in done.stderr
    assert not (tmp_path / "log.jsonl").exists()


def test_trajectory_of_an_earlier_run_is_not_checked(tmp_path: Path) -> None:
    """An engine that ends before it writes a frame leaves the trajectory of the run before."""
    write_inputs(tmp_path)
    write = [sys.executable, str(Path(__file__).parents[2] / "growing_file.py"), "xtc", "5", "md.xtc"]
    words = ["rules.toml", "-s", "top.gro", "-f", "md.xtc", "--follow", "--log", "log.jsonl", "--dry-run", "--"]
    done = run_steer(tmp_path, *words, *write)
    assert done.returncode == 0, done.stderr
    assert "after 5 frames" in (tmp_path / "log.jsonl").read_text()
    (tmp_path / "log.jsonl").unlink()
    done = run_steer(tmp_path, *words, "sh", "-c", "exit 7")
    assert done.returncode == 3
    assert "ended with status 7 without writing to the trajectory" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "log.jsonl").exists()
    done = run_steer(tmp_path, *words, *write)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("status", [0, 7])
def test_rules_are_not_checked_on_frames_of_an_earlier_run(tmp_path: Path, status: int) -> None:
    """An engine that ends before it opens the channel leaves the frames of the run before."""
    write_inputs(tmp_path)
    earlier = ENDLESS.replace("100000", "5").replace('"run"', '"./run"')
    words = ["rules.toml", "-s", "top.gro", "--channel", "./run", "--log", "log.jsonl", "--dry-run", "--"]
    done = run_steer(tmp_path, *words, sys.executable, "-c", earlier)  # a short run is not taken for an earlier one
    assert done.returncode == 0, done.stderr
    assert "after 5 frames" in (tmp_path / "log.jsonl").read_text()
    (tmp_path / "log.jsonl").unlink()
    done = run_steer(tmp_path, *words, "sh", "-c", f"exit {status}")
    assert done.returncode == 3
    assert f"ended with status {status} without publishing" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "log.jsonl").exists()
    done = run_steer(tmp_path, *words, sys.executable, "-c", earlier)
    assert done.returncode == 0, done.stderr
