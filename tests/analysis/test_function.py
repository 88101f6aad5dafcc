"""Tests of analyses made from user functions."""

import re
import threading
from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from mdreel._core import Source
from mdreel.errors import FunctionError, MismatchError, UnsupportedError
from mdreel.trajectory.open import open as open_trajectory

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
N_LONG = 12_400


def height(positions: np.ndarray) -> float:
    return positions[:, 2].max() - positions[:, 2].min()


def heights(positions: np.ndarray) -> np.ndarray:
    return positions[:, :, 2].max(axis=1) - positions[:, :, 2].min(axis=1)


def centre_and_extent(positions: np.ndarray) -> np.ndarray:
    return np.stack([positions.mean(axis=0), np.ptp(positions, axis=0)])


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, DCD)


def test_function_of_frames_and_of_blocks_agree_with_a_loop(universe: MDAnalysis.Universe) -> None:
    atoms = universe.select_atoms("backbone")[::-1]  # in the order of the group
    expected = [height(atoms.positions) for _ in universe.trajectory[3::4]]
    one = mdreel.from_function(height, atoms).run(start=3, step=4)
    other = mdreel.from_function(heights, atoms, per="block").run(start=3, step=4)
    np.testing.assert_array_equal(one.results.timeseries, expected)
    np.testing.assert_array_equal(other.results.timeseries, expected)
    np.testing.assert_array_equal(one.frames, range(3, 98, 4))
    first = mdreel.from_function(lambda positions: positions[0], atoms).run(stop=5).results.timeseries
    np.testing.assert_array_equal(first, [atoms.positions[0] for _ in universe.trajectory[:5]])


def test_function_may_return_arrays_and_be_reduced(universe: MDAnalysis.Universe) -> None:
    atoms = universe.select_atoms("name CA")
    values = mdreel.from_function(centre_and_extent, atoms).run().results.timeseries
    assert values.shape == (98, 2, 3)
    mean = mdreel.from_function(centre_and_extent, atoms, reduce="mean").run().results.mean
    np.testing.assert_allclose(mean, values.mean(axis=0), rtol=1e-13)
    total = mdreel.from_function(height, atoms, reduce="sum").run().results.sum
    assert total == pytest.approx(mdreel.from_function(height, atoms).run().results.timeseries.sum(), rel=1e-14)


@pytest.mark.parametrize("reduce", [None, "mean"])
def test_function_bitwise_identical_for_all_executors(adk_xtc: Path, reduce: str | None) -> None:
    atoms = MDAnalysis.Universe(PSF).select_atoms("name CA")

    def bits(**options: object) -> bytes:
        source = open_trajectory(adk_xtc, index="none")
        results = (
            mdreel.from_function(centre_and_extent, atoms, reduce=reduce, trajectory=source).run(**options).results
        )
        return (results.timeseries if reduce is None else results.mean).tobytes()

    expected = bits(backend="serial")
    for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2, "n_parts": 5}):
        assert bits(**options) == expected, options


def test_function_shares_a_pass(universe: MDAnalysis.Universe) -> None:
    atoms = universe.select_atoms("name CA")
    rmsd, own = mdreel.run([mdreel.RMSD(universe.select_atoms("backbone")), mdreel.from_function(height, atoms)])
    assert rmsd.results.rmsd.shape == (98, 3)
    np.testing.assert_array_equal(own.results.timeseries, mdreel.from_function(height, atoms).run().results.timeseries)


class TooTallError(Exception):
    pass


@pytest.fixture(scope="module")
def long() -> Source:
    positions = np.zeros((N_LONG, 2, 3), np.float32)
    positions[12_345, 1, 2] = 99
    return Source.memory(positions, np.arange(N_LONG, dtype=float))


@pytest.mark.parametrize("n_workers", [1, 2])
def test_frame_at_which_a_function_raises_is_named(long: Source, n_workers: int) -> None:
    def of_frame(positions: np.ndarray) -> float:
        if positions[1, 2] > 9:
            raise TooTallError("more than\n9 Å")
        return 0.0

    def of_block(positions: np.ndarray) -> np.ndarray:
        if (positions[:, 1, 2] > 9).any():
            raise TooTallError("more than\n9 Å")
        return np.zeros(len(positions))

    atoms = MDAnalysis.Universe.empty(2, trajectory=True).atoms
    for given, per in ((of_frame, "frame"), (of_block, "block")):
        with pytest.raises(FunctionError, match="frame 12345: TooTallError: more than 9 Å") as caught:
            mdreel.from_function(given, atoms, per=per, trajectory=long).run(n_workers=n_workers)
        assert re.search(rf"in {given.__name__}, .*test_function\.py, line \d+", str(caught.value))


def test_invalid_return_values_are_errors(long: Source, adk_xtc: Path) -> None:
    atoms = MDAnalysis.Universe.empty(2, trajectory=True).atoms

    def grows(positions: np.ndarray) -> np.ndarray:
        return np.zeros(1 + int(positions[1, 2] > 9))

    def text(positions: np.ndarray) -> str:
        return "tall"

    def endless(positions: np.ndarray) -> float:
        return np.inf if positions[1, 2] > 9 else 0.0

    def flat(positions: np.ndarray) -> float:
        return 0.0

    for given, options, expected in (
        (grows, {}, r"frame 12345: the function returned the shape \(2,\), for frame 0 \(1,\)"),
        (text, {}, r"frame 0: the function text\(\) returned str: expected a number"),
        (endless, {"reduce": "sum"}, "frame 12345: value 0 is inf: it cannot be added up"),
        (flat, {"per": "block"}, "an array with one entry per frame"),
    ):
        with pytest.raises(FunctionError, match=expected):
            mdreel.from_function(given, atoms, trajectory=long, **options).run()
    # Of a file whose frames nobody has located, the frame is known all the same.
    with pytest.raises(FunctionError, match=r"adk.*\.xtc: frame 7: ZeroDivisionError"):
        reference = open_trajectory(adk_xtc).read(mdreel._core.FrameSet.range(7, 1, 1), np.arange(1, dtype=np.uint32))
        at = reference.positions[0, 0, 0]
        universe = MDAnalysis.Universe(PSF)
        source = open_trajectory(adk_xtc, index="none")
        mdreel.from_function(lambda p: 1 // int(p[0, 0] != at), universe.atoms[:1], trajectory=source).run()


def test_from_function_refuses_invalid_input(universe: MDAnalysis.Universe) -> None:
    with pytest.raises(MismatchError, match="f must be a function, not 3"):
        mdreel.from_function(3, universe.atoms)  # type: ignore[arg-type]
    with pytest.raises(MismatchError, match="'atom'"):
        mdreel.from_function(height, universe.atoms, per="atom")  # type: ignore[arg-type]
    with pytest.raises(MismatchError, match="'median'"):
        mdreel.from_function(height, universe.atoms, reduce="median")  # type: ignore[arg-type]


def test_function_that_cannot_be_imported_is_sent_along(universe: MDAnalysis.Universe) -> None:
    atoms, scale = universe.select_atoms("name CA"), 3.0

    def scaled(positions: np.ndarray) -> float:
        return scale * height(positions)

    for given in (scaled, lambda positions: scale * height(positions)):
        values = mdreel.from_function(given, atoms).run(backend="processes", n_workers=2).results.timeseries
        np.testing.assert_array_equal(values, mdreel.from_function(given, atoms).run().results.timeseries)
    lock = threading.Lock()

    def locked(positions: np.ndarray) -> float:
        with lock:
            return 0.0

    mdreel.from_function(locked, atoms).run(stop=3)
    with pytest.raises(UnsupportedError, match=r"cannot be sent to other processes: .*lock"):
        mdreel.from_function(locked, atoms).run(backend="processes", n_workers=2)


def test_function_may_print(universe: MDAnalysis.Universe, capfd: pytest.CaptureFixture[str]) -> None:
    def talks(positions: np.ndarray) -> float:
        print("seen")
        return 0.0

    mdreel.from_function(talks, universe.atoms[:3]).run(stop=4)
    assert capfd.readouterr().out.count("seen") == 5  # once more for the first frame
