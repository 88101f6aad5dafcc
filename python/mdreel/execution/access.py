"""Access modes, which determine how workers read the bytes of a trajectory."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from mdreel.errors import MismatchError, UnsupportedError
from mdreel.execution.choices import Access

if TYPE_CHECKING:
    from mdreel._core import Source
    from mdreel.execution.choices import Schedule

ACCESSES: tuple[Access, ...] = get_args(Access)


PARALLEL_HDF5 = ("hdf5-independent", "hdf5-collective")

MPIIO = ("mpiio", "mpiio-collective")

_FORMATS_OF_MPIIO = ("XTC", "TRR", "DCD")


def check_access(access: str | None, source: Source, backend: str, schedule: Schedule) -> None:
    """Reject an access mode that is unknown, or that is not suitable for the trajectory or the executor.

    Parameters
    ----------
    access : str or None
        The access mode, or None for the default.
    source : Source
        The trajectory.
    backend : str
        Name of the executor.
    schedule : {"demand", "static"}
        Schedule of the executor.

    Raises
    ------
    UnsupportedError
        If the access mode is unknown, or if the executor or the format does not support it.
    MismatchError
        If the access mode is not compatible with the number of files, the schedule, or the handling of damaged frames.
    """
    if access is not None and access not in ACCESSES:
        raise UnsupportedError(f"unknown access {access!r}; known: {', '.join(ACCESSES)}")
    n_files = source.n_segments
    if access == "shared" and n_files > 1:
        raise MismatchError(f"access='shared' is for one file, not {n_files}: use 'chain' or 'segments'")
    if access == "chain" and n_files == 1:
        raise MismatchError("access='chain' is for several files, not 1: use 'shared'")
    if access in PARALLEL_HDF5 and backend != "mpi":
        raise UnsupportedError(f"access={access!r} is for the backend mpi, not {backend}: use 'shared'")
    if access in PARALLEL_HDF5 and source.transformations:
        raise UnsupportedError(f"access={access!r} cannot transform frames: use 'shared'")
    if access == "hdf5-collective" and schedule != "static":
        raise MismatchError(
            "access='hdf5-collective' needs schedule='static', so that all ranks read equally often: "
            "use that, or 'hdf5-independent'"
        )
    if access == "hdf5-collective" and source.on_error != "raise":
        raise MismatchError(
            f"access='hdf5-collective' needs on_error='raise', not {source.on_error!r}, because a rank that "
            "looks for undamaged frames reads more often than the other ranks; use 'hdf5-independent'"
        )
    if access in MPIIO:
        _check_mpiio(access, source, backend, schedule)


def _check_mpiio(access: str, source: Source, backend: str, schedule: Schedule) -> None:
    usual = "'shared'" if source.n_segments == 1 else "'chain'"
    if backend != "mpi":
        raise UnsupportedError(f"access={access!r} is for the backend mpi, not {backend}: use {usual}")
    if access == "mpiio-collective" and schedule != "static":
        raise MismatchError(
            "access='mpiio-collective' needs schedule='static', so that no rank waits for a rank that has no blocks: "
            "use that, or 'mpiio'"
        )
    for format_, path in source.files:
        if format_ not in _FORMATS_OF_MPIIO or path is None:
            what = f"{format_} behind a network" if source.n_fetched is not None else format_
            raise UnsupportedError(
                f"access={access!r} is for files of {', '.join(_FORMATS_OF_MPIIO)} in a file system, "
                f"not for {what}: use {usual}",
                path=None if path is None else str(path),
            )
