"""Exchange of frames between pairs of processes: each solution, on one node and between nodes; pages made of it."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mdreel.errors import MismatchError
from mdreel_lab.bench.exchange import process
from mdreel_lab.bench.exchange.catalogue import PIPELINED, SERIALISED, SYNCHRONISATIONS
from mdreel_lab.bench.exchange.exchanges import work_of
from mdreel_lab.bench.exchange.measures import cells_of, time_of
from mdreel_lab.bench.exchange.models import MODELS, SerialisedFrame
from mdreel_lab.bench.exchange.points import exchange_points_of
from mdreel_lab.bench.exchange.regions import CONSUME, IDLE, MOVEMENT, PRODUCE
from mdreel_lab.bench.exchange.scenario import Exchange
from mdreel_lab.bench.plans import plan_of
from mdreel_lab.bench.records import DONE, FAILED, LEFT_OUT
from mdreel_lab.bench.rigs.hosts import why_there_are_none
from mdreel_lab.bench.rigs.moosefs import why_there_is_none
from mdreel_lab.bench.scenario_files import read_scenario

Bench = Callable[..., "subprocess.CompletedProcess[str]"]
NO_MOOSEFS = why_there_is_none() or why_there_are_none()
MOOSEFS = "MooseFS (as a stand-in for Lustre)"
N_FRAMES = 4
SCENARIO = """
kind = "exchange"
title = "Every solution"
placement = "{placement}"

[small]
frames = 4
pairs = [1, 2]
speed = 50

[[way]]
solution = {solutions}

[[claim]]
source = "a paper"
text = "waiting for a barrier is slow"
finding = 1
side = "consumption"
slower = "local files, barrier-serialised"
faster = "local files, inotify"
published = [10, 20]
"""


def write(folder: Path, solutions: list[str], placement: str = "one-node") -> Path:
    path = folder / "mine.toml"
    path.write_text(SCENARIO.format(solutions=json.dumps(solutions), placement=placement))
    return path


def test_sizes_of_frames_are_the_published_ones() -> None:
    sizes = {name: model.frame_bytes for name, model in MODELS.items()}
    assert {name: round(size / 1024, 2) for name, size in sizes.items()}["jac"] == 644.21
    assert [round(sizes[name] / 2**20, 2) for name in ("apoa1", "f1-atpase", "stmv")] == [2.46, 8.75, 28.48]
    for model in MODELS.values():  # table II: a frame each 0.82 s
        assert round(model.stride / model.steps_per_second, 2) in (0.79, 0.82)


@pytest.mark.parametrize(("sleep", "n_sleeps"), [("frame", 1), ("step", 880)])
def test_simulation_sleeps_for_each_frame_or_each_step(
    sleep: str, n_sleeps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, ["channel-ring"])
    path.write_text(f'sleep = "{sleep}"\n' + path.read_text())
    scenario = read_scenario(path)
    assert isinstance(scenario, Exchange)
    point = exchange_points_of("mine", scenario, scenario.small)[0]
    assert point.n_sleeps == n_sleeps
    work = work_of(point, 0, tmp_path, "127.0.0.1")
    slept: list[float] = []
    monkeypatch.setattr(process.time, "sleep", slept.append)
    assert list(process.due(work, None)) == list(range(N_FRAMES))
    assert len(slept) == N_FRAMES * n_sleeps
    assert sum(slept) == pytest.approx(N_FRAMES * point.period)


def test_frame_of_parts_is_noticed() -> None:
    frame, other = SerialisedFrame(MODELS["jac"], seed=1), SerialisedFrame(MODELS["jac"])
    frame.mark(7)
    other.buffer[:] = frame.buffer
    other.check(7)
    for wrong in (6, 8):
        with pytest.raises(RuntimeError, match=f"frame {wrong} was taken as parts of the frames 7, 7, 7"):
            other.check(wrong)
    frame.mark(8)
    half = len(frame.buffer) // 4
    other.buffer[:half] = frame.buffer[:half]
    with pytest.raises(RuntimeError, match="parts of the frames 8, 7, 7"):
        other.check(8)


def test_every_solution_carries_every_frame_and_says_where_the_time_went(tmp_path: Path, bench: Bench) -> None:
    scenario = write(tmp_path, ["channel-ring", "channel-file", "managed", "local", "dyad", "shared"])
    done = bench(tmp_path, "run", scenario, "-o", "out", "--report")
    assert done.returncode == 0, done.stderr
    records = plan_of(tmp_path / "out", "mine")[2]
    assert len(records) == 2 * (3 + 4 + 1 + 4)
    for kept in records:
        point = kept.point
        if point.solution in ("dyad", "shared"):
            assert kept.status == LEFT_OUT
            assert "DYAD is not installed" in kept.message or "--shared names a folder" in kept.message
            continue
        assert (kept.status, kept.message) == (DONE, "")
        assert len(kept.facts["pairs"]) == point.n_pairs
        for pair in kept.facts["pairs"]:
            assert (np.diff(pair[PRODUCE]["when"]) > 0).all()
            assert (np.array(pair[CONSUME]["when"]) > np.array(pair[PRODUCE]["when"])).all()
            for role in (PRODUCE, CONSUME):
                moved, idle, both = (time_of(pair, role, kind) for kind in (MOVEMENT, IDLE, None))
                assert (moved > 0).all()
                assert len(both) == N_FRAMES
                whole = np.array(pair[role]["regions"][role])
                waited = np.array(pair[role]["regions"].get(f"{role}/await_analysis", [0.0]))
                np.testing.assert_allclose(moved + idle, both)
                assert (both + waited <= whole).all()
            if point.synchronisation == SERIALISED:  # whatever the machine does: both compute between two frames
                assert (np.diff(pair[CONSUME]["when"]) >= 2 * point.period * 1e9).all()
                assert len(pair[PRODUCE]["regions"]["produce/await_analysis"]) == N_FRAMES
            elif point.synchronisation == PIPELINED:
                assert "produce/await_analysis" not in pair[PRODUCE]["regions"]
    page = (tmp_path / "out/report/mine.md").read_text()
    for text in ("**Finding 1**", "(a paper): 10x to 20x", "## Call trees", "![times](mine/times.png)", "## Left out"):
        assert text in page
    assert (tmp_path / "out/report/mine/times.svg").exists()
    again = bench(tmp_path, "run", scenario, "-o", "out")
    assert "0 done, 14 done before, 10 left out, 0 failed" in again.stderr


def test_profile_has_the_regions_of_every_process(tmp_path: Path, bench: Bench) -> None:
    done = bench(tmp_path, "run", write(tmp_path, ["channel-ring"]), "-o", "out")
    assert done.returncode == 0, done.stderr
    kept = plan_of(tmp_path / "out", "mine")[2][1]
    profile = json.loads((tmp_path / f"out/records/mine/{kept.point.key}.cali.json").read_text())
    ranks = {row[1] for row in profile["data"]}
    assert ranks == {0, 1, 2, 3}
    names = [node["label"] for node in profile["nodes"]]
    by_name = {names[row[2]]: row for row in profile["data"] if row[1] == 1}
    regions = kept.facts["pairs"][0][CONSUME]["regions"]
    for name in ("fetch", "read_single_buf"):
        own, inclusive, count = by_name[name][3:]
        assert own == inclusive == pytest.approx(sum(regions[f"consume/{name}"]))
        assert count == N_FRAMES
    own, inclusive, _ = by_name["consume"][3:]
    assert inclusive == pytest.approx(sum(regions["consume"]))
    assert own == pytest.approx(inclusive - by_name["fetch"][4] - by_name["read_single_buf"][4])


@pytest.mark.skipif(why_there_are_none() is not None, reason=str(why_there_are_none()))
def test_frames_go_from_node_to_node(tmp_path: Path, bench: Bench) -> None:
    pytest.importorskip("zenoh")
    shared = tmp_path / "shared"
    shared.mkdir()
    text = write(tmp_path, ["channel-ring", "channel-file", "shared"], "nodes").read_text()
    scenario = tmp_path / "mine.toml"
    scenario.write_text(text.replace("speed = 50", "speed = 50\npairs-per-node = 1"))
    done = bench(tmp_path, "run", scenario, "-o", "out", "--shared", shared, "--report")
    assert done.returncode == 0, done.stderr
    records = plan_of(tmp_path / "out", "mine")[2]
    found = {(kept.point.series, kept.point.n_pairs): (kept.status, kept.message) for kept in records}
    for n_pairs in (1, 2):
        for series in ("channel, ring", "channel, staged", "shared file system, polling"):
            assert found[series, n_pairs] == (DONE, "")
        status, message = found["shared file system, inotify", n_pairs]
        assert status == LEFT_OUT
        assert "what is done on its own node" in message
    assert not list(shared.iterdir())


@pytest.mark.skipif(why_there_are_none() is not None, reason=str(why_there_are_none()))
def test_frames_that_come_faster_than_they_are_carried_all_arrive(tmp_path: Path, bench: Bench) -> None:
    pytest.importorskip("zenoh")
    scenario = write(tmp_path, ["channel-ring"], "nodes")
    text = scenario.read_text().replace("pairs = [1, 2]", "pairs = 1\nstrides = 1").replace("frames = 4", "frames = 12")
    scenario.write_text(text.replace("kind =", 'model = "stmv"\nkind ='))
    done = bench(tmp_path, "run", scenario, "-o", "out")
    assert done.returncode == 0, done.stderr
    [kept] = plan_of(tmp_path / "out", "mine")[2]
    assert (kept.status, kept.message) == (DONE, "")


@pytest.mark.skipif(NO_MOOSEFS is not None, reason=str(NO_MOOSEFS))
def test_moosefs_is_started_for_nodes_and_for_one_node(tmp_path: Path, bench: Bench, data: Path) -> None:
    for placement in ("nodes", "one-node"):
        scenario = write(tmp_path, ["moosefs"], placement)
        done = bench(tmp_path, "run", scenario, "-o", placement, "--report")
        assert done.returncode == 0, done.stderr
        records = plan_of(tmp_path / placement, "mine")[2]
        assert [kept.point.series for kept in records[:4]] == [f"{MOOSEFS}, {way}" for way in SYNCHRONISATIONS]
        for kept in records:
            if placement == "nodes" and kept.point.synchronisation == "inotify":
                assert kept.status == LEFT_OUT
                assert "of nothing that another one does" in kept.message
            else:
                assert (kept.status, kept.message) == (DONE, "")
                assert kept.facts["nodes"] == "namespaces of this machine"
                assert kept.facts["file_system"].startswith("MooseFS ")
        assert MOOSEFS in (tmp_path / placement / "report/mine.md").read_text()
        assert MOOSEFS in (tmp_path / placement / "report/mine/times.svg").read_text()
    assert not list(data.glob("mdreel-*"))


def test_moosefs_is_left_out_with_the_reason_where_it_is_not_installed(tmp_path: Path, bench: Bench) -> None:
    done = bench(tmp_path, "run", write(tmp_path, ["moosefs"], "nodes"), "-o", "out", PATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    for kept in plan_of(tmp_path / "out", "mine")[2]:
        assert kept.status == LEFT_OUT
        assert "MooseFS needs mfsmaster, mfschunkserver" in kept.message
        assert "(Debian: moosefs-master, moosefs-chunkserver, moosefs-client)" in kept.message


def test_process_that_fails_says_why_and_the_others_are_run(tmp_path: Path, bench: Bench) -> None:
    scenario = write(tmp_path, ["shared", "managed"])
    done = bench(tmp_path, "run", scenario, "-o", "out", "--shared", tmp_path / "none")
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    records = plan_of(tmp_path / "out", "mine")[2]
    assert {kept.status for kept in records if kept.point.solution == "managed"} == {DONE}
    failed = [kept for kept in records if kept.point.solution == "shared"]
    assert {kept.status for kept in failed} == {FAILED}
    assert all("No such file or directory" in kept.message for kept in failed)


def test_scenario_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    good = write(tmp_path, ["channel-ring"]).read_text()
    path = tmp_path / "mine.toml"
    for old, new, expected in (
        ('kind = "exchange"', 'kind = "other"', "kind: expected one of exchange, got 'other'"),
        ('"channel-ring"', '"telepathy"', "solution: expected one of"),
        ("speed = 50", "speed = 0", "small: speed must be more than 0"),
        ("speed = 50", "strides = [1, 5]", "small: several of stride, and over = 'pairs'"),
        ("[[way]]", '[[way]]\nsynchronisation = "inotify"', "channel-ring has no 'inotify'"),
        ("frames = 4", "frames = 1", "frames: must be 2 or more"),
        ('faster = "local files, inotify"', "", "claim 1: say what is compared"),
    ):
        path.write_text(good.replace(old, new, 1))
        with pytest.raises(MismatchError) as caught:
            read_scenario(path)
        assert expected in str(caught.value)
    path.write_text(good)
    assert isinstance(read_scenario(path), Exchange)
    assert cells_of([], "pairs") == []
