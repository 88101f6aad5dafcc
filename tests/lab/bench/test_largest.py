"""The largest size of a scenario: within time, cores, disk and memory; and room for its files."""

from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

import mdreel
from full_disk import full_disk
from mdreel.errors import UnsupportedError
from mdreel_lab.bench import data
from mdreel_lab.bench.exchange.points import exchange_points_of
from mdreel_lab.bench.exchange.scenario import Exchange
from mdreel_lab.bench.grid import Point
from mdreel_lab.bench.largest import Cost, Limits, largest_exchange, largest_size
from mdreel_lab.bench.plans import plan_of
from mdreel_lab.bench.records import DONE, LEFT_OUT
from mdreel_lab.bench.room import Room
from mdreel_lab.bench.runner import Runner
from mdreel_lab.bench.scenario import Scenario, Size
from mdreel_lab.bench.scenario_files import read_scenario, shipped

HOUR = Limits(seconds=3600.0, n_cores=2, disk=1e12, memory=1e12)


def largest(name: str, limits: Limits, microseconds: float = 10.0) -> Size:
    scenario = read_scenario(shipped()[name])
    assert isinstance(scenario, Scenario)
    return largest_size(name, scenario, limits, lambda _: Cost(1e-6 * microseconds, n_atoms=3341, n_selected=214))


def test_full_size_has_the_workers_that_the_cores_allow() -> None:
    size = largest("2019-shared", HOUR)
    assert (size.factor, size.workers, size.repeats) == ((600.0,), (1, 2), 5)
    size = largest("2019-shared", replace(HOUR, n_cores=16))
    assert size.workers == (1, 2, 4, 8, 16)


@pytest.mark.parametrize(
    ("name", "limits", "factor"),
    [
        ("2019-shared", {"disk": 20e9}, 300),
        ("2019-subfiling", {"disk": 20e9}, 100),  # the whole file, and the same frames in segments
        ("2017-formats", {"disk": 20e9}, 50),  # DCD, and a copy of it
        ("2018-dihedrals", {"memory": 30e9}, 300),
        ("2019-no-io", {"memory": 20e9}, 300),
    ],
)
def test_files_and_results_fit(name: str, limits: dict[str, float], factor: float) -> None:
    assert largest(name, HOUR).factor > (factor,)
    assert largest(name, replace(HOUR, **limits)).factor == (factor,)


def test_time_is_for_two_repeats_at_least() -> None:
    of_one_repeat = 2 * (1.5 + 600 * 4187 * 10e-6)
    assert largest("2019-shared", replace(HOUR, seconds=2.1 * of_one_repeat)).repeats == 2
    assert largest("2019-shared", replace(HOUR, seconds=2.1 * of_one_repeat)).factor == (600.0,)
    assert largest("2019-shared", replace(HOUR, seconds=1.9 * of_one_repeat)).factor == (300.0,)


def test_small_size_remains_if_no_larger_one_fits() -> None:
    small = read_scenario(shipped()["2019-shared"]).small
    assert largest("2019-shared", replace(HOUR, seconds=1.0)) == small


def test_series_that_cannot_run_take_no_time() -> None:
    scenario = read_scenario(shipped()["2019-subfiling"])
    assert isinstance(scenario, Scenario)

    def cost_of(point: Point) -> Cost | None:
        return None if point.communication == "global-arrays" else Cost(10e-6, 3341, 214)

    limits = replace(HOUR, seconds=4 * 2 * 27.0)
    assert largest_size("2019-subfiling", scenario, limits, cost_of).factor == (600.0,)
    assert largest("2019-subfiling", limits).factor == (200.0,)


@pytest.mark.parametrize("hours", [0.1, 1, 24])
@pytest.mark.parametrize("name", ["2024-one-node", "2024-nodes", "in-situ-jac-stmv"])
def test_exchange_keeps_the_published_period(name: str, hours: float) -> None:
    scenario = read_scenario(shipped()[name])
    assert isinstance(scenario, Exchange)
    size = largest_exchange(name, scenario, replace(HOUR, seconds=3600 * hours), lambda _: True)
    assert size.speed == 1
    assert max(size.pairs) <= 2
    assert scenario.small.frames <= size.frames <= 128
    points = exchange_points_of(name, scenario, size)
    asleep = sum(point.n_frames * point.period for point in points)
    assert asleep <= 3600 * hours or size.frames == scenario.small.frames
    assert size.repeats == 1 or size.frames == 128


MINE = """
title = "Mine"

[small]
factor = 0.02
workers = [1]

[full]
factor = {full}
workers = [1, 1000]
repeats = 5

[[grid]]
executor = "serial"
"""


def test_command_runs_the_largest_size_and_continues_with_the_same(tmp_path: Path, bench) -> None:
    (tmp_path / "mine.toml").write_text(MINE.format(full=2))
    command = ("run", "mine.toml", "--size", "largest", "--minutes", "0.5", "-o", "results", "--report")
    done = bench(tmp_path, *command)
    assert done.returncode == 0, done.stderr
    records = plan_of(tmp_path / "results", "mine")[2]
    assert {(kept.status, kept.point.n_frames, kept.point.n_workers) for kept in records} == {(DONE, 2 * 4187, 1)}
    assert 2 <= len(records) <= 5
    assert "Size: largest" in (tmp_path / "results/report/mine.md").read_text()
    again = bench(tmp_path, *command)
    assert f"0 done, {len(records)} done before, 0 left out, 0 failed" in again.stderr


@pytest.mark.parametrize(
    "arguments", [("--minutes", "5"), ("--size", "largest", "--minutes", "0"), ("--size", "largest", "--repeats", "2")]
)
def test_minutes_are_for_the_largest_size(tmp_path: Path, bench, arguments: tuple[str, ...]) -> None:
    (tmp_path / "mine.toml").write_text(MINE.format(full=1))
    done = bench(tmp_path, "run", "mine.toml", "-o", "results", *arguments)
    assert done.returncode == 2
    assert "--minutes" in done.stderr
    assert not (tmp_path / "results").exists()


def test_points_without_room_on_the_disk_are_left_out(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(MINE.format(full=1))
    disk = tmp_path / "disk"
    disk.mkdir()
    with full_disk(disk, 1024) as folder:
        if not folder.is_mount():
            pytest.skip("only root can make a small disk")
        counts = Runner(tmp_path / "results", folder).run([mine], "full")
        assert (counts.n_left_out, counts.n_done, counts.failed) == (5, 0, [])
        (kept, *_) = plan_of(tmp_path / "results", "mine")[2]
        assert kept.status == LEFT_OUT
        assert "needs 0.1 GB, but 0.0 GB are free" in kept.message
        assert not list(folder.glob("*.xtc"))


def test_generated_files_make_room_in_the_order_of_their_last_use(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with full_disk(disk, 1024) as folder:
        if not folder.is_mount():
            pytest.skip("only root can make a small disk")
        room = Room(folder)
        own = folder / "own.xtc"
        first, second, third = (folder / f"{name}.xtc" for name in ("first", "second", "third"))
        for path in (own, first, second, third):
            path.write_bytes(bytes(200_000))
            room.use(path, is_new=path != own)
        room.use(first, is_new=False)
        whole = room.size()
        assert whole >= 3 * 200_000
        room.make(folder / "new.xtc", 300_000)
        assert (second.exists(), third.exists(), first.exists(), own.exists()) == (False, True, True, True)
        room.make(folder / "new.xtc", 500_000, needed=[third])
        assert (third.exists(), first.exists(), own.exists()) == (True, False, True)
        with pytest.raises(UnsupportedError, match="are free"):
            room.make(folder / "new.xtc", 1 << 20)
        assert third.exists()
        assert room.size() == pytest.approx(whole, abs=20_000)


def test_long_trajectories_repeat_their_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "UNIQUE_FRAMES", 50)
    system = data.make("adk", 120, tmp_path, ("xtc", "dcd", "h5md"))
    short = data.make("adk", 20, tmp_path, ("h5md",))
    with h5py.File(system.trajectory("h5md")) as ours, h5py.File(short.trajectory("h5md")) as of_mdanalysis:
        name = "particles/trajectory/position/value"
        assert ours[name].chunks == of_mdanalysis[name].chunks
    for form in ("xtc", "dcd", "h5md"):
        positions = mdreel.read(str(system.trajectory(form))).positions
        assert len(positions) == 120
        np.testing.assert_array_equal(positions[:50], positions[50:100])
        np.testing.assert_array_equal(positions[:20], positions[100:])
        assert not np.array_equal(positions[0], positions[1])
