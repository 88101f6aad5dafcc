"""Concatenation of trajectories."""

from collections.abc import Sequence
from os import PathLike

from mdreel.trajectory.convert import convert
from mdreel.trajectory.output_atoms import Atoms
from mdreel.trajectory.read import read
from mdreel.trajectory.write_report import Written


def concat(
    paths: Sequence[str | PathLike[str]],
    output: str | PathLike[str],
    *,
    overlaps: str = "keep",
    atoms: Atoms | None = None,
    precision: float | None = None,
    n_workers: int | None = None,
    progress: bool = False,
    force: bool = False,
    on_error: str = "raise",
) -> Written:
    """Write several trajectories to one file, one after another.

    Parameters
    ----------
    paths : sequence of paths
        The files, in their order; they must have the same atoms.
    output : path
        The file. It appears when it is whole.
    overlaps : {"keep", "drop"}
        What is done where the times of files overlap: all frames are kept, or each file ends where the next one begins.
    atoms, precision, n_workers, progress, force, on_error
        As of `convert`.

    Returns
    -------
    Written
        The file, and where the time went.

    Raises
    ------
    MismatchError
        If files have different numbers of atoms, and as `convert`.
    UnsupportedError, FormatError, FrameIndexError, SelectionError, OSError
        As `convert`.

    Notes
    -----
    All atoms of XTC files are copied to an XTC file as bytes, without loss; so are those of TRR files to TRR. With
    ``on_error="stop"`` nothing is taken from files behind one that is torn.
    """
    source = read(paths, overlaps=overlaps)
    return convert(
        source,
        output,
        atoms=atoms,
        precision=precision,
        n_workers=n_workers,
        progress=progress,
        force=force,
        on_error=on_error,
    )
