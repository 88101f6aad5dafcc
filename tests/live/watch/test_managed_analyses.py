"""Tests of analyses that operators add: their results, pauses, ends, and settings that are refused."""

import csv
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

from mdreel.cli.live.page_analyses import PROGRAM, check_settings, page_schema
from mdreel.errors import MismatchError, StreamError
from mdreel.live.notices.process import Process
from mdreel.live.notices.reader import NoticeReader, list_notices
from mdreel.live.producers.producer import Producer
from mdreel.live.watch.managed_analyses import MOST_ANALYSES, AnalysisTypes, ManagedAnalyses
from watched_page import MDREEL, PATIENCE_SECONDS

N_ATOMS = 3341


def until(is_so: Callable[[], Any]) -> None:
    end = monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert monotonic() < end
        sleep(0.05)


@pytest.fixture
def managed(adk: dict[str, Path]) -> Iterator[ManagedAnalyses]:
    task = {"topology": str(adk["psf"]), "index": None}
    analyses = ManagedAnalyses(AnalysisTypes(page_schema(), check_settings, PROGRAM, task))
    yield analyses
    analyses.close()


def state_of(managed: ManagedAnalyses, number: int) -> str:
    return managed.find(number).process.state


def positions_of(frame: int) -> np.ndarray:
    return np.random.default_rng(frame).normal(scale=10 + frame, size=(N_ATOMS, 3)).astype(np.float32)


def table_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_results_are_those_of_the_command(
    managed: ManagedAnalyses, adk: dict[str, Path], folder: Path, tmp_path: Path
) -> None:
    produce = [*MDREEL, "produce", str(adk["dcd"]), "--channel", "run1", "--consumers", "1", "-q"]
    with subprocess.Popen(produce) as simulation:
        until((folder / "run1" / "ring").exists)
        number = managed.add(folder / "run1", {"type": "rmsd", "ref-frame": 3, "weights": "mass"}, "My RMSD")
        until(lambda: state_of(managed, number) == "finished")
        assert simulation.wait(60) == 0
    managed.find(number).process.save(tmp_path / "page.csv")
    files = ["-s", str(adk["psf"]), "-f", str(adk["dcd"]), "-o", str(tmp_path / "command.csv"), "-q"]
    subprocess.run([*MDREEL, "rmsd", *files, "--ref-frame", "3", "--weights", "mass"], check=True)
    assert (tmp_path / "page.csv").read_bytes() == (tmp_path / "command.csv").read_bytes()
    (notice,) = [NoticeReader(path).read() for path in list_notices(folder / "run1")]
    assert notice is not None
    assert (notice.name, notice.state, notice.n_frames) == ("My RMSD", "finished", 98)
    process = managed.find(number).process
    managed.remove(number)
    assert process.wait(PATIENCE_SECONDS)
    until(lambda: list_notices(folder / "run1") == [])
    with pytest.raises(MismatchError, match="no analysis 1 on this page"):
        managed.find(number)


def test_paused_analysis_leaves_frames_out_and_the_simulation_does_not_wait(
    managed: ManagedAnalyses, folder: Path, tmp_path: Path
) -> None:
    with Producer("run1", N_ATOMS, n_slots=4, timeout=PATIENCE_SECONDS) as producer:

        def publish(first: int, end: int) -> None:
            for frame in range(first, end):
                producer.publish(positions_of(frame), frame, float(frame))

        publish(0, 3)
        number = managed.add(folder / "run1", {"type": "rg"}, None)
        until(lambda: any(notice.n_frames == 3 for notice in notices_of(folder / "run1")))
        managed.pause(number)
        until(lambda: state_of(managed, number) == "paused")
        publish(3, 300)
        until(lambda: producer_lag(folder / "run1") == 0)
        managed.resume(number)
        until(lambda: state_of(managed, number) == "running")
        publish(300, 310)
    until(lambda: state_of(managed, number) == "finished")
    managed.find(number).process.save(tmp_path / "rg.csv")
    frames = [int(float(row["frame"])) for row in table_of(tmp_path / "rg.csv")]
    assert frames == [0, 1, 2, *range(300, 310)]


def notices_of(channel: Path) -> list[Any]:
    found = [NoticeReader(path).read() for path in list_notices(channel)]
    return [notice for notice in found if notice is not None]


def producer_lag(channel: Path) -> int | None:
    from mdreel.live.channels.status import Status

    return Status.read(channel).lag


def test_changed_analysis_starts_anew_and_a_wrong_change_changes_nothing(
    managed: ManagedAnalyses, folder: Path
) -> None:
    with Producer("run1", N_ATOMS, n_slots=8) as producer:
        for frame in range(5):
            producer.publish(positions_of(frame), frame, float(frame))
        number = managed.add(folder / "run1", {"type": "rg"}, None)
        until(lambda: state_of(managed, number) == "running")
        before = managed.find(number).process
        with pytest.raises(MismatchError, match="unknown name 'cutoff'"):
            managed.change(number, {"type": "rg", "cutoff": 3}, None)
        assert managed.find(number).process is before
        assert not before.has_ended
        managed.change(number, {"type": "rg", "weights": "none"}, "other")
        assert before.wait(PATIENCE_SECONDS)
        until(lambda: [notice.name for notice in notices_of(folder / "run1")] == ["other"])
        assert managed.find(number).to_json()["settings"] == {"type": "rg", "weights": "none"}
        with pytest.raises(MismatchError, match="no analysis 9 on this page"):
            managed.change(9, {"type": "rg"}, None)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"type": "rg", "select": "name XX"}, "name XX"),
        ({"type": "rg", "select": "name ("}, "name ("),
    ],
)
def test_analysis_that_fails_says_why(
    managed: ManagedAnalyses, folder: Path, settings: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with Producer("run1", N_ATOMS, n_slots=8) as producer:
        producer.publish(positions_of(0), 0, 0.0)
        number = managed.add(folder / "run1", settings, None)
        until(lambda: state_of(managed, number) == "failed")
        assert words in (managed.find(number).process.reason or "")
        with pytest.raises(StreamError, match="has ended"):
            managed.find(number).process.save(tmp_path / "table.csv")


def test_topology_of_another_system_is_reported(managed: ManagedAnalyses, folder: Path) -> None:
    with Producer("run1", 20, n_slots=8) as producer:
        producer.publish(np.zeros((20, 3), np.float32), 0, 0.0)
        number = managed.add(folder / "run1", {"type": "rg"}, None)
        until(lambda: state_of(managed, number) == "failed")
        assert "the topology has 3341" in (managed.find(number).process.reason or "")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "type must be one of rmsd, "),
        ({"type": "os.system"}, "type must be one of rmsd, "),
        ({"type": ["rmsd"]}, "type must be one of rmsd, "),
        ({"type": "rmsd", "output": "/tmp/x.csv"}, "unknown name 'output'"),
        ({"type": "rmsd", "plot": "x.png"}, "unknown name 'plot'"),
        ({"type": "rmsd", "reference": "/etc/passwd"}, "unknown name 'reference'"),
        ({"type": "average", "structure": "x.pdb"}, "unknown name 'structure'"),
        ({"type": "density", "grid": "x.dx"}, "unknown name 'grid'"),
        ({"type": "rmsd", "topology": "x.pdb"}, "unknown name 'topology'"),
        ({"type": "rmsd", "ref-frame": "first"}, "ref-frame: expected a whole number, got 'first'"),
        ({"type": "rmsd", "ref-frame": 1.5}, "ref-frame: expected a whole number, got 1.5"),
        ({"type": "rmsd", "superposition": 1}, "superposition: expected true or false, got 1"),
        ({"type": "rmsd", "weights": "charge"}, "weights: expected one of none, mass, got 'charge'"),
        ({"type": "rmsd", "select": None}, "select: expected a text, got None"),
        ({"type": "rmsd", "tol-mass": -1.0}, "tol-mass must be 0 or more, not -1.0"),
    ],
)
def test_settings_that_recipes_or_pages_cannot_have_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(MismatchError) as caught:
        check_settings(settings)
    assert words in str(caught.value)
    assert "page:" not in str(caught.value)


def test_no_setting_of_the_page_is_a_file() -> None:
    from pathlib import Path as File
    from typing import get_args

    from mdreel.cli.live.page_analyses import page_format

    kinds = [setting.kind for one in (page_format().analyses or {}).values() for setting in one.settings.values()]
    assert len(kinds) > 80
    assert not [kind for kind in kinds if kind is File or File in get_args(kind)]
    schema = page_schema()
    assert {"select", "weights", "ref-frame"} <= set(schema["rmsd"]["properties"])
    assert schema["rmsd"]["properties"]["weights"]["enum"] == ["none", "mass"]


def test_number_of_analyses_is_limited(folder: Path) -> None:
    types = AnalysisTypes({}, lambda settings: None, ("sleep", "60"), {})
    analyses = ManagedAnalyses(types)
    for _ in range(MOST_ANALYSES):
        analyses.add(folder / "run1", {"type": "rg"}, None)
    with pytest.raises(MismatchError, match="already runs 16 analyses"):
        analyses.add(folder / "run1", {"type": "rg"}, None)
    processes = [one.process for one in analyses.of_channel(folder / "run1")]
    for process in processes:
        process.kill()
    analyses.close()
    assert all(process.wait(PATIENCE_SECONDS) for process in processes)


def test_analyses_do_not_outlive_a_server_that_is_killed(adk: dict[str, Path], folder: Path) -> None:
    program = (
        "import json, sys, time\n"
        "from pathlib import Path\n"
        "from mdreel.cli.live.page_analyses import PROGRAM, check_settings, page_schema\n"
        "from mdreel.live.watch.managed_analyses import AnalysisTypes, ManagedAnalyses\n"
        "task = {'topology': sys.argv[1], 'index': None}\n"
        "each = ManagedAnalyses(AnalysisTypes(page_schema(), check_settings, PROGRAM, task))\n"
        "number = each.add(Path(sys.argv[2]), {'type': 'rg'}, None)\n"
        "while each.find(number).process.state != 'running': time.sleep(0.05)\n"
        "print(each.find(number).process.number, flush=True)\n"
        "time.sleep(600)\n"
    )
    with Producer("run1", N_ATOMS, n_slots=8) as producer:
        producer.publish(positions_of(0), 0, 0.0)
        command = [MDREEL[0], "-c", program, str(adk["psf"]), str(folder / "run1")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            analysis = Process.from_id(int(server.stdout.readline()))
            assert analysis.is_alive
            server.kill()
        until(lambda: not analysis.is_alive)
        until(lambda: producer_lag(folder / "run1") is None)
