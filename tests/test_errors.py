"""The tree of errors, and that they survive a process boundary."""

import pickle

import pytest

from mdreel import errors

TREE = {
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
    errors.JumpWarning,
    errors.RangeWarning,
    errors.UnansweredRequestWarning,
    errors.UnitWarning,
}


def test_errors_are_all_in_the_tree() -> None:
    defined = {value for value in vars(errors).values() if isinstance(value, type)}
    assert defined == {errors.MdreelError, *WARNINGS, *TREE}
    assert all(one.__bases__ == (UserWarning,) for one in WARNINGS)


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
