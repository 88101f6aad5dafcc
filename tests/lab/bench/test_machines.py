"""One report of the records of several machines."""

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mdreel.errors import MismatchError
from mdreel_lab.bench.machines import Machine, machines_of, scenarios_of
from mdreel_lab.bench.plans import plan_of
from mdreel_lab.bench.records import Kept

Bench = Callable[..., "subprocess.CompletedProcess[str]"]

SCENARIO = """
title = "Two machines"
figures = ["seconds", "speed-up", "efficiency", "ranks"]
tables = ["scaling"]

[small]
factor = 0.02
workers = [1, 2]

[full]
factor = 0.03
workers = [1]

[[grid]]
executor = "threads"
"""

EXCHANGE = """
kind = "exchange"
title = "Pairs"
[small]
frames = 3
speed = 1000
[[way]]
solution = "channel-ring"
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, bench: Bench) -> tuple[Path, Path]:
    """Folders with the records of two machines. The second machine has a different name."""
    place = tmp_path_factory.mktemp("machines")
    (place / "mine.toml").write_text(SCENARIO)
    (place / "pairs.toml").write_text(EXCHANGE)
    for name in ("one", "two"):
        done = bench(place, "run", "mine.toml", "pairs.toml", "-o", name)
        assert done.returncode == 0, done.stderr
    for path in (place / "two" / "records").rglob("*.json"):
        content = json.loads(path.read_text())
        if "environment" in content:
            content["environment"]["cpu"] = "Another processor"
            path.write_text(json.dumps(content))
    return place / "one", place / "two"


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def mean(kept: Kept, observable: str) -> float:
    assert kept.timing is not None
    return float(np.mean(getattr(kept.timing.observables, observable)))


def test_machines_are_side_by_side(tmp_path: Path, bench: Bench, folders: tuple[Path, Path]) -> None:
    one, two = folders
    done = bench(tmp_path, "report", f"comet={one}", two, "-o", "merged")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "merged/index.md\n"
    merged = tmp_path / "merged"
    machines = rows_of(merged / "mine" / "machines.csv")
    assert [row["Machine"] for row in machines] == ["comet", "two"]
    assert machines[1]["CPU"] == "Another processor" != machines[0]["CPU"]

    rows = rows_of(merged / "mine" / "comparison.csv")
    assert [(row["N"], row["Machine"]) for row in rows] == [("1", "comet"), ("1", "two"), ("2", "comet"), ("2", "two")]
    for folder, name in ((one, "comet"), (two, "two")):
        records = {kept.point.n_workers: kept for kept in plan_of(folder, "mine")[2]}
        for row in (row for row in rows if row["Machine"] == name):
            kept = records[int(row["N"])]
            assert (row["Frames"], row["Cache"]) == (str(kept.point.n_frames), kept.point.cache)
            assert float(row["t_comp (s)"]) == pytest.approx(mean(kept, "t_comp"))
            assert float(row["t_io (s)"]) == pytest.approx(mean(kept, "t_io"))
            assert kept.timing is not None
            alone = records[1].timing
            assert alone is not None
            t_total = kept.timing.observables.t_total
            assert float(row["t_total (s)"]) == pytest.approx(t_total)
            assert float(row["S(N)"]) == pytest.approx(alone.observables.t_total / t_total)
    scaling = rows_of(merged / "mine" / "scaling.csv")
    assert {row["Series"] for row in scaling} == {"threads, comet", "threads, two"}
    picture = (merged / "mine" / "efficiency.svg").read_text()
    assert "threads, comet" in picture
    assert "threads, two" in picture


def test_exchange_has_a_page_for_each_machine(tmp_path: Path, bench: Bench, folders: tuple[Path, Path]) -> None:
    done = bench(tmp_path, "report", *(f"m{i}={folder}" for i, folder in enumerate(folders)), "-o", "merged")
    assert done.returncode == 0, done.stderr
    index = (tmp_path / "merged" / "index.md").read_text()
    for name in ("pairs-m0", "pairs-m1"):
        assert f"]({name}.md)" in index
        assert (tmp_path / "merged" / f"{name}.md").exists()
    assert "of 4 points, small size on m0, m1" in index


def test_single_machine_has_the_page_that_it_had(tmp_path: Path, bench: Bench, folders: tuple[Path, Path]) -> None:
    done = bench(tmp_path, "report", folders[0], "-o", "alone")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "alone" / "mine" / "machines.csv").exists()
    assert {row["Series"] for row in rows_of(tmp_path / "alone" / "mine" / "scaling.csv")} == {"threads"}


def test_machines_are_named(tmp_path: Path) -> None:
    (tmp_path / "a=b").mkdir()
    assert machines_of([f"{tmp_path}/a=b"]) == [Machine("", tmp_path / "a=b")]
    assert machines_of(["x=one", "two"]) == [Machine("x", Path("one")), Machine("two", Path("two"))]
    with pytest.raises(MismatchError, match="two machines are called 'one'"):
        machines_of(["one", "elsewhere/one"])
    with pytest.raises(MismatchError, match="must not contain /"):
        machines_of(["a/b=one", "two"])


def test_machines_with_different_sizes_are_refused(tmp_path: Path, bench: Bench, folders: tuple[Path, Path]) -> None:
    (tmp_path / "mine.toml").write_text(SCENARIO)
    assert bench(tmp_path, "run", "mine.toml", "-o", "full", "--size", "full").returncode == 0
    done = bench(tmp_path, "report", folders[0], "full", "-o", "merged")
    assert done.returncode == 3
    assert "mine: one has the small size, but full the full size: compare runs of the same size" in done.stderr
    with pytest.raises(MismatchError, match="there are no records of benchmarks"):
        scenarios_of([Machine("one", folders[0]), Machine("none", tmp_path / "none")])


def test_several_machines_need_a_folder_for_the_report(tmp_path: Path, bench: Bench) -> None:
    done = bench(tmp_path, "report", "a", "b")
    assert done.returncode == 2
    assert "give the folder of the report of several machines: -o FOLDER" in done.stderr
