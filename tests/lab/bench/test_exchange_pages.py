"""Pages of exchange: factors of every baseline beside published ones, call trees, figures."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mdreel_lab.bench.exchange import figures, page, tables
from mdreel_lab.bench.exchange.measures import Record, cells_of
from mdreel_lab.bench.exchange.points import exchange_points_of
from mdreel_lab.bench.exchange.regions import CONSUME, PRODUCE
from mdreel_lab.bench.exchange.scenario import Exchange
from mdreel_lab.bench.records import DONE, Kept
from mdreel_lab.bench.scenario_files import read_scenario

SCENARIO = """
kind = "exchange"
title = "Two models"
over = "model"
model = ["jac", "stmv"]

[small]
frames = 3

[[way]]
solution = "channel-ring"

[[way]]
solution = ["xfs", "moosefs"]
synchronisation = ["barrier-serialised", "polling"]

[[claim]]
source = "figure 1"
text = "a barrier is slow"
finding = 1
side = "consumption"
slower = ["XFS, barrier-serialised", "XFS, polling", "XFS, inotify"]
faster = "channel, ring"
published = [121, 333.8]

[[claim]]
source = "figure 2"
text = "moving more takes longer"
finding = 4
side = "consumption"
part = "movement"
slower = "channel, ring"
slower-at = "STMV"
faster-at = "JAC"
published = 33.6

[[claim]]
source = "figure 3"
text = "who waits for a barrier waits as long"
finding = 4
side = "consumption"
part = "idle"
slower = "MooseFS (as a stand-in for Lustre), inotify"
faster = "channel, ring"
"""
MOVED = {"jac": 1.0, "stmv": 20.0}
WAITED = {"own": 1.0, "barrier-serialised": 100.0, "polling": 3.0}


@pytest.fixture
def scenario(tmp_path: Path) -> Exchange:
    path = tmp_path / "mine.toml"
    path.write_text(SCENARIO)
    found = read_scenario(path)
    assert isinstance(found, Exchange)
    return found


@pytest.fixture
def records(scenario: Exchange) -> list[Record]:
    """What has taken exactly as long as `MOVED` and `WAITED` say, but for the first frame."""
    kept = []
    for point in exchange_points_of("mine", scenario, scenario.small):
        first = 50.0
        regions = {
            "consume": [first] * 3,
            "consume/fetch": [first, *[WAITED[point.synchronisation]] * 2],
            "consume/read_single_buf": [first, *[MOVED[point.model]] * 2],
        }
        pair: dict[str, Any] = {
            CONSUME: {"regions": regions, "when": [2, 3, 4]},
            PRODUCE: {"regions": {"produce": [2.0] * 3, "produce/write_single_buf": [2.0] * 3}, "when": [1, 2, 3]},
        }
        kept.append(Kept(point, DONE, facts={"pairs": [pair], "file_system": "xfs", "nodes": "this machine"}))
    return kept


def test_factors_are_those_of_every_baseline_that_was_measured(scenario: Exchange, records: list[Record]) -> None:
    rows = tables.factors(scenario, cells_of(records, scenario.over)).rows
    found = {row[5:7]: row[7:9] for row in rows}
    with_first = {row[5:7]: row[9:] for row in rows}
    assert found["XFS, barrier-serialised / channel, ring", "consumption"] == (120 / 21, 101 / 2)
    # A first frame takes 100 s of either.
    expected = pytest.approx((340 / 142, 302 / 104))
    assert with_first["XFS, barrier-serialised / channel, ring", "consumption"] == expected
    assert found["XFS, polling / channel, ring", "consumption"] == (23 / 21, 4 / 2)
    assert found["channel, ring, STMV / the same, JAC", "consumption, movement"] == (20, 20)
    assert len(rows) == 4  # of XFS with inotify there is nothing, and a claim of which there is nothing has a line
    name = "MooseFS (as a stand-in for Lustre), inotify / channel, ring"
    assert all(factor != factor for factor in found[name, "consumption, idle"])  # noqa: PLR0124 - NaN


def test_medians_are_those_of_frames_behind_the_first(scenario: Exchange, records: list[Record]) -> None:
    table = tables.medians(scenario, cells_of(records, scenario.over))
    found = {row[:2]: row[2:] for row in table.rows}
    assert found["channel, ring", "STMV"] == (2e3, 0.0, 2e3, 20e3, 1e3, 21e3)
    assert found["XFS, polling", "JAC"] == (2e3, 0.0, 2e3, 1e3, 3e3, 4e3)


def test_median_of_a_single_slow_frame_is_that_of_the_others(records: list[Record]) -> None:
    regions = records[0].facts["pairs"][0][CONSUME]["regions"]
    regions["consume/fetch"] = [50.0, 1.0, 1.0, 900.0]
    regions["consume/read_single_buf"] = [50.0, 1.0, 1.0, 1.0]
    records[0].facts["pairs"][0][CONSUME]["when"] = [2, 3, 4, 5]
    (cell, *_) = cells_of(records[:1], "model")
    assert cell.median("consumption") == 2.0
    assert cell.spread("consumption").mean > 300.0


def test_findings_name_every_baseline_beside_what_was_published(scenario: Exchange, records: list[Record]) -> None:
    text = "\n".join(page.findings(scenario, records))
    assert "* a barrier is slow (figure 1): 121x to 334x. Here:\n    * XFS, barrier-serialised / channel, ring" in text
    assert "    * XFS, polling / channel, ring, consumption: 1.1x to 2x; with the first frames 1.03x to 1.04x" in text
    assert "inotify / channel, ring, consumption, idle: not measured" in text
    text = "\n".join(page.overview([("mine", scenario, records)]))
    for number, finding in page.FINDINGS.items():
        assert f"## Finding {number}\n\nThe finding of the paper: {finding}" in text
    line = (
        "| moving more takes longer | figure 2 | 33.6x | channel, ring, STMV / the same, JAC | consumption, movement |"
    )
    assert f"{line} 20x; with the first frames 1.73x | [mine](mine.md) |" in text


def test_call_trees_have_a_column_for_each_place(scenario: Exchange, records: list[Record]) -> None:
    table = tables.tree(scenario, cells_of(records, scenario.over))
    assert table.headings == ("Series", "Region", "model JAC (ms)", "model STMV (ms)")
    assert ("channel, ring", "· read_single_buf", 1e3, 20e3) in table.rows


def test_figures_name_a_file_system_once_and_leave_out_what_was_not_measured(
    scenario: Exchange, records: list[Record]
) -> None:
    drawn = figures.times(scenario, cells_of(records, scenario.over))
    labels = [label.get_text() for label in drawn.axes[0].get_yticklabels()]
    assert labels == [
        "channel, ring",
        "XFS, barrier-serialised",
        "polling",
        "MooseFS (as a stand-in for Lustre),\nbarrier-serialised",
        "polling",
    ]
    drawn = figures.factors(tables.factors(scenario, cells_of(records, scenario.over)))
    labels = [label.get_text() for label in drawn.axes[0].get_yticklabels()]
    assert labels[:2] == ["figure 1, consumption: a barrier is slow", "XFS, barrier-serialised / channel, ring"]
    assert not any("inotify" in label for label in labels)


@pytest.mark.parametrize(("largest", "expected"), [(6.0, ["1x", "2x", "5x"]), (3000.0, ["1x", "10x", "100x", "1000x"])])
def test_labels_of_ratios_are_numbers_in_one_style(
    scenario: Exchange, records: list[Record], largest: float, expected: list[str]
) -> None:
    table = tables.factors(scenario, cells_of(records, scenario.over))
    rows = [(*row[:3], 1.0, largest, *row[5:7], 1.0, largest, *row[9:]) for row in table.rows]
    figure = figures.factors(replace(table, rows=rows))
    (axes,) = figure.axes
    figure.draw_without_rendering()
    low, high = axes.get_xlim()
    ticks = [*axes.xaxis.get_major_ticks(), *axes.xaxis.get_minor_ticks()]
    found = {tick.get_loc(): tick.label1.get_text() for tick in ticks if low <= tick.get_loc() <= high}
    assert [found[at] for at in sorted(found) if found[at]] == expected
