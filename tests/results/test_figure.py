"""Tests of figures and their file formats."""

import re
import sys

import numpy as np
import pytest

from mdreel.errors import UnsupportedError
from mdreel.results.curves import explained_variance
from mdreel.results.envelope import envelope, running_median
from mdreel.results.figure import check_figure, save, time_series


def series(n_frames, spacing=1.0):
    random = np.random.default_rng(n_frames)
    return np.arange(n_frames) * spacing, np.abs(2 + random.normal(size=n_frames))


def test_envelope_holds_every_value():
    x, values = series(10_007)
    middle, low, high = envelope(x, values, 500)
    stretch = np.searchsorted(np.linspace(0, len(x), 501).astype(int), np.arange(len(x)), side="right") - 1
    assert (values >= low[stretch]).all()
    assert (values <= high[stretch]).all()
    assert (np.diff(middle) > 0).all()
    assert set(low) | set(high) <= set(values)


def test_running_median_is_the_median_of_each_window():
    x, values = series(403)
    at, medians = running_median(x, values, 5)
    expected = [sorted(values[first : first + 5])[2] for first in range(399)]
    np.testing.assert_array_equal(medians, expected)
    np.testing.assert_array_equal(at, x[2:-2])


@pytest.mark.parametrize(("n_components", "last"), [(1, 1), (3, 3), (10, 10), (25, 19)])
def test_first_component_has_a_tick(n_components, last):
    (axes,) = explained_variance(np.linspace(0.5, 1.0, n_components)).axes
    ticks = axes.get_xticks()
    assert (ticks[0], ticks[-1]) == (1, last)
    assert len(ticks) <= 10


def test_running_median_looks_at_no_more_windows_than_asked():
    at, medians = running_median(*series(10_000), 101, n_points=50)
    assert len(at) == len(medians) <= 50


@pytest.mark.parametrize("n_frames", [1, 2, 39, 98, 400, 4_001, 50_000])
@pytest.mark.parametrize("ending", [".png", ".pdf", ".svg"])
def test_figure_is_saved_in_the_format_of_the_ending(tmp_path, n_frames, ending):
    path = tmp_path / f"rmsd{ending}"
    save(time_series(*series(n_frames), "RMSD (Å)", "AdK"), path)
    start = path.read_bytes()[:200]
    assert {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}[ending] in start
    assert path.stat().st_size < 1_000_000


def test_vector_figure_stays_small_when_there_are_a_million_frames(tmp_path):
    path = tmp_path / "rmsd.svg"
    save(time_series(*series(1_000_000), "RMSD (Å)"), path)
    assert path.stat().st_size < 1_000_000


@pytest.mark.parametrize(
    ("longest", "unit", "drawn"),
    [(97, "ps", 97), (1_499, "ps", 1_499), (97_000, "ns", 97), (5e6, "µs", 5), (3e9, "ms", 3)],
)
def test_figure_chooses_the_unit_of_time_by_the_range(longest, unit, drawn):
    figure = time_series(np.linspace(0, longest, 98), np.ones(98), "RMSD (Å)")
    assert figure.axes[0].get_xlabel() == f"Time ({unit})"
    assert figure.axes[0].lines[0].get_xdata()[-1] == pytest.approx(drawn)
    assert figure.axes[0].get_ylabel() == "RMSD (Å)"


def test_figure_is_over_frames_where_several_files_begin_at_the_same_time():
    times, values = np.tile(np.arange(5.0), 3), np.arange(15.0)
    axes = time_series(times, values, "RMSD (Å)", frames=np.arange(10, 25)).axes[0]
    assert axes.get_xlabel() == "Frame"
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), np.arange(10, 25))
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), values)


def test_figure_brings_frames_into_their_order():
    frames = np.array([7, 3, 5])
    axes = time_series(frames * 2.0, frames * 0.1, "RMSD (Å)", frames=frames).axes[0]
    assert axes.get_xlabel() == "Time (ps)"
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [6, 10, 14])
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [0.3, 0.5, 0.7])


def test_figure_shows_a_histogram_only_of_many_frames():
    assert len(time_series(*series(98), "RMSD (Å)").axes) == 1
    both = time_series(*series(5_000), "RMSD (Å)").axes
    assert len(both) == 2
    assert sum(bar.get_width() for bar in both[1].patches) == 5_000
    assert both[0].get_ylim() == both[1].get_ylim()


def test_figure_shows_a_single_frame_with_rmsd_zero():
    axes = time_series(np.array([5.0]), np.array([0.0]), "RMSD (Å)").axes[0]
    assert list(axes.get_xticks()) == [5.0]
    assert axes.get_ylim()[0] <= 0 < axes.get_ylim()[1]


def test_figure_shows_negative_values():
    low, high = time_series(np.arange(3.0), np.array([-5.0, 0.0, 5.0]), "x").axes[0].get_ylim()
    assert low < -5 < 5 < high


def test_figure_is_drawn_into_given_axes():
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.add_subplot()
    assert time_series(*series(98), "RMSD (Å)", ax=axes) is figure
    assert len(axes.lines) == 1


def test_figure_leaves_pyplot_and_the_settings_alone(tmp_path):
    import matplotlib

    before = dict(matplotlib.rcParams)
    pyplot = sys.modules.pop("matplotlib.pyplot", None)
    try:
        save(time_series(*series(500), "RMSD (Å)"), tmp_path / "a.png")
        assert "matplotlib.pyplot" not in sys.modules
    finally:
        if pyplot is not None:
            sys.modules["matplotlib.pyplot"] = pyplot
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("name", ["rmsd.gif", "rmsd"])
def test_check_figure_lists_the_known_endings_when_it_knows_not_this_one(tmp_path, name):
    with pytest.raises(UnsupportedError, match=re.escape(".png, .pdf, .svg")):
        check_figure(tmp_path / name)


def test_save_refuses_an_existing_file(tmp_path):
    path = tmp_path / "a.png"
    path.write_text("mine")
    figure = time_series(*series(3), "RMSD (Å)")
    with pytest.raises(FileExistsError):
        save(figure, path)
    assert path.read_text() == "mine"
    save(figure, path, force=True)
    assert path.read_bytes().startswith(b"\x89PNG")
