"""Replacement of MDAnalysis's readers by readers of mdreel."""

from functools import cache
from types import TracebackType
from typing import Any, Self

from mdreel.errors import UnsupportedError


class Acceleration:
    """Return value of `accelerate`; as a context manager, it restores the previous state at its end.

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

    New readers of these formats, whether a `Universe`, a chain, a copy or a direct call creates them, are subclasses
    that read with mdreel and give the same numbers. Existing readers do not change. A second call has no effect.

    Returns
    -------
    Acceleration
        Context manager: ``with mdreel.mdanalysis.accelerate():`` restores the previous state. You may ignore it.

    Raises
    ------
    UnsupportedError
        If other code already replaces MDAnalysis's readers.

    Notes
    -----
    mdreel replaces the call of the metaclass of MDAnalysis's readers, which creates them. Classes and registry of
    MDAnalysis do not change. Files that the core cannot read (``convert_units=False``, files that are already open,
    unknown HDF5 filters...) are read by MDAnalysis itself; the logger ``mdreel.mdanalysis`` reports this. Readers can
    be pickled, also for processes that have not called `accelerate`.

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

    Existing readers remain usable. Without a previous `accelerate`, nothing changes.

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
    """Create a reader; replaces ``type.__call__``."""
    return type.__call__(_replacements().get(cls, cls), *args, **kwargs)


def _metaclass() -> Any:
    from MDAnalysis.coordinates.base import ProtoReader

    return type(ProtoReader)


@cache
def _replacements() -> dict[type, type]:
    """Return mdreel's readers, by the MDAnalysis readers that they replace."""
    from mdreel.mdanalysis.dcd import DCDReader
    from mdreel.mdanalysis.h5md import H5MDReader
    from mdreel.mdanalysis.netcdf import NCDFReader
    from mdreel.mdanalysis.xdr import TRRReader, XTCReader

    return {reader.original: reader for reader in (XTCReader, TRRReader, DCDReader, NCDFReader, H5MDReader)}
