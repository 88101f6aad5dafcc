"""Concatenation of trajectories."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from mdreel.foundation.arguments import checked_arguments
from mdreel.trajectory.convert import convert
from mdreel.trajectory.open import open as open_trajectory
from mdreel.trajectory.output_atoms import Atoms
from mdreel.trajectory.write_report import Written


@checked_arguments
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
        The files, in the order in which they should be written. They must contain the same atoms.
    output : path
        The output file, which will only appear once it is complete.
    overlaps : {"keep", "drop"}
        How to treat overlapping times. You can keep all frames, or end each file where the next file begins.
    atoms, precision, n_workers, progress, force, on_error
        See `convert`.

    Returns
    -------
    Written
        The output file and the timing.

    Raises
    ------
    MismatchError
        If the files have different numbers of atoms. See also `convert`.
    UnsupportedError, FormatError, FrameIndexError, SelectionError, OSError
        See `convert`.

    Notes
    -----
    If you write all atoms of XTC files to an XTC file, the frames can be copied byte by byte, without loss. The same
    applies to TRR files. If you use ``on_error="stop"``, the output will end at the first incomplete file.

    Examples
    --------
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD
    >>> parts = mdreel.trajectory.split(DCD, "part.xtc", n_parts=2).paths
    >>> mdreel.trajectory.concat(parts, "whole.xtc").n_frames
    98
    """
    source = open_trajectory(paths, overlaps=overlaps)
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
