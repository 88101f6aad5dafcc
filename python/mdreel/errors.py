"""Exceptions and warnings.

All of them take one argument, the message, so that they pickle. The core raises them too. What the operating system
refuses stays its own: a missing file is a ``FileNotFoundError``.
"""


class MdreelError(Exception):
    """What every error of mdreel is."""


class FormatError(MdreelError, OSError):
    """A file is not what its format says: truncated, corrupt, or of another format."""


class FrameIndexError(MdreelError, IndexError):
    """A frame lies outside the trajectory, or no frame was asked for."""


class MismatchError(MdreelError, ValueError):
    """Two things that must agree do not: numbers of atoms, shapes of arrays."""


class SelectionError(MdreelError, ValueError):
    """A selection of atoms cannot be analysed."""


class UnsupportedError(MdreelError, NotImplementedError):
    """Valid, but not supported."""


class DamagedFrameWarning(UserWarning):
    """Frames of a trajectory were damaged and left out, as was asked for with ``on_error``."""


class UnansweredRequestWarning(UserWarning):
    """A simulation was asked for something, and its answer could not be written. The simulation goes on."""


class RangeWarning(UserWarning):
    """Distances were counted beyond the range in which each pair of atoms has one image: counts are too low there."""


class AtomOrderWarning(UserWarning):
    """Atoms that are compared with those of a reference may not correspond to them."""


class BrokenMoleculeWarning(UserWarning):
    """A molecule is cut by the periodic cell, and an analysis needs it whole."""


class JumpWarning(UserWarning):
    """An atom jumps to the other side of the periodic cell, and an analysis needs its path."""


class UnitWarning(UserWarning):
    """A length or an angle looks as if it were in another unit than Å or degrees."""


class StreamError(MdreelError, ConnectionError):
    """A running simulation was lost."""


class StreamTimeoutError(StreamError, TimeoutError):
    """A running simulation sent nothing for too long."""


class FunctionError(MdreelError, RuntimeError):
    """A function of the user has failed, or returned what it should not."""


class WorkerError(MdreelError, RuntimeError):
    """A worker was lost."""
