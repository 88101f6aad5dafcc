"""Checks of output files before a trajectory is read."""

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
from mdreel.errors import MdreelWarning, MismatchError, UnsupportedError
from mdreel.execution.source_name import source_name
from mdreel.foundation.atomic_files import check_target

H5MD = "H5MD"


@dataclass(frozen=True)
class OutputFormat:
    """An output format.

    Attributes
    ----------
    name : str
        Name of the format.
    ending : str
        File extension, with the dot.
    rounds : bool
        Whether coordinates are rounded to a given precision.
    keeps_times : bool
        Whether the time of each frame is stored, rather than a constant interval.
    """

    name: str
    ending: str
    rounds: bool
    keeps_times: bool


def formats() -> list[OutputFormat]:
    """Return the output formats of the core, and H5MD, which requires h5py."""
    of_core = [OutputFormat(name, f".{ending}", *facts) for name, ending, *facts in output_formats()]
    return of_core + [OutputFormat(H5MD, ending, rounds=False, keeps_times=True) for ending in (".h5md", ".h5")]


def find_format(path: str | PathLike[str]) -> OutputFormat:
    """Return the format that corresponds to the extension of a file.

    Raises
    ------
    UnsupportedError
        If the extension is unknown.
    """
    for known in formats():
        if Path(path).suffix.lower() == known.ending:
            return known
    endings = ", ".join(known.ending for known in formats())
    raise UnsupportedError(f"the ending of a trajectory must be one of {endings}", path=path)


def is_supported(path: str | PathLike[str]) -> bool:
    """Return whether the extension of a file belongs to a supported format."""
    return any(Path(path).suffix.lower() == known.ending for known in formats())


def find_h5py(path: str | PathLike[str]) -> ModuleType:
    """Import h5py.

    Parameters
    ----------
    path : path
        The output file, for the error message.

    Returns
    -------
    module
        h5py.

    Raises
    ------
    UnsupportedError
        If h5py is not installed.
    """
    try:
        return import_module("h5py")
    except ImportError as error:
        raise UnsupportedError(f"{path} will be an HDF5 file, which needs h5py: pip install 'mdreel[hdf5]'") from error


def check_settings(path: str | PathLike[str], precision: float | None) -> None:
    """Check the extension and the precision of an output file.

    Parameters
    ----------
    path : path
        The file.
    precision : float or None
        Integers per nm.

    Raises
    ------
    UnsupportedError
        If the extension is unknown, or if h5py is required but not installed.
    MismatchError
        If the format has no precision, or if the precision is not positive.
    """
    written = find_format(path)
    if written.name == H5MD:
        find_h5py(path)
    if precision is None:
        return
    if not written.rounds:
        raise MismatchError(f"{written.name} does not round: it has no precision to be chosen", path=path)
    if not (np.isfinite(precision) and precision > 0):
        raise MismatchError(f"the precision must be a positive number, not {precision:g}")


def check_trajectory(path: str | PathLike[str], precision: float | None = None, force: bool = False) -> Path:
    """Check that a trajectory can be written at `path`, without writing it.

    Parameters
    ----------
    path : path
        The file. Its extension determines the format.
    precision : float, optional
        Integers per nm.
    force : bool
        Whether to replace an existing file.

    Returns
    -------
    Path
        The path.

    Raises
    ------
    UnsupportedError
        If the extension is unknown.
    MismatchError
        If the format has no precision, or if the precision is not positive.
    OSError
        If the file exists and `force` is false, or if it cannot be created.
    """
    check_settings(path, precision)
    check_target(Path(path), force)
    return Path(path)


def warn_of_times(path: Path, source: Source, times: NDArray[np.float64]) -> None:
    """Warn if times will change because the output file stores a single interval for all frames.

    Parameters
    ----------
    path : Path
        The output file.
    source : Source
        The trajectory.
    times : ndarray, shape (n_frames,), float64
        Times of the frames in ps.
    """
    if find_format(path).keeps_times or len(times) < 3:
        return
    intervals = np.diff(times)
    # Times come from float32. Deviations below 0.1 % of the interval are ignored.
    tolerance = 4 * np.finfo(np.float32).eps * np.abs(times).max() + 1e-3 * abs(intervals[0])
    uneven = np.flatnonzero(np.abs(intervals - intervals[0]) > tolerance)
    if len(uneven):
        before, after = times[uneven[0]], times[uneven[0] + 1]
        warnings.warn(
            f"{path}: the file will have a frame every {intervals[0]:g} ps, but in {source_name(source)} "
            f"{after:g} ps comes after {before:g} ps",
            MdreelWarning,
            stacklevel=3,
        )


@contextmanager
def naming(source: Source) -> Iterator[None]:
    """Add the name of the source to the message of a `MismatchError`."""
    try:
        yield
    except MismatchError as error:
        raise MismatchError(str(error), path=source_name(source)) from None
