"""What was published, what was fitted to it, and how far the model is from it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mdreel_lab.prediction.cluster import read_cluster, table_of
from mdreel_lab.prediction.fit import FITTED, expected_largest, fitted, n_points
from mdreel_lab.prediction.published import HEADLINE, published, published_workload, series_of
from mdreel_lab.prediction.schemes import SCHEMES
from mdreel_lab.prediction.table import Row, line, markdown, median_error, rows

COMET = read_cluster("comet")


def number(table: dict[str, object], name: str) -> float:
    """A number of a cluster by its name."""
    *parts, field = name.split(".")
    for part in parts:
        table = table[part]  # type: ignore[assignment]
    return float(table[field])  # type: ignore[arg-type]


def test_headline_speedups_are_those_of_the_paper() -> None:
    """As its text, figures 2 to 16 and conclusions have them."""
    told = {
        ("shared-gather", 24): 17,
        ("shared-gather", 72): 10,
        ("memory-gather", 72): 45,
        ("segments-gather", 192): 78,
        ("segments-global-arrays", 192): 180,
        ("chain-gather", 192): 48,
        ("chain-global-arrays", 192): 72,
        ("hdf5-independent", 384): 284,
    }
    assert told.keys() == {(scheme, n) for scheme, numbers in HEADLINE.items() for n in numbers}
    for (scheme, n), speedup in told.items():
        series = series_of(scheme)
        assert series is not None
        assert round(series.speedup(n)) == speedup


@pytest.mark.parametrize("series", published(), ids=lambda series: f"{series.scheme}-{series.repeats_of_compute}")
def test_published_times_go_together(series) -> None:  # type: ignore[no-untyped-def]
    times = series.times
    assert SCHEMES[series.scheme].is_published
    assert set(series.fitted) <= set(series.n_ranks)
    for n in series.n_ranks:
        assert times["t_block"][n] <= times["t_block_most"][n] * 1.001 <= times["t_total"][n] * 1.002
        parts = times["t_io"][n] + times["t_comp"][n] + times["t_open"][n] + times["t_end_loop"][n]
        assert parts == pytest.approx(times["t_block"][n], rel=0.05)
    workload = series.workload
    serial = workload.n_frames * workload.frame_s + workload.opening_s
    assert serial == pytest.approx(times["t_total"][1], rel=0.01)


def test_ratio_of_compute_to_io_is_that_of_table_4() -> None:
    for repeats, ratio in ((1, 0.29), (40, 11), (70, 19), (100, 27)):
        series = series_of("shared-gather", repeats)
        assert series is not None
        assert series.workload.ratio_comp_io == pytest.approx(ratio, rel=0.05)


def test_numbers_of_comet_follow_from_the_published_times() -> None:
    # From a cluster in which all of them are wrong.
    spoilt = COMET.changed({name: 0.5 * number(table_of(COMET), name) for name in FITTED})
    derived, kept = table_of(fitted(spoilt)), table_of(COMET)
    for name in FITTED:
        assert number(kept, name) == pytest.approx(number(derived, name), rel=0.01), name


def test_fewer_numbers_are_fitted_than_a_third_of_the_points() -> None:
    n_all, n_used = n_points()
    assert (n_all, n_used) == (93, 13)
    assert len(FITTED) < n_all / 3


def test_expected_largest_of_normal_draws_is_that_of_tables() -> None:
    for n, expected in ((1, 0.0), (2, 0.5642), (10, 1.5388), (24, 1.9477), (100, 2.5076)):
        assert expected_largest(n) == pytest.approx(expected, abs=2e-3)


def test_median_error_over_the_published_points_is_at_most_a_quarter() -> None:
    found = rows(COMET, n_repeats=5)
    assert len(found) == n_points()[0]
    predictions = [row for row in found if not row.is_fitted]
    headline = [row for row in found if row.is_headline]
    assert len(headline) == 8
    for group in (found, predictions, headline):
        assert median_error(group) <= 0.25


def test_table_has_a_line_for_each_point() -> None:
    series = series_of("shared-gather", 40)
    assert series is not None
    shared = series_of("shared-gather")
    assert shared is not None
    of = [Row(series, n, 0.5 * series.speedup(n), 1.0) for n in series.n_ranks]
    of.append(Row(shared, 24, shared.speedup(24), 0.0))
    text = markdown(of)
    assert "| one shared file, gather, computed 40 times | 8 | 8.2 | 4.1 ± 1.0 | -50 % |  |" in text
    assert "| one shared file, gather | 24 | 16.9 | 16.9 ± 0.0 | +0 % | fitted headline |" in text
    assert f"| all {n_points()[0]} points | 50 % |" in text
    assert np.isnan(median_error([]))


def test_workload_of_mdreel_is_that_of_mdanalysis_as_much_faster_as_measured() -> None:
    ours, theirs = published_workload("mdreel"), published_workload("shared-gather")
    assert theirs.frame_s / ours.frame_s == pytest.approx(25.6)
    assert ours.n_frames == theirs.n_frames
    assert published_workload("memory-gather").frame_bytes == 0
    assert published_workload("hdf5-collective") == published_workload("hdf5-independent")
    assert replace(ours, title="") != theirs


@pytest.mark.parametrize("scheme", ["memory-gather", "shared-global-arrays"])
def test_table_of_the_docs_is_that_of_the_model(scheme: str) -> None:
    text = (Path(__file__).parents[3] / "docs" / "design" / "029-prediction.md").read_text(encoding="utf-8")
    series = series_of(scheme)
    assert series is not None
    for row in rows(COMET, several=[series]):
        assert line(row) in text, "write it anew: mdreel predict --repeats 20 --table"
