"""The data of a scenario: trajectories of users, lengths, weak scaling, and folders on several file systems."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, GRO, PSF, TRR

import mdreel
from mdreel.trajectory.convert import convert
from mdreel_lab.bench.measures import series_of
from mdreel_lab.bench.own_data import OwnData, length_of
from mdreel_lab.bench.plans import plan, plan_of
from mdreel_lab.bench.records import DONE, LEFT_OUT, Kept
from mdreel_lab.bench.scenario_files import read_scenario
from mdreel_lab.bench.tables import TABLES

Bench = Callable[..., "subprocess.CompletedProcess[str]"]

OWN = """
title = "My own data"
tables = ["scaling", "storage"]

[data]
topology = "{topology}"
trajectory = "{trajectory}"
selection = "name CA"
{data}

[small]
factor = {factor}
workers = {workers}

[[grid]]
executor = "{executor}"
format = "{form}"
"""


def scenario(folder: Path, **settings: object) -> Path:
    values = {"topology": PSF, "trajectory": DCD, "data": "", "factor": 1, "workers": [1, 2], "executor": "threads"}
    path = folder / "own.toml"
    path.write_text(OWN.format(**(values | {"form": "dcd"} | settings)))
    return path


def run(bench: Bench, folder: Path, **settings: object) -> list[Kept]:
    done = bench(folder, "run", scenario(folder, **settings), "-o", "results", "--report")
    assert done.returncode == 0, done.stderr
    return plan_of(folder / "results", "own")[2]


def mean_rmsd(n_frames: int) -> float:
    """The mean RMSD of the first frames of endless copies of the trajectory, by a plain loop."""
    import MDAnalysis as mda
    from MDAnalysis.analysis.rms import rmsd

    atoms = mda.Universe(PSF, DCD).select_atoms("name CA")
    positions = [atoms.positions.astype(np.float64) for _ in atoms.universe.trajectory]
    values = [rmsd(one, positions[0], superposition=True) for one in positions]
    return float(np.mean([values[i % len(values)] for i in range(n_frames)]))


@pytest.mark.parametrize(("form", "factor"), [("dcd", 1), ("xtc", 3), ("ncdf", 1.5), ("trr", 0.5)])
def test_own_trajectory_is_repeated_and_converted(tmp_path: Path, bench: Bench, form: str, factor: float) -> None:
    n_frames = round(98 * factor)
    one, two = run(bench, tmp_path, form=form, factor=factor)
    for kept in (one, two):
        assert (kept.status, kept.message) == (DONE, "")
        assert kept.point.n_frames == n_frames
        assert kept.timing is not None
        assert kept.timing.n_frames == n_frames
        assert kept.facts["check"] == pytest.approx(mean_rmsd(n_frames), abs=1e-3)
    path = Path(one.environment["files"][0]["path"])
    assert (path == Path(DCD)) == (form == "dcd")


def test_file_of_the_user_is_used_in_place_and_nothing_is_written_beside_it(tmp_path: Path, bench: Bench) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for source, name in ((PSF, "top.psf"), (DCD, "traj.dcd")):
        (folder / name).write_bytes(Path(source).read_bytes())
    before = sorted(folder.iterdir())
    paths = {"topology": "mine/top.psf", "trajectory": "mine/traj.dcd"}  # relative to the scenario
    (kept, _) = run(bench, tmp_path, **paths)
    assert Path(kept.environment["files"][0]["path"]) == folder / "traj.dcd"
    (copied, _) = run(bench, tmp_path, **paths, data='cache = "copy"')
    assert copied.status == DONE
    done = bench(tmp_path, "run", scenario(tmp_path, **paths), "-o", "results")
    assert done.returncode == 0
    assert sorted(folder.iterdir()) == before


def test_programs_that_write_an_index_read_a_copy(tmp_path: Path, bench: Bench, data: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    convert(DCD, folder / "traj.xtc")
    before = sorted(folder.iterdir())
    paths = {"topology": PSF, "trajectory": "mine/traj.xtc", "form": "xtc", "workers": [1], "executor": "serial"}
    text = scenario(tmp_path, **paths).read_text().replace("[[grid]]", '[[grid]]\nprogram = ["mdreel", "mdanalysis"]')
    text += '[[grid]]\nprogram = "published"\nexecutor = "processes"\nformat = "xtc"\nschedule = "static"\n'
    (tmp_path / "theirs.toml").write_text(text)
    done = bench(tmp_path, "run", "theirs.toml", "-o", "results")
    assert done.returncode == 0, done.stderr
    ours, *theirs = plan_of(tmp_path / "results", "theirs")[2]
    assert Path(ours.environment["files"][0]["path"]) == folder / "traj.xtc"
    for kept in theirs:
        assert (kept.status, kept.message) == (DONE, "")
        assert Path(kept.environment["files"][0]["path"]).is_relative_to(data)
        assert kept.facts["check"] == pytest.approx(ours.facts["check"], abs=1e-3)
    assert sorted(folder.iterdir()) == before


def test_copies_are_those_of_the_file(tmp_path: Path) -> None:
    own = OwnData(Path(GRO), Path(TRR), 25, tmp_path)
    assert length_of(TRR) == 10
    made = mdreel.trajectory.open(str(own.make("xtc")))
    original = mdreel.trajectory.open(TRR)
    atoms = np.arange(original.n_atoms, dtype=np.uint32)
    frames = [source.read(_all(source), atoms).positions for source in (made, original)]
    assert frames[0].shape == (25, original.n_atoms, 3)
    for i in range(25):
        assert np.abs(frames[0][i] - frames[1][i % 10]).max() < 0.006  # XTC rounds to 0.01 Å
    assert own.make("xtc") == own.path("xtc")
    assert own.make("trr") != own.trajectory
    assert OwnData(Path(GRO), Path(TRR), 10, tmp_path).make("trr") == Path(TRR)


def _all(source: object) -> object:
    from mdreel._core import FrameSet

    return FrameSet.range(0, 1, source.n_frames)  # type: ignore[attr-defined]


def test_several_lengths_are_series(tmp_path: Path) -> None:
    points = plan("own", read_scenario(scenario(tmp_path, factor="[50, 600]")), "small")
    assert {(point.series, point.n_frames) for point in points} == {("50x", 50 * 98), ("600x", 600 * 98)}
    assert len({point.key for point in points}) == 4


def test_frames_grow_with_workers_in_weak_scaling(tmp_path: Path, bench: Bench) -> None:
    one, two = run(bench, tmp_path, data='scaling = "weak"', factor=0.5)
    assert (one.point.n_frames, two.point.n_frames) == (49, 98)
    assert [kept.timing.n_frames for kept in (one, two) if kept.timing is not None] == [49, 98]
    assert two.facts["check"] == pytest.approx(mean_rmsd(98), abs=1e-3)
    (series,) = series_of([one, two])
    times = [series.cells[i].repeats[0].seconds for i in (0, 1)]
    assert series.spread("efficiency", series.cells[1]).mean == pytest.approx(times[0] / times[1])
    assert series.spread("speed-up", series.cells[1]).mean == pytest.approx(2 * times[0] / times[1])


def test_each_storage_is_a_series_with_the_name_of_its_file_system(tmp_path: Path, bench: Bench) -> None:
    here, memory = tmp_path / "disk", Path("/dev/shm") / f"mdreel-{tmp_path.name}-{id(tmp_path)}"
    for folder in (here, memory):
        folder.mkdir()
    try:
        storage = f'storage = ["{here}", "{memory}", "/nowhere/at/all"]'
        records = run(bench, tmp_path, data=storage, workers=2, form="xtc")
    finally:
        for path in sorted(memory.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        memory.rmdir()
    on_disk, in_memory, nowhere = records
    assert [kept.point.series for kept in records] == [f"on {here}", f"on {memory}", "on /nowhere/at/all"]
    assert on_disk.facts["check"] == in_memory.facts["check"]
    assert in_memory.environment["files"][0]["file_system"] == "tmpfs"
    assert in_memory.environment["files"][0]["mount"] == "/dev/shm"
    assert on_disk.environment["files"][0]["path"].startswith(str(here))
    assert nowhere.status == LEFT_OUT
    assert nowhere.message == "the folder /nowhere/at/all of the storage does not exist here"
    table = TABLES["storage"](series_of(records), ())
    assert [row[:4] for row in table.rows][1] == (f"on {memory}", "2", "tmpfs", "/dev/shm")
    assert "tmpfs" in (tmp_path / "results/report/own.md").read_text()


def test_segments_of_an_own_trajectory_are_with_the_data(tmp_path: Path, bench: Bench, data: Path) -> None:
    text = scenario(tmp_path, workers=2).read_text() + 'access = "segments"\nschedule = "static"\n'
    (tmp_path / "parts.toml").write_text(text)
    done = bench(tmp_path, "run", "parts.toml", "-o", "results")
    assert done.returncode == 0, done.stderr
    (kept,) = plan_of(tmp_path / "results", "parts")[2]
    assert kept.facts["check"] == pytest.approx(mean_rmsd(98), abs=1e-3)
    paths = [Path(file["path"]) for file in kept.environment["files"]]
    assert len(paths) == 2
    assert all(path.is_relative_to(data) for path in paths)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"trajectory": "none.xtc"}, "none.xtc"),
        ({"trajectory": ""}, "topology and trajectory go together"),
        ({"factor": "[1, 0]"}, "small: factor must be more than 0, not 0"),
        ({"data": 'scaling = "linear"'}, "scaling: expected one of strong, weak"),
        ({"trajectory": PSF}, "adk.psf"),
    ],
)
def test_wrong_data_are_refused_before_anything_is_run(
    tmp_path: Path, bench: Bench, settings: dict[str, object], expected: str
) -> None:
    done = bench(tmp_path, "run", scenario(tmp_path, **settings), "-o", "results")
    assert done.returncode == 3, done.stderr
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "results").exists()


def test_points_of_older_records_keep_their_keys(tmp_path: Path) -> None:
    """A folder that was begun before these settings existed is continued."""
    path = tmp_path / "old.toml"
    path.write_text('title = "Old"\n[small]\nfactor = 0.02\nworkers = [1]\n[[grid]]\nexecutor = "serial"\n')
    (point,) = plan("old", read_scenario(path), "small")
    assert point.key == "serial-n1-r1-b08f92a5"
