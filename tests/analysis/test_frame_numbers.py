"""Numbers of frames that user code receives, from files without a frame index, which are read in blocks of bytes."""

import shutil
import sys
from pathlib import Path
from typing import Any

import cloudpickle
import MDAnalysis as mda
import numpy as np
import pytest
from MDAnalysisTests import datafiles

import mdreel

N_ATOMS = 20
FORMATS = ["xtc", "trr"]


@pytest.fixture(params=FORMATS)
def fresh(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, int]:
    """A trajectory of 98 frames that no run has read, and its number of frames."""
    monkeypatch.setenv("MDREEL_CACHE_DIR", str(tmp_path / "cache"))
    made = tmp_path / f"made.{request.param}"
    mdreel.trajectory.convert(datafiles.DCD, made)
    path = tmp_path / f"fresh.{request.param}"
    shutil.copy(made, path)
    return path, 98


def atoms() -> mda.AtomGroup:
    return mda.Universe(datafiles.PSF, to_guess=()).atoms[:N_ATOMS]


def number(positions: Any, frame: Any) -> Any:
    """Return the number of a frame, or of the frames of a block."""
    return np.asarray(frame, float)


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this module


class Numbers(mdreel.AnalysisBase):
    """Keeps the number of each frame, as the trajectory of MDAnalysis gives it."""

    def _prepare(self) -> None:
        self.results.numbers = np.full(self.n_frames, -1)

    def _single_frame(self) -> None:
        self.results.numbers[self._frame_index] = self._ts.frame


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["serial", "threads", "processes"])
@pytest.mark.parametrize("on_error", ["raise", "skip", "stop"])
def test_function_receives_the_numbers_of_frames(fresh: tuple[Path, int], backend: Any, on_error: Any) -> None:
    path, n_frames = fresh
    run = mdreel.from_function(number, atoms(), trajectory=path)
    run.run(backend=backend, n_workers=None if backend == "serial" else 3, n_parts=3, on_error=on_error)
    assert run.results.timeseries.ravel().tolist() == list(range(n_frames))
    assert run.frames.tolist() == list(range(n_frames))


@pytest.mark.filterwarnings("ignore")
def test_function_of_blocks_and_reducers_receive_the_numbers_of_frames(fresh: tuple[Path, int]) -> None:
    path, n_frames = fresh
    of_blocks = mdreel.from_function(number, atoms(), per="block", trajectory=path)
    largest = mdreel.from_function(number, atoms(), reduce="max", trajectory=path)
    together = mdreel.run([of_blocks, largest], backend="threads", n_workers=2, n_parts=4)
    assert together[0].results.timeseries.ravel().tolist() == list(range(n_frames))
    assert largest.results.max == n_frames - 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_own_class_receives_the_numbers_of_frames(fresh: tuple[Path, int], on_error: Any) -> None:
    path, n_frames = fresh
    run = Numbers(atoms(), trajectory=path).run(backend="threads", n_workers=3, n_parts=3, on_error=on_error)
    assert run.results.numbers.tolist() == list(range(n_frames))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("on_error", ["skip", "stop"])
def test_numbers_of_a_file_whose_last_frame_is_torn(fresh: tuple[Path, int], on_error: Any) -> None:
    path, n_frames = fresh
    content = path.read_bytes()
    path.write_bytes(content[:-50])
    run = mdreel.from_function(number, atoms(), trajectory=path)
    run.run(backend="threads", n_workers=3, n_parts=3, on_error=on_error)
    assert run.results.timeseries.ravel().tolist() == list(range(n_frames - 1))
