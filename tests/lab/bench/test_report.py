"""Reports: tables are what the records say, computed once more by other means; published values are hollow."""

import csv
import json
import math
import shutil
import statistics
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from mdreel.errors import FormatError, MismatchError
from mdreel.timing.files import write_record
from mdreel.timing.record import Record
from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK, SPAN, TASK
from mdreel.timing.timing import Timing
from mdreel_lab.bench.component_figures import OF_COMPONENTS, components, efficiency_over_ratio, split_times
from mdreel_lab.bench.component_figures import tasks as tasks_figure
from mdreel_lab.bench.figures import over_workers
from mdreel_lab.bench.grid import Point
from mdreel_lab.bench.machines import Machine
from mdreel_lab.bench.measures import series_of
from mdreel_lab.bench.plans import keep_plan
from mdreel_lab.bench.records import DONE, FAILED, Kept, keep, place_of, spans_of
from mdreel_lab.bench.report import write_reports
from mdreel_lab.bench.scenario import QUANTITIES, Published
from mdreel_lab.bench.tables import TABLES, beside

SCENARIO = """
title = "Made up"
paper = "Nobody et al."
about = "Nothing was run."
figures = [
  "seconds", "speed-up", "efficiency", "io", "compute", "overhead", "ratio", "stream", "ranks", "violin", "bars",
]
tables = ["scaling", "observables", "ratios", "tasks-per-worker", "scheduler-times", "peers"]

[[grid]]
executor = "threads"

[[published]]
source = "a paper"
quantity = "speed-up"
label = "theirs"
points = [[2, 1.5], [24, 17]]
"""

OPEN, READ, COMPUTE, MESSAGE = 2, 10, 30, 5
"""Milliseconds that each rank of one takes for its frames; with more ranks each takes its share."""

PUBLISHED = Published(source="a paper", quantity="speed-up", label="theirs", points=((2.0, 1.5), (24.0, 17.0)))


def point_of(n_workers: int, repeat: int, series: str = "made up") -> Point:
    return Point(
        "made-up", "rmsd", "adk", "name CA", "warm", series, "mdreel", "threads", "xtc", "default", "default", "static",
        "file", 0, 1, 0, 100, 0, n_workers, repeat,
    )  # fmt: skip


def spans(n_workers: int, repeat: int) -> np.ndarray:
    """Spans of ranks that share 100 frames; each repeat takes 1 ms more to open, the last rank 4 ms more to compute."""
    rows = [(KINDS.index("open"), NO_BLOCK, COORDINATOR, 0, 1_000_000, 0, 0)]
    for worker in range(n_workers):
        at = 1_000_000
        late = 4 if worker == n_workers - 1 and n_workers > 1 else 0
        steps = [("open", OPEN + repeat, 0), ("read", READ / n_workers, 100 // n_workers)]
        steps += [("compute", COMPUTE / n_workers + late, 100 // n_workers)]
        steps += [("communicate", MESSAGE, 0)] if n_workers > 1 else []
        for kind, milliseconds, n_frames in steps:
            stop = at + round(milliseconds * 1_000_000)
            block = NO_BLOCK if kind == "communicate" else worker
            rows.append((KINDS.index(kind), block, worker, at, stop, n_frames, 4000 if kind == "read" else 0))
            at = stop
    return np.array(rows, SPAN)


def tasks(n_workers: int) -> np.ndarray:
    """Two tasks of each worker, of 30 and 20 ms, as a scheduler records them; the last worker takes 10 ms more."""
    rows = []
    for worker in range(n_workers):
        late = 10_000_000 * (worker == n_workers - 1)
        rows += [(worker, worker, worker, 0, 30_000_000), (worker, worker + 1, worker, 40_000_000, 60_000_000 + late)]
    return np.array(rows, TASK)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of records that were made up: 1, 2 and 5 ranks, three repeats, and one that failed."""
    folder = tmp_path_factory.mktemp("made-up")
    points = [point_of(n, repeat) for repeat in (1, 2, 3) for n in (1, 2, 5)]
    (folder / "made-up.toml").write_text(SCENARIO)
    keep_plan(folder, "made-up", folder / "made-up.toml", "small", [*points, point_of(10, 1)])
    for point in points:
        place = place_of(folder, point)
        place.parent.mkdir(parents=True, exist_ok=True)
        timing = Timing(spans(point.n_workers, point.repeat), tasks=tasks(point.n_workers))
        write_record(Record(timing, {}, None, str(point)), spans_of(place))
        facts = {"oversubscribed": point.n_workers > 2, "cache": "warm", "check": 1.25}
        keep(folder, Kept(point, DONE, "", 0.1 * point.repeat, facts, {"versions": {}}, spans_of(place)))
    keep(folder, Kept(point_of(10, 1), FAILED, "it fell over"))
    return folder


@pytest.fixture(scope="module")
def page(folder: Path) -> Path:
    """The page of the report on these records."""
    return write_reports([Machine("", folder)], folder / "report").with_name("made-up.md")


def table(page: Path, name: str) -> list[dict[str, str]]:
    with (page.with_suffix("") / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def test_scaling_is_what_the_spans_say(page: Path) -> None:
    totals = {
        n: [1e-3 * (OPEN + r + READ / n + COMPUTE / n + (9 if n > 1 else 0)) for r in (1, 2, 3)] for n in (1, 2, 5)
    }
    rows = table(page, "scaling")
    assert [row["N"] for row in rows] == ["1", "2", "5*"]
    for row, (n, seconds) in zip(rows, totals.items(), strict=True):
        assert int(row["Repeats"]) == 3
        assert float(row["t_total (s)"]) == pytest.approx(statistics.mean(seconds), rel=1e-9)
        assert float(row["t_total (s) ±"]) == pytest.approx(statistics.stdev(seconds), rel=1e-9)
        speed_ups = [statistics.mean(totals[1]) / each for each in seconds]
        assert float(row["S(N)"]) == pytest.approx(statistics.mean(speed_ups), rel=1e-9)
        assert float(row["E(N)"]) == pytest.approx(statistics.mean(speed_ups) / n, rel=1e-9)
        assert float(row["t_io per frame (ms)"]) == pytest.approx(READ / 100, rel=1e-9)
        t_comp = COMPUTE + (4 if n > 1 else 0)
        assert float(row["t_comp per frame (ms)"]) == pytest.approx(t_comp / 100, rel=1e-9)
        overheads = [each - 1e-3 * (READ + t_comp) / n for each in seconds]
        assert float(row[QUANTITIES["overhead"]]) == pytest.approx(statistics.mean(overheads), rel=1e-9, abs=1e-12)
        assert float(row["whole call (s)"]) == pytest.approx(0.2)


def test_ratios_and_observables_are_what_the_spans_say(page: Path) -> None:
    ratios = table(page, "ratios")
    assert [float(row["R_comp/io"]) for row in ratios] == pytest.approx([3.0, 3.4, 3.4])
    assert ratios[0]["R_comp/comm"] == ""
    assert float(ratios[1]["R_comp/comm"]) == pytest.approx((COMPUTE + 4) / (2 * MESSAGE))
    observed = table(page, "observables")
    assert float(observed[2]["t_open"]) == pytest.approx(1e-3 * (OPEN + 2))
    assert float(observed[2]["t_comm"]) == pytest.approx(1e-3 * MESSAGE)
    for row in observed:
        values = {name: float(value) for name, value in row.items() if name.startswith(("t_", "overhead"))}
        assert values["t_n"] == pytest.approx(values["t_block"] + values["t_comm"])
        assert values["t_block"] == pytest.approx(values["t_open"] + values["t_all_frames"] + values["overhead2"])


def test_times_of_the_scheduler_stand_beside_those_of_the_code(folder: Path) -> None:
    made = TABLES["scheduler-times"](series_of(kept_in(folder)), ())
    rows = [dict(zip(made.headings, row, strict=True)) for row in made.rows]
    assert [row["N"] for row in rows] == ["1", "2", "5*"]
    for row, n in zip(rows, (1, 2, 5), strict=True):
        late = 4 if n > 1 else 0
        assert float(row["t_comp + t_io, mean (s)"]) == pytest.approx(1e-3 * ((READ + COMPUTE) / n + late / n))
        assert float(row["most (s)"]) == pytest.approx(1e-3 * ((READ + COMPUTE) / n + late))
        assert float(row["most, by the scheduler (s)"]) == pytest.approx(0.06)


def curves(figure: Figure) -> dict[str, list[list[float]]]:
    """Return the points of the curves of a figure by label, without error bars."""
    named = {bar.get_label(): bar.lines[0] for axes in figure.axes for bar in axes.containers}
    return {str(label): line.get_xydata().tolist() for label, line in named.items()}


def test_components_are_means_over_ranks(folder: Path) -> None:
    drawn = curves(components("Made up", series_of(kept_in(folder))))
    assert np.array(drawn["t_comp"]) == pytest.approx(
        np.array([[n, 1e-3 * (COMPUTE / n + (4 / n if n > 1 else 0))] for n in (1, 2, 5)])
    )
    assert np.array(drawn["t_open"])[:, 1] == pytest.approx(1e-3 * (OPEN + 2))
    # One worker sends nothing, and with several the others wait for the late rank in t_comm.
    assert [x for x, _ in drawn["t_comm"]] == [2, 5]


def test_parts_of_a_bar_are_t_total(folder: Path) -> None:
    (axes,) = split_times("Made up", series_of(kept_in(folder))).axes
    tops: dict[float, float] = {}
    for bar in axes.patches:
        tops[bar.get_x()] = max(tops.get(bar.get_x(), 0.0), bar.get_y() + bar.get_height())
    totals = [cell.spread("seconds").mean for one in series_of(kept_in(folder)) for cell in one.cells]
    assert list(tops.values()) == pytest.approx(totals)


def test_efficiency_is_drawn_over_the_ratio_of_one_worker(folder: Path) -> None:
    (series,) = series_of(kept_in(folder))
    drawn = curves(efficiency_over_ratio("Made up", [series]))
    efficiencies = {cell.n_workers: series.spread("efficiency", cell).mean for cell in series.cells}
    assert set(drawn) == {"N = 2", "N = 5"}
    for n in (2, 5):
        assert np.array(drawn[f"N = {n}"]) == pytest.approx(np.array([[COMPUTE / READ, efficiencies[n]]]))


def test_each_program_has_its_own_curves_over_the_ratio(folder: Path) -> None:
    (one,) = series_of(kept_in(folder))
    names = ["MDAnalysis, R = 0.3", "MDAnalysis, R = 11", "mdreel, R = 0.3"]
    drawn = curves(efficiency_over_ratio("Made up", [replace(one, name=name) for name in names]))
    n_points = {"MDAnalysis, N = 2": 2, "MDAnalysis, N = 5": 2, "mdreel, N = 2": 1, "mdreel, N = 5": 1}
    assert {label: len(points) for label, points in drawn.items()} == n_points


@pytest.mark.parametrize("name", OF_COMPONENTS)
def test_figures_of_components_have_labels(name: str, folder: Path) -> None:
    figure = OF_COMPONENTS[name]("Made up", series_of(kept_in(folder)))
    assert all(axes.get_ylabel() for axes in figure.axes)
    assert figure.axes[-1].get_xlabel()


@pytest.mark.parametrize(
    ("quantity", "expected"), [("opening", OPEN + 2), ("communication", MESSAGE), ("ratio-comm", None)]
)
def test_communication_is_drawn_for_several_workers(quantity: str, expected: float | None, folder: Path) -> None:
    drawn = curves(over_workers("Made up", quantity, series_of(kept_in(folder)), []))["made up"]
    numbers = [1, 2, 5] if quantity == "opening" else [2, 5]
    assert [n for n, _ in drawn] == numbers
    values = [1e-3 * expected for _ in numbers] if expected else [(COMPUTE / n + 4 / n) / MESSAGE for n in (2, 5)]
    assert [value for _, value in drawn] == pytest.approx(values)


def test_bars_of_tasks_are_the_blocks_of_each_worker(folder: Path) -> None:
    (axes,) = tasks_figure("Made up", series_of(kept_in(folder))).axes
    assert [bar.get_height() for bar in axes.patches] == [1.0] * 5


def test_blocks_of_workers_are_counted(page: Path) -> None:
    rows = table(page, "tasks-per-worker")
    assert len(rows) == 9
    assert [(row["Run"], row["0 blocks"], row["1 blocks"]) for row in rows if row["N"] == "5*"] == [
        ("1", "0", "5"),
        ("2", "0", "5"),
        ("3", "0", "5"),
    ]


def test_published_values_are_beside_ours_and_hollow(folder: Path, page: Path) -> None:
    rows = table(page, "published")
    assert [(row["N (of ratios: W)"], row["Published"]) for row in rows] == [("2", "1.5"), ("24", "17.0")]
    assert rows[0]["Ours"].startswith("made up: ")
    assert rows[1]["Ours"] == ""
    records = [kept for kept in kept_in(folder) if kept.status == DONE]
    figure = over_workers("title", "speed-up", series_of(records), [PUBLISHED])
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    theirs = lines["published: theirs"]
    assert theirs.get_xydata().tolist() == [[2.0, 1.5], [24.0, 17.0]]
    hollow = [line for line in figure.axes[0].lines if line.get_markerfacecolor() == "none"]
    assert hollow == [theirs]
    assert any(line.get_xydata()[:, 0].tolist() == [1.0, 2.0, 5.0] for line in figure.axes[0].lines)


def test_labels_of_workers_do_not_meet_and_the_last_is_there() -> None:
    points = tuple((float(n), 1.0) for n in (2, 4, 24, 48, 72, 96, 144, 192))
    figure = over_workers("Made up", "seconds", [], [Published(source="", quantity="seconds", label="", points=points)])
    (axes,) = figure.axes
    figure.canvas.draw()
    labels = [label for label in axes.get_xticklabels() if label.get_text()]
    assert [label.get_text() for label in labels] == ["1", "2", "4", "24", "48", "72", "96", "192"]
    boxes = [label.get_window_extent() for label in labels]
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))


@pytest.mark.parametrize("farthest", [1.2, 9.0, 60.0, 1e4, 1e6])
def test_axes_have_numbers_however_far_values_reach(folder: Path, farthest: float) -> None:
    far = Published(source="a paper", quantity="speed-up", label="theirs", points=((2.0, 1.5), (24.0, farthest)))
    figure = over_workers("Made up", "speed-up", series_of(kept_in(folder)), [far])
    (axes,) = figure.axes
    figure.canvas.draw()
    low, high = axes.get_ylim()
    labels = [label.get_text() for label in axes.get_yticklabels() if low <= label.get_position()[1] <= high]
    assert len([label for label in labels if label]) >= 3
    assert high >= farthest


def kept_in(folder: Path) -> list[Kept]:
    from mdreel_lab.bench.plans import plan_of

    return plan_of(folder, "made-up")[2]


def test_report_is_made_of_the_records_alone_and_the_same_again(folder: Path, page: Path) -> None:
    files = {path: path.read_bytes() for path in page.parent.rglob("*") if path.suffix in (".md", ".csv")}
    figures = page.with_suffix("")
    names = {path.name for path in figures.iterdir()}
    assert {"scaling.csv", "speed-up.png", "speed-up.svg", "ranks.svg", "violin.png", "stream.svg"} <= names
    assert (figures / "speed-up.png").read_bytes().startswith(b"\x89PNG")
    assert "published: theirs" in (figures / "speed-up.svg").read_text()
    write_reports([Machine("", folder)], folder / "report")
    assert files == {path: path.read_bytes() for path in files}
    text = page.read_text()
    assert "After Nobody et al.." not in text
    assert "## Failed\n\n* made up, N = 10: it fell over" in text
    assert "* Cache: warm" in text


def test_series_without_one_worker_have_no_speed_up(folder: Path) -> None:
    records = [kept for kept in kept_in(folder) if kept.point.n_workers == 5]
    (series,) = series_of(records)
    assert math.isnan(series.spread("speed-up", series.cells[0]).mean)
    headings = TABLES["scaling"]([series], ()).headings
    (row,) = TABLES["scaling"]([series], ()).rows
    assert math.isnan(row[headings.index("S(N)")])
    assert beside([series], [PUBLISHED]).rows[0][-1] == ""


def test_record_that_is_torn_is_named(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    place = place_of(copy, point_of(2, 1))
    place.write_text(place.read_text()[:100])
    with pytest.raises(FormatError, match="this is no record of a benchmark") as caught:
        write_reports([Machine("", copy)], copy / "report")
    assert str(place) in str(caught.value)


def test_report_without_spans_has_times_and_states_what_is_missing(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    n_all = len([kept for kept in kept_in(copy) if kept.status == DONE])
    spans = [kept.spans for kept in kept_in(copy) if kept.spans is not None]
    for path in spans:
        path.unlink()
    text = write_reports([Machine("", copy)], copy / "report").with_name("made-up.md").read_text()
    assert f"* Spans: missing for {len(spans)} of {n_all} points" in text
    scaling = csv.DictReader((copy / "report" / "made-up" / "scaling.csv").read_text().splitlines())
    assert [row["N"] for row in scaling] == ["1", "2", "5*"]


def test_folder_without_records_is_said(tmp_path: Path) -> None:
    with pytest.raises(MismatchError, match="there are no records of benchmarks"):
        write_reports([Machine("", tmp_path)], tmp_path / "report")


def test_records_are_json_that_says_everything(folder: Path) -> None:
    content = json.loads(place_of(folder, point_of(2, 1)).read_text())
    assert content["point"]["n_workers"] == 2
    assert content["spans"].endswith(".spans.jsonl")
    assert content["status"] == "done"
