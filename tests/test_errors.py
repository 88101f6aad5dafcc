"""The tree of errors, their places in files, and their way across a process boundary."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from MDAnalysis import AtomGroup, Universe
from MDAnalysisTests.datafiles import GRO, XTC
from numpy.typing import NDArray

import mdreel
from mdreel import errors

TREE = {
    errors.ArgumentError: (errors.MismatchError, TypeError),
    errors.FormatError: (errors.MdreelError, OSError),
    errors.FrameIndexError: (errors.MdreelError, IndexError),
    errors.MismatchError: (errors.MdreelError, ValueError),
    errors.SelectionError: (errors.MdreelError, ValueError),
    errors.UnsupportedError: (errors.MdreelError, NotImplementedError),
    errors.StreamError: (errors.MdreelError, ConnectionError),
    errors.StreamTimeoutError: (errors.StreamError, TimeoutError),
    errors.FunctionError: (errors.MdreelError, RuntimeError),
    errors.WorkerError: (errors.MdreelError, RuntimeError),
}

WARNINGS = {
    errors.AtomOrderWarning,
    errors.BrokenMoleculeWarning,
    errors.DamagedFrameWarning,
    errors.EndedRunWarning,
    errors.JumpWarning,
    errors.MissedFramesWarning,
    errors.RangeWarning,
    errors.SlowConsumerWarning,
    errors.UnansweredRequestWarning,
    errors.UnitWarning,
}


def test_errors_are_all_in_the_tree() -> None:
    defined = {value for value in vars(errors).values() if isinstance(value, type)}
    assert defined == {errors.MdreelError, errors.MdreelWarning, *WARNINGS, *TREE}
    assert errors.MdreelWarning.__bases__ == (UserWarning,)
    assert all(one.__bases__ == (errors.MdreelWarning,) for one in WARNINGS)


@pytest.mark.parametrize(("error", "bases"), TREE.items())
def test_error_has_its_place_in_the_tree(error: type[Exception], bases: tuple[type[Exception], ...]) -> None:
    assert error.__bases__ == bases


@pytest.mark.parametrize("error", TREE)
def test_error_pickles_with_its_message(error: type[Exception]) -> None:
    message = "adk.xtc, frame 3, byte 52: expected 3341 atoms, got 12"
    copy = pickle.loads(pickle.dumps(error(message)))
    assert type(copy) is error
    assert str(copy) == message
    assert copy.args == (message,)


@pytest.mark.parametrize("error", TREE)
def test_error_carries_its_place(error: type[errors.MdreelError]) -> None:
    raised = error("expected 3341 atoms, got 12", path=Path("adk.xtc"), frame=3)
    for one in (raised, pickle.loads(pickle.dumps(raised))):
        assert str(one) == "adk.xtc, frame 3: expected 3341 atoms, got 12"
        assert (one.path, one.frame, one.byte) == ("adk.xtc", 3, None)


def test_error_without_a_place_has_only_its_message() -> None:
    error = errors.MismatchError("expected 3341 atoms, got 12")
    assert (str(error), error.path, error.frame, error.byte) == ("expected 3341 atoms, got 12", None, None, None)


def test_torn_file_names_file_frame_and_byte(tmp_path: Path) -> None:
    path = tmp_path / "torn.xtc"
    path.write_bytes(Path(XTC).read_bytes()[:1_000_000])
    with pytest.raises(errors.FormatError) as caught:
        mdreel.Rg(_few_atoms(), trajectory=path).run()
    assert (caught.value.path, caught.value.frame, caught.value.byte) == (str(path), 6, 991044)


def test_missing_frame_names_file_and_frame() -> None:
    with pytest.raises(errors.FrameIndexError) as caught:
        mdreel.Rg(_few_atoms(), trajectory=XTC).run(frames=[3, 100])
    assert (caught.value.path, caught.value.frame) == (XTC, 100)


@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_failed_function_names_its_frame(backend: str) -> None:
    first = Universe(GRO, XTC).trajectory[0].positions[0, 0]

    def fail_after_frame_0(positions: NDArray[np.float32]) -> float:
        assert positions[0, 0] == first
        return 0.0

    analysis = mdreel.from_function(fail_after_frame_0, _few_atoms(), trajectory=XTC)
    with pytest.raises(errors.FunctionError) as caught:
        analysis.run(frames=[7], backend=backend)
    assert (caught.value.path, caught.value.frame) == (XTC, 7)


def _few_atoms() -> AtomGroup:
    return Universe(GRO).atoms[:50]
