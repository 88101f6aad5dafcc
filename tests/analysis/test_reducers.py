"""Tests of reductions of user functions."""

from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import PSF

import mdreel
from mdreel._core import Source
from mdreel.errors import FunctionError, MismatchError
from mdreel.trajectory.open import open as open_trajectory

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
N_LONG = 12_400
EDGES = [0.0, 10.0, 20.0, 50.0]
OPTIONS: list[dict[str, Any]] = [
    {"backend": "serial", "n_parts": 1},
    {"n_parts": 97, "n_workers": 3},
    {"backend": "processes", "n_workers": 2, "n_parts": 7},
    {"backend": "dask", "n_workers": 2},
]


def centre_and_extent(positions: np.ndarray) -> np.ndarray:
    return np.stack([positions.mean(axis=0), np.ptp(positions, axis=0)])


def frames_of_block(positions: np.ndarray) -> list[float]:
    """Return one value for all frames of a block."""
    return positions[:, 0, 0].tolist()


@pytest.fixture(scope="module")
def atoms() -> MDAnalysis.AtomGroup:
    return MDAnalysis.Universe(PSF).select_atoms("name CA")


@pytest.fixture(scope="module")
def series(atoms: MDAnalysis.AtomGroup, adk_xtc: Path) -> np.ndarray:
    return np.asarray(mdreel.from_function(centre_and_extent, atoms, trajectory=adk_xtc).run().results.timeseries)


@pytest.fixture(scope="module")
def long() -> Source:
    positions = np.zeros((N_LONG, 2, 3), np.float32)
    positions[12_345, 1, 2] = 99
    return Source.memory(positions, np.arange(N_LONG, dtype=float))


def test_reducers_by_name_are_those_of_numpy(atoms: MDAnalysis.AtomGroup, adk_xtc: Path, series: np.ndarray) -> None:
    def reduced(reduce: Any, **more: Any) -> Any:
        return mdreel.from_function(centre_and_extent, atoms, reduce=reduce, trajectory=adk_xtc, **more).run().results

    np.testing.assert_array_equal(reduced("max").max, series.max(axis=0))
    np.testing.assert_array_equal(reduced("min").min, series.min(axis=0))
    np.testing.assert_allclose(reduced("variance").variance, series.var(axis=0), rtol=1e-12)
    np.testing.assert_allclose(reduced("std").std, series.std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(reduced("std").mean, series.mean(axis=0), rtol=1e-13)
    for more in ({"bins": 40, "range": (-10.0, 50.0)}, {"bins": EDGES}):
        counts, edges = np.histogram(series, **more)
        np.testing.assert_array_equal(reduced("histogram", **more).histogram, counts)
        np.testing.assert_array_equal(reduced("histogram", **more).edges, edges)


@pytest.mark.parametrize("reduce", ["variance", "max", "histogram"])
def test_reducers_bitwise_identical_for_all_executors(atoms: MDAnalysis.AtomGroup, adk_xtc: Path, reduce: Any) -> None:
    def bits(**options: Any) -> bytes:
        more = {"bins": EDGES} if reduce == "histogram" else {}
        source = open_trajectory(adk_xtc, index="none")
        own = mdreel.from_function(centre_and_extent, atoms, reduce=reduce, trajectory=source, **more)
        return bytes(np.asarray(own.run(**options).results[reduce]).tobytes())

    expected = bits(**OPTIONS[0])
    for options in OPTIONS[1:3]:
        assert bits(**options) == expected, options


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: options.get("backend", "threads"))
def test_own_reducer_merges_in_the_order_of_the_frames(
    atoms: MDAnalysis.AtomGroup, adk_xtc: Path, options: dict[str, Any]
) -> None:
    first = mdreel.from_function(lambda p: p[0, 0], atoms, trajectory=adk_xtc).run().results.timeseries

    def after_one_another(one: list[float], other: list[float]) -> list[float]:
        one += other
        return one

    reducer = mdreel.analysis.Reducer(after_one_another, finish=np.array)
    for per, given in (("block", frames_of_block), ("frame", lambda p: [p[0, 0].item()])):
        own = mdreel.from_function(given, atoms, per=per, reduce=reducer, trajectory=adk_xtc)  # type: ignore[arg-type]
        np.testing.assert_array_equal(own.run(**options).results.value, first)


def test_own_reducer_shares_a_pass_and_goes_on_from_a_checkpoint(
    atoms: MDAnalysis.AtomGroup, adk_xtc: Path, tmp_path: Path
) -> None:
    reducer = mdreel.analysis.Reducer(lambda one, other: one + other)
    own = mdreel.from_function(frames_of_block, atoms, per="block", reduce=reducer, trajectory=adk_xtc)
    expected = own.run(backend="serial").results.value
    greatest = mdreel.from_function(centre_and_extent, atoms, reduce="max", trajectory=adk_xtc)
    rg = mdreel.Rg(atoms, trajectory=adk_xtc)
    mdreel.run([greatest, own, rg], checkpoint=tmp_path / "kept", n_parts=9)
    assert own.results.value == expected
    assert len(rg.results.rgyr) == 98
    own.results.value = None
    mdreel.run([greatest, own, rg], checkpoint=tmp_path / "kept", backend="processes", n_workers=2)
    assert own.results.value == expected


def test_frame_at_which_an_own_reducer_fails_is_named(long: Source) -> None:
    atoms = MDAnalysis.Universe.empty(2, trajectory=True).atoms

    def raises(positions: np.ndarray) -> int:
        if (positions[..., 1, 2] > 9).any():
            raise RuntimeError("too tall")
        return 0

    keep = mdreel.analysis.Reducer(lambda one, other: one)
    for per in ("frame", "block"):
        with pytest.raises(FunctionError, match="frame 12345: RuntimeError: too tall"):
            mdreel.from_function(raises, atoms, per=per, reduce=keep, trajectory=long).run()  # type: ignore[arg-type]
    with pytest.raises(FunctionError, match=r"frame 0: the function <lambda>\(\) returned nothing"):
        mdreel.from_function(lambda p: None, atoms, reduce=keep, trajectory=long).run()


@pytest.mark.parametrize("backend", ["serial", "processes"])
def test_values_that_do_not_merge_or_travel_are_an_error(
    atoms: MDAnalysis.AtomGroup, adk_xtc: Path, backend: str
) -> None:
    def refuses(one: int, other: int) -> int:
        raise KeyError("no merging")

    own = mdreel.from_function(
        lambda p: 1, atoms, per="block", reduce=mdreel.analysis.Reducer(refuses), trajectory=adk_xtc
    )
    with pytest.raises(FunctionError, match=r"KeyError: 'no merging' \(in refuses"):
        own.run(backend=backend, n_parts=4)
    if backend == "processes":
        keep = mdreel.analysis.Reducer(lambda one, other: one)
        own = mdreel.from_function(lambda p: (i for i in "ab"), atoms, reduce=keep, trajectory=adk_xtc)
        with pytest.raises(FunctionError, match=r"a value cannot be sent to other processes: .*generator"):
            own.run(backend=backend, n_workers=2)


def test_reducers_refuse_invalid_input(atoms: MDAnalysis.AtomGroup) -> None:
    for options, expected in (
        ({"reduce": "histogram", "bins": 10}, "a histogram of 10 bins needs range"),
        ({"reduce": "histogram", "bins": 10, "range": (3, 3)}, "a histogram of 10 bins needs range"),
        ({"reduce": "histogram"}, "needs bins"),
        ({"reduce": "histogram", "bins": [1, 0]}, "bins as ascending edges"),
        ({"reduce": "max", "bins": 10}, "for reduce='histogram', not for 'max'"),
    ):
        with pytest.raises(MismatchError, match=expected):
            mdreel.from_function(np.max, atoms, **options)  # type: ignore[arg-type]
    with pytest.raises(MismatchError, match="merge of a reducer must be a function, got int"):
        mdreel.analysis.Reducer(3)  # type: ignore[arg-type]
