"""Exceptions and warnings of mdreel.

Every message names the place (file, frame or argument), the expected value and the value found. The Rust core raises
these exceptions too. Errors of the operating system keep their own type: a missing file raises ``FileNotFoundError``.
"""

import os


def __dir__() -> list[str]:
    return [name for name, value in globals().items() if isinstance(value, type)]


class MdreelError(Exception):
    """Base class of all mdreel exceptions.

    Parameters
    ----------
    message : str
        The expected value, the value found, and the remedy.
    path : str or os.PathLike, optional
        The file, channel or directory with the problem. It goes in front of the message.
    frame : int, optional
        The frame with the problem, counted from 0.

    Attributes
    ----------
    path : str or None
        The file, channel or directory with the problem, if the error is about one.
    frame : int or None
        The frame with the problem, counted from 0, if it is known.
    byte : int or None
        The first damaged byte, counted from the start of the file, if it is known.
    """

    path: str | None = None
    frame: int | None = None
    byte: int | None = None

    def __init__(self, message: str, *, path: "str | os.PathLike[str] | None" = None, frame: int | None = None) -> None:
        place = [os.fspath(path)] if path is not None else []
        if frame is not None:
            place.append(f"frame {frame}")
        super().__init__(f"{', '.join(place)}: {message}" if place else message)
        if path is not None:
            self.path = os.fspath(path)
        if frame is not None:
            self.frame = frame


class FormatError(MdreelError, OSError):
    """A file does not follow its format: it is truncated, corrupt, or has another format."""


class FrameIndexError(MdreelError, IndexError):
    """A requested frame is outside the trajectory, or no frame was requested."""


class MismatchError(MdreelError, ValueError):
    """Two inputs do not fit each other, for example in their number of atoms or array shape."""


class ArgumentError(MismatchError, TypeError):
    """An argument has a type that its parameter does not accept, or a name that no parameter has."""


class SelectionError(MdreelError, ValueError):
    """A selection of atoms is empty, invalid, or lacks a required topology attribute."""


class UnsupportedError(MdreelError, NotImplementedError):
    """The input is valid, but mdreel does not support it."""


class MdreelWarning(UserWarning):
    """Base of the warnings of mdreel: a result or a file may not be what the user expects."""


class DamagedFrameWarning(MdreelWarning):
    """Damaged frames of a trajectory were left out, as requested with ``on_error``."""


class UnansweredRequestWarning(MdreelWarning):
    """A simulation received a request, but could not write its answer. The simulation continues."""


class RangeWarning(MdreelWarning):
    """Distances exceed the range in which each pair of atoms has a single image, so counts beyond it are too low."""


class AtomOrderWarning(MdreelWarning):
    """Compared atoms may not correspond to the atoms of the reference."""


class BrokenMoleculeWarning(MdreelWarning):
    """The cell boundary cuts a molecule that an analysis needs whole."""


class JumpWarning(MdreelWarning):
    """An atom jumps across the periodic cell, but an analysis needs its continuous path."""


class UnitWarning(MdreelWarning):
    """A length or an angle appears to be in a unit other than Å or degrees."""


class StreamError(MdreelError, ConnectionError):
    """The connection to a running simulation was lost."""


class StreamTimeoutError(StreamError, TimeoutError):
    """A running simulation sent no data within the timeout."""


class FunctionError(MdreelError, RuntimeError):
    """A user function failed or returned an invalid value."""


class WorkerError(MdreelError, RuntimeError):
    """A worker was lost during a run."""
