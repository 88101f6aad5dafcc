"""Units in which results are shown."""

import numpy as np
import pytest

from mdreel.results.column import Column
from mdreel.results.curves import curve, lines
from mdreel.results.figure import time_series
from mdreel.results.shown_units import ShownUnits

NANO = ShownUnits("nm", "ns")


@pytest.mark.parametrize(
    ("unit", "heading", "factor"),
    [
        ("Å", "x_nm", 0.1),
        ("Å^2", "x_nm2", 0.01),
        ("Å^-3", "x_per_nm3", 1000),
        ("ps", "x_ns", 0.001),
        ("°", "x_degree", 1),
        ("g/cm^3", "x_g_per_cm3", 1),
        ("", "x", 1),
    ],
)
def test_columns_are_converted_with_their_headings(unit: str, heading: str, factor: float) -> None:
    values = np.array([0.0, 1.5, 250.0])
    found = NANO.column(Column("x", unit, values))
    assert found.heading == heading
    np.testing.assert_allclose(found.values, values * factor, rtol=1e-15)


def test_tenths_are_rounded_once() -> None:
    assert ShownUnits("nm").column(Column("x", "Å", np.array([3.0]))).values.tolist() == [0.3]


def test_text_columns_and_other_units_of_length_stay() -> None:
    text = Column("x", "", np.array(["a"]))
    assert NANO.column(text) is text
    for name in ("A", "Å", "angstrom"):
        assert ShownUnits(name).is_default
        assert ShownUnits(name).column(Column("x", "Å", np.array([1.5]))).heading == "x_angstrom"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RMSD lowest      0.000 Å  at 1 ps", "RMSD lowest      0.0000 nm  at 0.001 ns"),
        ("frames   1 to 1,500 ps", "frames   0.001 to 1.5 ns"),
        ("slope 0.2672 Å²/ps   from 1 to 8 ps", "slope 2.672 nm²/ns   from 0.001 to 0.008 ns"),
        ("8.0 x 9.0 x 10.5 Å, 90 degrees", "0.80 x 0.90 x 1.05 nm, 90 degrees"),
        ("highest420.001 Å^2", "highest4.20001 nm^2"),
        ("highest 1.3 Å^-3", "highest 1,300 nm^-3"),
        ("-0.5 Å", "-0.05 nm"),
        ("1e-05 Å", "0.000001 nm"),
        ("3 psi", "3 psi"),
        ("5 ps^2", "5 ps^2"),
        ("2 g/cm^3 at 3.25 Å", "2 g/cm^3 at 0.325 nm"),
    ],
)
def test_amounts_in_texts_are_converted(text: str, expected: str) -> None:
    assert NANO.text(text) == expected


def shown_ticks(axis: object) -> tuple[list[float], list[float]]:
    """Return the places of ticks, and the numbers beside them."""
    axis.figure.canvas.draw()
    labels = [label.get_text().replace("\N{MINUS SIGN}", "-").replace(",", "") for label in axis.get_ticklabels()]
    return axis.get_ticklocs().tolist(), [float(text) for text in labels]


def test_axes_of_figures_are_converted() -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    times, values = np.arange(0.0, 5000.0, 100), np.linspace(0, 12, 50)
    figure = ShownUnits("nm", "us").figure(time_series(times, values, "RMSD (Å)"))
    FigureCanvasAgg(figure)
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Time (µs)", "RMSD (nm)")
    places, numbers = shown_ticks(axes.yaxis)
    np.testing.assert_allclose(numbers, np.array(places) / 10, rtol=1e-12)
    places, numbers = shown_ticks(axes.xaxis)
    np.testing.assert_allclose(numbers, np.array(places) / 1000, rtol=1e-12)  # from ns


def test_time_axis_has_the_unit_that_is_asked_for() -> None:
    times, values = np.arange(0.0, 5000.0, 100), np.linspace(0, 12, 50)[:, None]
    assert ShownUnits().figure(lines(times, values, ["a"], "Å", kind="")).axes[0].get_xlabel() == "Time (ns)"
    assert ShownUnits(time="ps").figure(lines(times, values, ["a"], "Å", kind="")).axes[0].get_xlabel() == "Time (ps)"


def test_labels_in_other_units_stay() -> None:
    figure = NANO.figure(curve(np.arange(3.0), np.arange(3.0), "Angle (degrees)", "g(r)"))
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("Angle (degrees)", "g(r)")
