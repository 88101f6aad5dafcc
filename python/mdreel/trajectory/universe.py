"""The trajectory of an MDAnalysis Universe as a source."""

from __future__ import annotations

from io import IOBase
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Source
from mdreel.errors import UnsupportedError
from mdreel.foundation.arguments import checked_arguments
from mdreel.trajectory.hdf5 import open_hdf5
from mdreel.trajectory.mdanalysis_source import source_of_reader
from mdreel.trajectory.open import open as open_trajectory
from mdreel.trajectory.open_one import CORE_FORMATS, HDF5_FORMATS
from mdreel.trajectory.placeholder_cell import cell_of, is_placeholder, known_cell, warn_of_placeholder

if TYPE_CHECKING:
    from MDAnalysis import Universe

# MDAnalysis formats that the core reads. MDAnalysis reads all others, more slowly.
FORMATS = (*CORE_FORMATS, *HDF5_FORMATS)


@checked_arguments
def source_of(universe: Universe) -> Source:
    """Open the trajectory of a Universe for the core.

    Parameters
    ----------
    universe : MDAnalysis.Universe
        The Universe. Its trajectory is not modified.

    Returns
    -------
    Source
        The files of the trajectory, or a copy of a trajectory in memory. Formats that the core does not support will be
        read by MDAnalysis.

    Warns
    -----
    MdreelWarning
        When MDAnalysis reads the frames, and the cell is a placeholder. The frames will then have no cell.

    Raises
    ------
    UnsupportedError
        When there is no trajectory, or your Universe modifies the data of its files. This is the case if it uses
        transformations, sets the time step or the time offset, does not convert units, or omits overlapping segments.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> mdreel.trajectory.source_of(mda.Universe(PSF, DCD))
    <DCD trajectory of 3341 atoms>
    """
    try:
        reader = universe.trajectory
    except AttributeError as error:
        raise UnsupportedError("the Universe has no trajectory: give one with trajectory=") from error
    if getattr(reader, "transformations", ()):
        raise UnsupportedError(
            "the trajectory has transformations, which act on MDAnalysis's frames only: use mdreel's, as in "
            "run(transformations=[mdreel.transformations.unwrap(...)]), write the transformed trajectory to a file, or "
            "load it with in_memory=True"
        )
    if reader.format == "MEMORY":
        _check_cell(reader)
        return _memory(reader)
    if reader.format != "CHAIN":
        return _files([reader])
    if sum(segment.n_frames for segment in reader.readers) != reader.n_frames:
        raise UnsupportedError("a ChainReader with continuous=True is not supported: it leaves out overlapping frames")
    return _files(reader.readers)


def cell_before_run(universe: Universe, is_opened: bool) -> NDArray[np.float32] | None:
    """Return the cell of the current frame of a Universe, and warn once if the cell is a placeholder.

    Parameters
    ----------
    universe : MDAnalysis.Universe
        The Universe.
    is_opened : bool
        Whether the run opens the trajectory of this Universe, as `source_of` does.

    Returns
    -------
    ndarray, shape (6,), float32, or None
        Lengths in Å and angles in degrees, or None if there is no cell or only a placeholder.

    Warns
    -----
    MdreelWarning
        If the cell is a placeholder, unless `source_of` will warn.
    """
    readers = getattr(universe.trajectory, "readers", [universe.trajectory])
    will_warn = any(reader.format == "MEMORY" or _is_foreign(reader) for reader in readers)
    return known_cell(universe.dimensions) if is_opened and will_warn else cell_of(universe)


def _files(readers: list[Any]) -> Source:
    for reader in readers:
        _refuse_stream(reader)
    if any(_is_foreign(reader) for reader in readers):
        if len(readers) > 1:
            raise UnsupportedError(
                "chains of formats that MDAnalysis reads are not supported", path=readers[0].filename
            )
        _check_cell(readers[0])
        return source_of_reader(readers[0])
    for reader in readers:
        _check(reader)
    groups = {_group(reader) for reader in readers}
    if len(groups) > 1:
        raise UnsupportedError("a chain of different particle groups is not supported", path=readers[0].filename)
    try:
        source = open_trajectory([reader.filename for reader in readers], group=groups.pop())
    except UnsupportedError:
        # MDAnalysis reads files with a filter or data type that the core does not support.
        if [reader.format for reader in readers] != ["H5MD"]:
            raise
        return source_of_reader(readers[0])
    for reader, facts in zip(readers, source.describe(), strict=True):
        given = reader.ts.dt
        if facts["format"] == "DCD" and not np.isclose(given, facts["frame interval"], rtol=1e-6):
            interval = f"{facts['frame interval']:g} ps between frames"
            raise UnsupportedError(f"{reader.filename} has {interval}: another dt ({given:g} ps) is not supported")
    return source


def _refuse_stream(reader: Any) -> None:
    if isinstance(reader.filename, IOBase):
        name = getattr(reader.filename, "name", None)
        message = "the Universe reads a stream, which workers cannot open again: give a file, or in_memory=True"
        raise UnsupportedError(message, path=name if name not in (None, "None") else None)


def _is_foreign(reader: Any) -> bool:
    """Return whether only MDAnalysis can read the trajectory, because of its format or because it is an open file."""
    # Readers with several file extensions, such as that of NetCDF, have a list of formats.
    names = {reader.format} if isinstance(reader.format, str) else set(reader.format)
    return names.isdisjoint(FORMATS) or not isinstance(reader.filename, (str, PathLike))


def _group(reader: Any) -> str | None:
    """Return the particle group that MDAnalysis reads from an H5MD file, which is the first group."""
    if reader.format != "H5MD":
        return None
    with open_hdf5(fspath(reader.filename)) as file:
        return next(iter(file["particles"]), None)


def _check(reader: Any) -> None:
    """Reject options that modify the frames of the file."""
    if not getattr(reader, "convert_units", True):
        raise UnsupportedError("convert_units=False is not supported; units are Å and ps", path=reader.filename)
    # MDAnalysis stores these options only here.
    options = set(getattr(reader, "_ts_kwargs", {})) - ({"dt"} if reader.format == "DCD" else set())
    if options & {"dt", "time_offset"}:
        raise UnsupportedError(f"{' and '.join(sorted(options))} of a Universe are not supported", path=reader.filename)


def _check_cell(reader: Any) -> None:
    """Warn if the cell of the current frame is a placeholder, because it is then omitted from all frames."""
    cell = reader.ts.dimensions
    if cell is not None and is_placeholder(cell):
        warn_of_placeholder()


def _memory(reader: Any) -> Source:
    order = reader.stored_order
    positions = reader.coordinate_array.transpose([order.index(axis) for axis in "fac"])
    offset = reader.ts.data.get("time_offset", 0.0)
    times = np.arange(reader.n_frames, dtype=np.float64) * reader.ts.dt + offset
    dimensions = np.array(reader.dimensions_array, np.float32)
    dimensions[is_placeholder(dimensions)] = 0.0  # no cell
    return Source.memory(np.ascontiguousarray(positions, np.float32), times, dimensions)
