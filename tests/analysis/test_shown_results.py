"""Tests of results as data frames, datasets, figures and summaries for notebooks."""

import base64
import pickle
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from every_analysis import CASES
from finished_analyses import N_FRAMES, finished, read_table
from mdreel.analysis.user.from_function import FunctionAnalysis
from mdreel.errors import MismatchError, UnsupportedError
from mdreel.results.shown_figure import LARGEST_PICTURE
from peptide_system import System, peptide, write_peptide

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def trajectory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("output") / "peptide.xtc"
    write_peptide(path, N_FRAMES)
    return path


@pytest.fixture
def rmsd() -> Any:
    return mdreel.RMSD(MDAnalysis.Universe(PSF, DCD).select_atoms("name CA")).run(step=20)


@pytest.mark.parametrize("name", CASES)
def test_arrays_hold_the_results_and_their_labels_fit(name: str, trajectory: Path) -> None:
    analysis = finished(name, trajectory)
    arrays = analysis._result_arrays()
    assert arrays
    used = {dimension for one in arrays for dimension in one.dimensions}
    coordinates = [one for one in analysis._result_coordinates() if used.issuperset(one.dimensions)]
    names = [one.name for one in (*arrays, *coordinates)]
    assert len(set(names)) == len(names)
    sizes: dict[str, int] = {}
    for one in arrays:
        assert len(one.dimensions) == one.values.ndim, one.name
        assert not any(re.fullmatch(f"{one.name}_\\d", each) for each in one.dimensions), "dimensions have names"
        for dimension, size in zip(one.dimensions, one.values.shape, strict=True):
            assert sizes.setdefault(dimension, size) == size, (one.name, dimension)
        given = analysis.results.get(one.name)
        if isinstance(given, np.ndarray) and given.ndim == one.values.ndim:
            n_left = given.shape[-1] - one.values.shape[-1] if given.ndim else 0
            np.testing.assert_array_equal(one.values, given[..., n_left:] if n_left else given)
    for one in coordinates:
        assert one.values.shape == tuple(sizes[dimension] for dimension in one.dimensions), one.name


@pytest.mark.parametrize("name", CASES)
def test_dataset_has_the_results_and_units(name: str, trajectory: Path) -> None:
    pytest.importorskip("xarray")
    analysis = finished(name, trajectory)
    found = analysis.to_xarray()
    for one in analysis._result_arrays():
        assert found[one.name].dims == one.dimensions
        assert found[one.name].attrs.get("units", "") == one.unit
        np.testing.assert_array_equal(found[one.name].to_numpy(), one.values)
    assert found.attrs["n_atoms"] == analysis._n_described  # an atom of several groups counts once


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("name", CASES)
def test_data_frame_has_the_columns(name: str, library: str, trajectory: Path) -> None:
    pytest.importorskip(library)
    if name == "InteractionFingerprint":
        pytest.skip("the data frame has the layout of ProLIF")
    analysis = finished(name, trajectory)
    frame = analysis.to_dataframe(library)
    columns = analysis.columns()
    assert list(frame.columns) == [column.name for column in columns]
    for column in columns:
        np.testing.assert_array_equal(frame[column.name].to_numpy(), column.values)
    if library == "pandas":
        assert frame.attrs["units"] == {column.name: column.unit for column in columns}


class StandIn(dict[str, Any]):
    """What the libraries are given, where they are not installed."""

    attrs: dict[str, Any]

    def __init__(self, values: Any = (), **named: Any) -> None:
        super().__init__(values, **named)
        self.attrs = {}


@pytest.mark.parametrize("name", CASES)
def test_libraries_are_given_columns_arrays_and_units(
    name: str, trajectory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "InteractionFingerprint":
        pytest.skip("the data frame has the layout of ProLIF")
    for library, made in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("xarray", "Dataset")):
        monkeypatch.setitem(sys.modules, library, ModuleType(library))
        setattr(sys.modules[library], made, StandIn)
    analysis = finished(name, trajectory)
    columns = analysis.columns()
    for library in ("pandas", "polars"):
        frame = analysis.to_dataframe(library)
        assert list(frame) == [column.name for column in columns]
        for column in columns:
            np.testing.assert_array_equal(frame[column.name], column.values)
            assert not np.shares_memory(frame[column.name], column.values)
    units = {column.name: column.unit for column in columns}
    assert analysis.to_dataframe().attrs["units"] == units
    given = analysis.to_xarray()
    arrays = {one.name: (one.dimensions, {"units": one.unit} if one.unit else {}) for one in analysis._result_arrays()}
    assert {key: (dimensions, attributes) for key, (dimensions, _, attributes) in given["data_vars"].items()} == arrays
    used = {dimension for dimensions, _ in arrays.values() for dimension in dimensions}
    assert all(used.issuperset(dimensions) for dimensions, *_ in given["coords"].values())
    assert not set(given["coords"]) & set(arrays)
    assert given["attrs"]["title"] == repr(analysis)[1:-1]


def test_data_frames_and_datasets_name_a_missing_package(rmsd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("pandas", "polars", "xarray"):
        monkeypatch.setitem(sys.modules, package, None)
    for library in ("pandas", "polars"):
        with pytest.raises(UnsupportedError, match=f"pip install {library}"):
            rmsd.to_dataframe(library)
    with pytest.raises(UnsupportedError, match="pip install xarray"):
        rmsd.to_xarray()
    with pytest.raises(MismatchError, match="pandas, polars, not 'arrow'"):
        rmsd.to_dataframe("arrow")


def test_alignment_has_the_output_of_its_rmsd(tmp_path: Path) -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    aligned = mdreel.AlignTraj(universe, universe, select="name CA", filename=tmp_path / "a.xtc")
    assert "not run" in aligned._repr_html_()
    aligned.run(step=20).save(tmp_path / "a.npz")
    table = read_table(tmp_path / "a.npz")
    assert table["rmsd"] == aligned.results.rmsd.tolist()
    assert table["frame"] == aligned.frames.tolist()
    assert [(one.name, one.dimensions, one.unit) for one in aligned._result_arrays()] == [("rmsd", ("frame",), "Å")]
    assert aligned.plot().axes[0].get_ylabel() == "RMSD (Å)"
    assert "data:image/png" in aligned._repr_html_()


def test_timing_is_printed_as_its_summary(rmsd: Any) -> None:
    assert str(rmsd.timing) == rmsd.timing.summary()


class Page(HTMLParser):
    """Reads the texts and the pictures of a page, and checks that its elements are closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.pictures: list[bytes] = []
        self.text: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.pictures.append(base64.b64decode(str(dict(attributes)["src"]).partition(",")[2]))
        else:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.mark.parametrize("name", CASES)
def test_summary_for_notebooks_has_numbers_and_a_small_picture(name: str, trajectory: Path) -> None:
    analysis = finished(name, trajectory)
    page = Page(analysis._repr_html_())
    assert "frames/s" in page.text[-1]
    numbers = [one for one in analysis._key_arrays() if one.is_number][:6]
    cells = page.text[page.text.index("highest") + 1 :]
    for one, name_shown, lowest in zip(numbers, cells[::4], cells[1::4], strict=False):
        assert (name_shown, lowest.split()[0]) == (one.name, f"{one.values.min():.4g}")
    # An own function is drawn if it has a value for each frame.
    is_drawn = not isinstance(analysis, mdreel.AnalysisBase | FunctionAnalysis) or "timeseries" in analysis.results
    assert len(page.pictures) == is_drawn
    assert all(one.startswith(b"\x89PNG") and len(one) <= LARGEST_PICTURE for one in page.pictures)
    before = Page(CASES[name].make(System(peptide(), trajectory))._repr_html_())
    assert "run()" in before.text


def test_summary_escapes_the_name_of_a_function(trajectory: Path) -> None:
    own = mdreel.from_function(lambda x: x.std(), peptide().atoms, trajectory=trajectory)
    assert "<lambda>, 203 atoms, not run" in "".join(Page(own._repr_html_()).text)


PLOTS = """
import sys, warnings
warnings.simplefilter("ignore")
import MDAnalysis, mdreel
from MDAnalysisTests.datafiles import DCD, PSF
rmsd = mdreel.RMSD(MDAnalysis.Universe(PSF, DCD).select_atoms("name CA")).run(step=30)
first = rmsd.plot()
rmsd._repr_html_()
print("matplotlib.pyplot" in sys.modules)
import matplotlib
matplotlib.use("agg")
from matplotlib import pyplot as plt
print(plt.get_fignums())
second = rmsd.plot()
print(plt.gcf() is second, second is not first)
rmsd.plot(ax=plt.figure().add_subplot())
rmsd._repr_html_()
print(len(plt.get_fignums()))
"""


@pytest.mark.parametrize(
    ("before", "expected"),
    [("", ["False", "[]", "True True", "2"]), ("import sys; sys.ps1 = '>>> '", ["True", "[1]", "True True", "3"])],
)
def test_pyplot_gets_figures_if_it_is_there_or_the_session_is_interactive(before: str, expected: list[str]) -> None:
    program = [sys.executable, "-c", before + PLOTS]
    assert subprocess.run(program, capture_output=True, text=True, check=True).stdout.splitlines() == expected


NOTEBOOK = """
import sys
from ipykernel.inprocess import InProcessKernelManager

manager = InProcessKernelManager()
manager.start_kernel()
client = manager.client()
client.start_channels()
client.wait_for_ready()
cells = ["%matplotlib inline", PREPARE, "figure = rmsd.plot()", "rmsd.plot()", "figure", "rmsd.plot(); 1"]
for cell in cells:
    client.execute(cell)
    shown = []
    while client.iopub_channel.msg_ready():
        message = client.get_iopub_msg(timeout=1)
        if message["msg_type"] == "error":
            print(message["content"], file=sys.__stderr__)
        shown += ["image/png" in message["content"]["data"]] if "data" in message["content"] else []
    print("pictures", sum(shown), file=sys.__stdout__)
"""


def test_notebook_shows_each_figure_once() -> None:
    pytest.importorskip("ipykernel.inprocess")
    program = NOTEBOOK.replace("PREPARE", repr(PLOTS.partition("first = ")[0]))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert re.findall(r"pictures (\d)", done.stdout) == ["0", "0", "1", "1", "1", "1"], done.stderr


def test_adopted_figure_can_be_pickled(rmsd: Any) -> None:
    from matplotlib import pyplot

    figure = rmsd.plot()
    try:
        assert pyplot.fignum_exists(figure.number)
        assert len(pickle.loads(pickle.dumps(figure)).axes) == len(figure.axes)
    finally:
        pyplot.close("all")
