"""Access: how the workers of a run come to the bytes of a trajectory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from mdreel.errors import MismatchError, UnsupportedError

if TYPE_CHECKING:
    from mdreel._core import Source

Access: TypeAlias = Literal["shared", "chain", "segments"]
"""One file for all workers; several files read as one; several files of which each block lies in one."""

ACCESSES: tuple[Access, ...] = get_args(Access)


def check_access(access: str | None, source: Source) -> None:
    """Refuse a way of access that is unknown, or does not suit a trajectory.

    Parameters
    ----------
    access : str or None
        The way; None for the one that suits.
    source : Source
        The trajectory.

    Raises
    ------
    UnsupportedError
        If the name is unknown.
    MismatchError
        If it does not suit the number of files.
    """
    if access is not None and access not in ACCESSES:
        raise UnsupportedError(f"unknown access {access!r}; known: {', '.join(ACCESSES)}")
    n_files = source.n_segments
    if access == "shared" and n_files > 1:
        raise MismatchError(f"access='shared' is for one file, there are {n_files}: use 'chain' or 'segments'")
    if access == "chain" and n_files == 1:
        raise MismatchError("access='chain' is for several files, there is 1: use 'shared'")
