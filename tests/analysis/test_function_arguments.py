"""Tests of user functions of several groups, of groups that change, and of data of the frame."""

import functools
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.coordinates.memory import MemoryReader
from MDAnalysis.lib.distances import distance_array

import mdreel
from mdreel.errors import ArgumentError, FunctionError, MismatchError, SelectionError, UnsupportedError
from peptide_system import peptide, peptide_positions

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
EXECUTORS: list[dict[str, Any]] = [
    {"backend": "serial"},
    {"backend": "threads", "n_workers": 1},
    {"backend": "threads", "n_workers": 3},
    {"backend": "processes", "n_workers": 2, "n_parts": 5},
    {"backend": "dask", "n_workers": 2},
]
REDUCERS: list[dict[str, Any]] = [
    {},
    {"reduce": "sum"},
    {"reduce": "mean"},
    {"reduce": "std"},
    {"reduce": "max"},
    {"reduce": "histogram", "bins": 9, "range": (0, 400)},
    {"reduce": mdreel.analysis.Reducer(lambda one, other: [*one, *other])},
]


@pytest.fixture(scope="module")
def universe(tmp_path_factory: pytest.TempPathFactory) -> MDAnalysis.Universe:
    """Return a peptide in a changing triclinic cell, in a file with times that do not begin at 0."""
    universe = peptide()
    positions = peptide_positions()[:24].copy()
    cells = np.array([[30 + i / 4, 32, 34, 80, 75 + i / 3, 70] for i in range(len(positions))], np.float32)
    universe.load_new(positions, format=MemoryReader, dimensions=cells, dt=2.5, time_offset=100.0)
    path = tmp_path_factory.mktemp("frames") / "frames.trr"
    universe.atoms.write(path, frames="all")
    return universe.load_new(str(path))


def nearest(first: np.ndarray, second: np.ndarray, dimensions: np.ndarray | None, frame: int, *, time: float) -> Any:
    return [distance_array(first, second, box=dimensions).min(), frame, time, len(first)]


def listed(*arguments: Any, **named: Any) -> list[Any]:
    return [nearest(*arguments, **named)]


def of_frames(universe: MDAnalysis.Universe, first: Any, second: Any) -> np.ndarray:
    found = [
        nearest(first.positions, second.positions, ts.dimensions, ts.frame, time=ts.time) for ts in universe.trajectory
    ]
    return np.array(found)


@pytest.mark.parametrize("is_changing", [False, True], ids=["fixed", "changing"])
@pytest.mark.parametrize("options", REDUCERS, ids=lambda one: str(one.get("reduce"))[:9])
def test_function_of_two_groups_and_frame_data_agrees_with_a_loop_on_every_executor(
    universe: MDAnalysis.Universe, options: dict[str, Any], is_changing: bool
) -> None:
    first = universe.select_atoms("name CA C")[::-1]
    if is_changing:
        first = universe.select_atoms("name C* and around 6 resid 5", updating=True)
    second = universe.select_atoms("resid 1 or resid 8")
    expected = of_frames(universe, first, second)
    assert not is_changing or len(set(expected[:, 3])) > 1
    reduce = options.get("reduce")

    def given(*arguments: Any, dimensions: Any, frame: int, time: float) -> Any:
        assert type(frame) is int
        assert type(time) is float
        found = nearest(*arguments, dimensions, frame, time=time)
        return [found] if isinstance(reduce, mdreel.analysis.Reducer) else found

    bits = set()
    for how in EXECUTORS if reduce in (None, "std") else EXECUTORS[:3]:
        own = mdreel.from_function(given, first, second, **options).run(**how)
        results = own.results
        bits.add(b"".join(np.asarray(one).tobytes() for one in results.values()))
        match reduce:
            case None:
                np.testing.assert_array_equal(results.timeseries, expected)
            case "sum" | "mean" | "std" | "max":
                np.testing.assert_allclose(results[reduce], getattr(expected, reduce)(axis=0), rtol=1e-12)
            case "histogram":
                np.testing.assert_array_equal(results.histogram, np.histogram(expected, 9, (0, 400))[0])
            case _:
                np.testing.assert_array_equal(results.value, expected)
    assert len(bits) == 1


def test_function_of_blocks_gets_arrays_of_frame_data(universe: MDAnalysis.Universe) -> None:
    def of_block(first: np.ndarray, second: np.ndarray, dimensions: np.ndarray, time: np.ndarray, frame: Any) -> Any:
        assert frame.dtype == np.int64
        between = first.mean(axis=1) - second.mean(axis=1)
        return np.column_stack([between, dimensions, time, frame])

    first, second = universe.atoms[:9], universe.atoms[20:50:3]
    expected = [
        [*(first.positions.mean(axis=0) - second.positions.mean(axis=0)), *ts.dimensions, ts.time, ts.frame]
        for ts in universe.trajectory
    ]
    for how in EXECUTORS[:4]:
        found = mdreel.from_function(of_block, first, second, per="block").run(**how).results.timeseries
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    value = mdreel.from_function(
        lambda first, frame: set(frame.tolist()), first, per="block", reduce=mdreel.analysis.Reducer(lambda a, b: a | b)
    )
    assert value.run(step=3).results.value == {*range(0, 24, 3)}


def test_frame_without_a_cell_has_no_dimensions() -> None:
    universe = peptide()
    universe.load_new(peptide_positions()[:4].copy(), format=MemoryReader)
    assert universe.trajectory.ts.dimensions is None

    def is_bare(_: np.ndarray, dimensions: Any) -> bool:
        return dimensions is None

    assert mdreel.from_function(is_bare, universe.atoms).run().results.timeseries.all()
    of_block = mdreel.from_function(lambda _, dimensions: dimensions, universe.atoms, per="block").run()
    assert np.isnan(of_block.results.timeseries).all()


def test_changing_group_alone_is_that_of_mdanalysis(universe: MDAnalysis.Universe) -> None:
    changing = universe.select_atoms("byres around 4 resid 5", updating=True)
    ofs = [(len(changing), *changing.center_of_geometry()) for _ in universe.trajectory[3::2]]
    analysis = mdreel.from_function(lambda x: [len(x), *x.mean(axis=0, dtype=float)], changing)
    assert "change" in repr(analysis)
    found, rg = mdreel.run([analysis, mdreel.Rg(universe.select_atoms("name CA"))], start=3, step=2)
    np.testing.assert_allclose(found.results.timeseries, ofs, rtol=1e-5)
    assert len(rg.frames) == len(found.frames)
    assert len({n for n, *_ in ofs}) > 1


def test_constants_and_groups_are_passed_by_position_and_by_name(universe: MDAnalysis.Universe) -> None:
    first, second = universe.select_atoms("name CA"), universe.select_atoms("name O")

    def count(positions: np.ndarray, cutoff: float, *, other: np.ndarray, box: Any = None, scale: int = 1) -> int:
        return scale * int((distance_array(positions, other, box) < cutoff).sum())

    expected = [int((distance_array(first, second) < 4.5).sum()) for _ in universe.trajectory]
    for own, factor in (
        (mdreel.from_function(count, first, 4.5, other=second), 1),
        (mdreel.from_function(count, first, cutoff=4.5, other=second, scale=3), 3),
        (mdreel.from_function(functools.partial(count, cutoff=4.5, scale=2), first, other=second), 2),
        (mdreel.from_function(lambda a, b, n: n * count(a, 4.5, other=b), first, second, 2), 2),
    ):
        np.testing.assert_array_equal(own.run().results.timeseries, factor * np.array(expected))


class _Callable:
    def __call__(self, positions: np.ndarray, time: float) -> float:
        return time

    def method(self, positions: np.ndarray, frame: int) -> int:
        return frame


def _decorated(function: Any) -> Any:
    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        return function(*arguments, **named)

    return called


def _supplying(function: Any) -> Any:
    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        return function(*arguments, 7, **named)

    return called


def test_any_callable_is_called(universe: MDAnalysis.Universe) -> None:
    atoms = universe.atoms[:3]
    frames, times = np.arange(24), np.array([ts.time for ts in universe.trajectory])

    def by_place(positions: np.ndarray, unused: int = 2, frame: int | None = None, /) -> int:
        assert unused == 2
        return -1 if frame is None else frame

    for given, expected in (
        (len, np.full(24, 3)),
        (max_of := np.max, [max_of(atoms.positions) for _ in universe.trajectory]),
        (_Callable(), times),
        (_Callable().method, frames),
        (by_place, frames),
        (_decorated(_Callable().method), frames),
        (_supplying(lambda positions, seven: seven), np.full(24, 7)),
        (functools.partial(_Callable().method, frame=5), np.full(24, 5)),
        (lambda *positions: len(positions), np.ones(24)),
        (lambda positions, **named: len(named), np.zeros(24)),
        (lambda positions, n=5: n, np.full(24, 5)),
    ):
        np.testing.assert_array_equal(mdreel.from_function(given, atoms).run().results.timeseries, expected)
    others = universe.atoms[3:6]
    differences = [atoms.positions - others.positions for _ in universe.trajectory]
    found = mdreel.from_function(np.subtract, atoms, others).run().results.timeseries
    np.testing.assert_array_equal(found, differences)


def test_arguments_that_do_not_fit_are_refused(universe: MDAnalysis.Universe) -> None:
    atoms, changing = universe.atoms[:3], universe.select_atoms("around 4 resid 5", updating=True)

    def two(first: np.ndarray, second: np.ndarray) -> float:
        return 0.0

    for given, arguments, named, error, message in (
        (two, (), {}, MismatchError, r"parameter 'second'.*'dimensions', 'time', 'frame'"),
        (two, (atoms, atoms), {}, MismatchError, r"takes 2 positional arguments, but 3 groups and constants are given"),
        (two, (atoms,), {"reduced": "mean"}, ArgumentError, r"no parameter 'reduced': did you mean 'reduce'"),
        (two, (atoms,), {"first": 3}, ArgumentError, r"'first' of two\(\) is given twice"),
        (lambda x, time=3.0: 0, (), {}, MismatchError, r"'time' of <lambda>\(\) has the default 3.0"),
        (two, ([atoms],), {}, SelectionError, r"argument 2 of the function is a list that contains atoms"),
        (two, (atoms[0],), {}, SelectionError, r"contains atoms"),
        (two, (peptide().atoms,), {}, MismatchError, r"another Universe"),
        (two, (atoms[:0],), {}, SelectionError, r"argument 2 of the function has no atoms"),
        (two, (changing,), {"per": "block"}, UnsupportedError, r"UpdatingAtomGroup.*per='frame'"),
    ):
        with pytest.raises(error, match=message):
            mdreel.from_function(given, atoms, *arguments, **named)
    explicit = mdreel.from_function(lambda x, time=3.0: time, atoms, time=4.0).run(stop=2)
    np.testing.assert_array_equal(explicit.results.timeseries, [4, 4])


def test_frame_at_which_a_function_of_several_arguments_raises_is_named(universe: MDAnalysis.Universe) -> None:
    def fails(first: np.ndarray, second: np.ndarray, frame: int) -> float:
        return 1 / (frame - 17)

    def block_fails(first: np.ndarray, frame: np.ndarray) -> np.ndarray:
        if 17 in frame:
            raise ZeroDivisionError
        return frame

    for given, arguments, options in (
        (fails, (universe.atoms[:2],), {}),
        (block_fails, (), {"per": "block"}),
        (fails, (universe.atoms[:2],), {"reduce": mdreel.analysis.Reducer(max)}),
        (block_fails, (), {"per": "block", "reduce": mdreel.analysis.Reducer(lambda a, b: a)}),
    ):
        with pytest.raises(FunctionError, match=r"frame 17: ZeroDivisionError.*fails"):
            mdreel.from_function(given, universe.atoms[:2], *arguments, **options).run()


def test_changed_constant_does_not_continue_a_checkpoint(universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    def scaled(positions: np.ndarray, factor: float, time: float) -> float:
        return factor * time

    def run(factor: float) -> Any:
        own = mdreel.from_function(scaled, universe.atoms[:2], factor)
        return own.run(checkpoint=tmp_path / "kept", n_parts=3).results.timeseries

    first = run(2.0)
    np.testing.assert_array_equal(run(2.0), first)
    with pytest.raises(MismatchError):
        run(3.0)


@pytest.mark.parametrize("n_values", [1, 3])
def test_values_are_drawn_over_time_and_histograms_as_bars(universe: MDAnalysis.Universe, n_values: int) -> None:
    def values(positions: np.ndarray, time: float) -> Any:
        return time if n_values == 1 else [time, 2 * time, 3 * time]

    own = mdreel.from_function(values, universe.atoms[:3]).run()
    axes = own.plot().axes[0]
    drawn = [line.get_ydata() for line in axes.lines]
    for number in range(n_values):
        assert any(len(y) == 24 and np.allclose(y, (number + 1) * own.times) for y in drawn)
    assert axes.get_ylabel() == "values"
    counts = mdreel.from_function(values, universe.atoms[:3], reduce="histogram", bins=5, range=(0, 500)).run()
    (bars,) = counts.plot().axes[0].patches
    np.testing.assert_array_equal(bars.get_data().values, counts.results.histogram)
    assert counts.columns()[-1].values.sum() == counts.results.histogram.sum() > 0
    with pytest.raises(UnsupportedError, match="'mean' cannot be plotted"):
        mdreel.from_function(values, universe.atoms[:3], reduce="mean").run().plot()
