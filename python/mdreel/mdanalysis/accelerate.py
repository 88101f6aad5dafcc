"""Replacement of MDAnalysis's readers by mdreel's readers."""

from functools import cache
from types import TracebackType
from typing import Any, Self

from mdreel.errors import UnsupportedError


class Acceleration:
    """Return value of `accelerate`. You can use it as a context manager that restores the previous state on exit.

    Parameters
    ----------
    was_on : bool
        Whether `accelerate` was in effect before.
    """

    def __init__(self, was_on: bool) -> None:
        self._was_on = was_on

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._was_on:
            unaccelerate()


def accelerate() -> Acceleration:
    """Make MDAnalysis read XTC, TRR, DCD, AMBER NetCDF and H5MD with mdreel.

    All new readers for these formats will belong to subclasses that read with mdreel and return the same numbers. It
    does not matter whether a reader is created by a `Universe`, by a chain of readers, by copying, or directly.
    However, your existing readers will not change. You can safely call this function more than once.

    Returns
    -------
    Acceleration
        A context manager that restores the previous state on exit. You can also ignore the return value.

    Raises
    ------
    UnsupportedError
        If other code already replaces MDAnalysis's readers.

    Notes
    -----
    This function replaces the metaclass method that creates MDAnalysis's readers. The reader classes and the reader
    registry of MDAnalysis do not change. If the core cannot read a file (because of ``convert_units=False``, an open
    file, unknown HDF5 filters, ...), the file is read by MDAnalysis instead, and the logger ``mdreel.mdanalysis``
    records this. You can pickle the readers and send them to another process, even if that process has not called
    `accelerate`.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> with mdreel.mdanalysis.accelerate():
    ...     universe = mda.Universe(PSF, DCD)
    >>> len(universe.trajectory)
    98
    """
    metaclass = _metaclass()
    now = vars(metaclass).get("__call__")
    if now is None:
        _replacements()
        metaclass.__call__ = _make_reader
    elif now is not _make_reader:
        raise UnsupportedError(f"another function already creates MDAnalysis's readers: {now!r}")
    return Acceleration(was_on=now is not None)


def unaccelerate() -> None:
    """Restore MDAnalysis's own readers after `accelerate`.

    You can still use existing readers. If `accelerate` has not been called, this function has no effect.

    Examples
    --------
    >>> import mdreel
    >>> acceleration = mdreel.mdanalysis.accelerate()
    >>> mdreel.mdanalysis.unaccelerate()
    """
    metaclass = _metaclass()
    if vars(metaclass).get("__call__") is _make_reader:
        del metaclass.__call__


def is_replaced(kind: type) -> bool:
    """Return whether `accelerate` replaces an MDAnalysis reader class."""
    return kind in _replacements()


def _make_reader(cls: type, /, *args: Any, **kwargs: Any) -> Any:
    """Create a reader. This function replaces ``type.__call__``."""
    return type.__call__(_replacements().get(cls, cls), *args, **kwargs)


def _metaclass() -> Any:
    from MDAnalysis.coordinates.base import ProtoReader

    return type(ProtoReader)


@cache
def _replacements() -> dict[type, type]:
    """Return mdreel's reader for each MDAnalysis reader that it replaces."""
    from mdreel.mdanalysis.dcd import DCDReader
    from mdreel.mdanalysis.h5md import H5MDReader
    from mdreel.mdanalysis.netcdf import NCDFReader
    from mdreel.mdanalysis.xdr import TRRReader, XTCReader

    return {reader.original: reader for reader in (XTCReader, TRRReader, DCDReader, NCDFReader, H5MDReader)}
