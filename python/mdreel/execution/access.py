"""Ways in which workers access the bytes of a trajectory."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from mdreel.errors import MismatchError, UnsupportedError
from mdreel.execution.choices import Access

if TYPE_CHECKING:
    from mdreel._core import Source
    from mdreel.execution.choices import Schedule

ACCESSES: tuple[Access, ...] = get_args(Access)


PARALLEL_HDF5 = ("hdf5-independent", "hdf5-collective")


def check_access(access: str | None, source: Source, backend: str, schedule: Schedule) -> None:
    """Refuse a way of access that is unknown, or does not suit a trajectory or an executor.

    Parameters
    ----------
    access : str or None
        The way; None for the one that suits.
    source : Source
        The trajectory.
    backend : str
        The name of the executor.
    schedule : {"demand", "static"}
        Its schedule.

    Raises
    ------
    UnsupportedError
        If the name is unknown, or the executor cannot do it.
    MismatchError
        If it does not suit the number of files, the schedule, or what is done where a frame is damaged.
    """
    if access is not None and access not in ACCESSES:
        raise UnsupportedError(f"unknown access {access!r}; known: {', '.join(ACCESSES)}")
    n_files = source.n_segments
    if access == "shared" and n_files > 1:
        raise MismatchError(f"access='shared' is for one file, there are {n_files}: use 'chain' or 'segments'")
    if access == "chain" and n_files == 1:
        raise MismatchError("access='chain' is for several files, there is 1: use 'shared'")
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
            f"access='hdf5-collective' needs on_error='raise', not {source.on_error!r}: who looks for what is whole "
            "reads more often than the others; use 'hdf5-independent'"
        )
