"""Replacement of MDAnalysis's readers by readers of mdreel."""

from functools import cache
from types import TracebackType
from typing import Any, Self

from mdreel.errors import UnsupportedError


class Acceleration:
    """What `accelerate` gives: leaving it as a context puts things back as they were before.

    Parameters
    ----------
    was_on : bool
        Whether MDAnalysis was accelerated before.
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
    """Have MDAnalysis read XTC, TRR, DCD, AMBER NetCDF and H5MD with mdreel.

    From now on whoever makes one of MDAnalysis's readers of these formats (a `Universe`, a chain, a copy of a reader, a
    call of the class) gets one of ours: a subclass that does the same and gives the same numbers. What exists already
    stays as it is. Calling it again changes nothing.

    Returns
    -------
    Acceleration
        A context: ``with mdreel.mdanalysis.accelerate():`` ends with what was before. May be ignored.

    Raises
    ------
    UnsupportedError
        If something else already decides how MDAnalysis makes its readers.

    Notes
    -----
    Readers are made while the metaclass of MDAnalysis's readers is called; that call is what is replaced. Its classes
    and its registry stay as they are, so that it does not matter under which name a reader's class is known. What the
    core cannot read (``convert_units=False``, files that are open already, HDF5 filters that it does not know...) is
    read by MDAnalysis itself; the logger ``mdreel.mdanalysis`` says so. Readers of ours can be pickled, and their
    pickles load where nobody has called `accelerate`.
    """
    metaclass = _metaclass()
    now = vars(metaclass).get("__call__")
    if now is None:
        _replacements()
        metaclass.__call__ = _make_reader
    elif now is not _make_reader:
        raise UnsupportedError(f"MDAnalysis's readers are already made by another function: {now!r}")
    return Acceleration(was_on=now is not None)


def unaccelerate() -> None:
    """Have MDAnalysis read all its formats itself again.

    Readers that were made meanwhile stay usable. Where nothing was accelerated, nothing changes.
    """
    metaclass = _metaclass()
    if vars(metaclass).get("__call__") is _make_reader:
        del metaclass.__call__


def is_replaced(kind: type) -> bool:
    """Whether a class is a reader of MDAnalysis that one of ours stands in for, once it is accelerated."""
    return kind in _replacements()


def _make_reader(cls: type, /, *args: Any, **kwargs: Any) -> Any:
    """Make a reader; stands in for ``type.__call__``."""
    return type.__call__(_replacements().get(cls, cls), *args, **kwargs)


def _metaclass() -> Any:
    from MDAnalysis.coordinates.base import ProtoReader

    return type(ProtoReader)


@cache
def _replacements() -> dict[type, type]:
    """Our readers, by MDAnalysis's that they stand in for."""
    from mdreel.mdanalysis.dcd import DCDReader
    from mdreel.mdanalysis.h5md import H5MDReader
    from mdreel.mdanalysis.netcdf import NCDFReader
    from mdreel.mdanalysis.xdr import TRRReader, XTCReader

    return {reader.original: reader for reader in (XTCReader, TRRReader, DCDReader, NCDFReader, H5MDReader)}
