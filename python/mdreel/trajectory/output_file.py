"""Output files, checked before anything is read."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Source, output_formats
from mdreel.errors import MismatchError, UnsupportedError
from mdreel.execution.source_name import source_name
from mdreel.foundation.atomic_files import check_target

H5MD = "H5MD"


@dataclass(frozen=True)
class OutputFormat:
    """A format that can be written.

    Attributes
    ----------
    name : str
        What it is called.
    ending : str
        How its files' names end, with the dot.
    rounds : bool
        Whether coordinates are rounded to a precision that can be chosen.
    keeps_times : bool
        Whether the time of each frame is kept, rather than those of the first two.
    """

    name: str
    ending: str
    rounds: bool
    keeps_times: bool


def formats() -> list[OutputFormat]:
    """Return the formats that can be written: the core's, and H5MD, whose structure h5py makes."""
    of_core = [OutputFormat(name, f".{ending}", *facts) for name, ending, *facts in output_formats()]
    return of_core + [OutputFormat(H5MD, ending, rounds=False, keeps_times=True) for ending in (".h5md", ".h5")]


def find_format(path: str | PathLike[str]) -> OutputFormat:
    """Return the format that the ending of a file stands for.

    Raises
    ------
    UnsupportedError
        If no format has this ending.
    """
    for known in formats():
        if Path(path).suffix.lower() == known.ending:
            return known
    endings = ", ".join(known.ending for known in formats())
    raise UnsupportedError(f"{path}: the ending of a trajectory must be one of {endings}")


def find_h5py(path: str | PathLike[str]) -> ModuleType:
    """Import h5py.

    Parameters
    ----------
    path : path
        The file that is to be written, for the message.

    Returns
    -------
    module
        h5py.

    Raises
    ------
    UnsupportedError
        If it is not installed.
    """
    try:
        return import_module("h5py")
    except ImportError as error:
        raise UnsupportedError(f"{path} will be an HDF5 file, which needs h5py: pip install 'mdreel[hdf5]'") from error


def check_settings(path: str | PathLike[str], precision: float | None) -> None:
    """Check the ending of a file and the precision that it is to have.

    Parameters
    ----------
    path : path
        The file.
    precision : float or None
        Integers per nm.

    Raises
    ------
    UnsupportedError
        If no format has this ending, or it needs h5py, which is not installed.
    MismatchError
        If the format has no precision, or it is not positive.
    """
    written = find_format(path)
    if written.name == H5MD:
        find_h5py(path)
    if precision is None:
        return
    if not written.rounds:
        raise MismatchError(f"{path}: {written.name} does not round: it has no precision to be chosen")
    if not (np.isfinite(precision) and precision > 0):
        raise MismatchError(f"the precision must be a positive number, not {precision:g}")


def check_trajectory(path: str | PathLike[str], precision: float | None = None, force: bool = False) -> Path:
    """Check that a trajectory can be written at `path`, without writing it.

    Parameters
    ----------
    path : path
        Where the file shall be; its ending is its format.
    precision : float, optional
        Integers per nm.
    force : bool
        Whether an existing file may be replaced.

    Returns
    -------
    Path
        The path.

    Raises
    ------
    UnsupportedError
        If no format has this ending.
    MismatchError
        If the format has no precision, or it is not positive.
    OSError
        If the file exists and is not to be replaced, or cannot be made.
    """
    check_settings(path, precision)
    check_target(Path(path), force)
    return Path(path)


def warn_of_times(path: Path, source: Source, times: NDArray[np.float64]) -> None:
    """Warn that frames will have other times in a file that has one interval for all of them.

    Parameters
    ----------
    path : Path
        The file to be written.
    source : Source
        Where the frames come from.
    times : ndarray, shape (n_frames,), float64
        Their times, ps.
    """
    if find_format(path).keeps_times or len(times) < 3:
        return
    intervals = np.diff(times)
    # Times come from float32, and 0.1 % of an interval is nothing to anybody.
    tolerance = 4 * np.finfo(np.float32).eps * np.abs(times).max() + 1e-3 * abs(intervals[0])
    uneven = np.flatnonzero(np.abs(intervals - intervals[0]) > tolerance)
    if len(uneven):
        before, after = times[uneven[0]], times[uneven[0] + 1]
        warnings.warn(
            f"{path}: the file will have a frame every {intervals[0]:g} ps, but in {source_name(source)} "
            f"{after:g} ps comes after {before:g} ps",
            stacklevel=3,
        )


@contextmanager
def naming(source: Source) -> Iterator[None]:
    """Put the name of the source in front of what does not fit."""
    try:
        yield
    except MismatchError as error:
        raise MismatchError(f"{source_name(source)}: {error}") from None
