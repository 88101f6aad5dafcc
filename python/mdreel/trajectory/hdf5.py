"""Structure of HDF5 files, read with h5py.

The HDF5 library has a single lock, so threads that read through the library have to wait for each other. mdreel
therefore uses the library only to read metadata. The core receives the positions of the chunks in the file, and then
reads and decodes the chunks itself.
"""

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel._core import OpenFiles, Source, chunked_source
from mdreel.errors import FormatError, MdreelError, UnsupportedError
from mdreel.trajectory.hdf5_chunks import StoredChunks, stored_chunks

if TYPE_CHECKING:
    import h5py

# Deflate compresses at most 1032 bytes to one (RFC 1951). A file that claims more is damaged.
MOST_EXPANSION = 1032

_Stored: TypeAlias = tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint32]]
"""Index in the chunk grid, first byte, size and filter mask of each stored chunk."""

# Filters that the core supports; other names are those of the HDF5 registry.
KNOWN_FILTERS = {1: "gzip", 2: "shuffle", 3: "fletcher32", 32000: "lzf"}
OTHER_FILTERS = {4: "szip", 5: "nbit", 6: "scaleoffset", 32001: "blosc", 32004: "lz4", 32013: "zfp", 32015: "zstd"}


@dataclass(frozen=True)
class Dataset:
    """Position and storage of a dataset with three columns, in the form that the core expects.

    Attributes
    ----------
    name : str
        Name in the file.
    number : str
        Data type in the file: ``<f4``, ``>f4``, ``<f8``, and so on.
    shape, chunk : tuple of int
        Numbers of frames, rows and columns of the dataset and of a chunk. Contiguous data are treated as one chunk.
    filters : list of tuple
        Identifier and first parameter of each filter, in the order in which the filters are applied when writing.
    cells, offsets, sizes : numpy.ndarray, shape (n_chunks,), uint64
        Index in the chunk grid, first byte, and size in bytes of each stored chunk.
    filter_masks : numpy.ndarray, shape (n_chunks,), uint32
        Bit mask of the filters that were skipped for each chunk.
    fill_value : float
        Value of the elements in chunks that are not stored.
    scale, in_double, unit : float, bool, float
        Scale factor in the file, whether it applies in double precision, and conversion factor to mdreel's unit.
    frames : numpy.ndarray, shape (n_frames,), int64, or None
        Frame of the dataset for each frame of the trajectory, or -1 if the dataset has no such frame. If None, the
        dataset and the trajectory have the same frames.
    """

    name: str
    number: str
    shape: tuple[int, int, int]
    chunk: tuple[int, int, int]
    filters: list[tuple[int, int]]
    cells: NDArray[np.uint64]
    offsets: NDArray[np.uint64]
    sizes: NDArray[np.uint64]
    filter_masks: NDArray[np.uint32]
    fill_value: float
    scale: float = 1.0
    in_double: bool = False
    unit: float = 1.0
    frames: NDArray[np.int64] | None = None

    @property
    def summary(self) -> str:
        """Description of the storage, as shown to users."""
        names = [KNOWN_FILTERS[identifier] for identifier, _ in self.filters]
        layout = "contiguous" if self.chunk == self.shape else f"chunks of {' x '.join(map(str, self.chunk))}"
        return ", ".join([np.dtype(self.number).name, layout, *names])


Structure: TypeAlias = tuple[
    str,
    str,
    NDArray[np.float64],
    NDArray[np.int64],
    Sequence[tuple[str, object]],
    object,
    dict[str, Any],
    tuple[object, object],
    OpenFiles,
]
"""Arguments of `chunked_source`, from the path to the limit on open files."""


def chunked(*structure: *Structure) -> Source:
    """Open a trajectory whose structure is already known, and store the structure for other processes.

    Parameters
    ----------
    *structure
        Arguments of `chunked_source`, from the path to the limit on open files.

    Returns
    -------
    Source
        The trajectory. A process that unpickles it as part of a job does not need to read the structure again. It opens
        the file only when it reads the first frame.
    """
    return chunked_source(*structure, workers=lambda source: (_chunked_elsewhere, (structure, source.stamp())))


def _chunked_elsewhere(structure: Structure, stamp: NDArray[np.uint8]) -> Source:
    return chunked_source(*structure, stamp=stamp)


@contextmanager
def open_hdf5(path: str) -> "Iterator[h5py.File]":
    """Open an HDF5 file to read its metadata.

    Parameters
    ----------
    path : str
        The file.

    Yields
    ------
    h5py.File
        The file. It is not locked, so other processes can read it, and it may be on a file system without locks.

    Raises
    ------
    FormatError
        If HDF5 reports that the file is damaged, either when it is opened or while it is being used.
    UnsupportedError
        If h5py is not installed.
    """
    h5py = import_h5py(path)
    try:
        with _unlocked(h5py, path) as file:
            yield file
    except MdreelError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EACCES, errno.EMFILE):
            raise
        raise FormatError(f"HDF5 cannot read the file: {error}", path=path) from error
    except (KeyError, RuntimeError, ValueError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise FormatError(f"the structure of the HDF5 file is not as expected: {error}", path=path) from error


def _unlocked(h5py: ModuleType, path: str) -> "h5py.File":
    try:
        return h5py.File(path, "r", locking=False)
    except OSError as error:
        # HDF5 requires the same locking as for the file that this process has open.
        if "locking flag" not in str(error):
            raise
        return h5py.File(path, "r")


def import_h5py(path: str) -> ModuleType:
    """Import h5py to read a file, or raise `UnsupportedError` if h5py is not installed."""
    try:
        return import_module("h5py")
    except ImportError as error:
        raise UnsupportedError(f"{path} is an HDF5 file, which needs h5py: pip install 'mdreel[hdf5]'") from error


def describe_dataset(dataset: "h5py.Dataset", path: str, *, n_rows: int | None = None, **conversion: Any) -> Dataset:
    """Return the position and the storage of a dataset.

    Parameters
    ----------
    dataset : h5py.Dataset
        Dataset with the shape (n_frames, n_rows, 3), or (n_frames, 3) for one row.
    path : str
        The file, for error messages.
    n_rows : int, optional
        Expected number of rows.
    **conversion
        Values for the fields ``scale``, ``in_double``, ``unit`` and ``frames`` of the description.

    Returns
    -------
    Dataset
        The description.

    Raises
    ------
    FormatError
        If the shape is wrong.
    UnsupportedError
        If the core does not support the data type, the layout or a filter.

    Notes
    -----
    The function reads the chunk index once. Its run time depends on the size of the chunk index.
    """
    where = f"{path}: {dataset.name}"
    shape = tuple(int(length) for length in dataset.shape)
    if len(shape) == 2 and n_rows == 1:
        shape = (shape[0], 1, shape[1])
    if len(shape) != 3 or shape[2] != 3 or (n_rows is not None and shape[1] != n_rows):
        rows = "n_atoms" if n_rows is None else n_rows
        raise FormatError(f"{where}: expected the shape (n_frames, {rows}, 3), got {dataset.shape}")
    if dataset.dtype.str[1:] not in ("f4", "f8", "i4", "i8"):
        raise UnsupportedError(
            f"{where}: numbers of the type {dataset.dtype} are not supported; "
            "supported are float32, float64, int32, int64"
        )
    chunk, stored = _storage(dataset, where)
    properties = dataset.id.get_create_plist()
    return Dataset(
        dataset.name,
        dataset.dtype.str,
        (shape[0], shape[1], shape[2]),
        (chunk[0], 1 if len(chunk) == 2 else chunk[1], chunk[-1]),
        [_filter(properties.get_filter(i), where) for i in range(properties.get_nfilters())],
        *stored,
        float(dataset.fillvalue),
        **conversion,
    )


def _storage(dataset: "h5py.Dataset", where: str) -> tuple[list[int], _Stored]:
    """Return the chunk shape, and arrays with the grid index, first byte, size and filter mask of each stored chunk."""
    from h5py import h5d

    properties = dataset.id.get_create_plist()
    layout = properties.get_layout()
    if layout == h5d.CONTIGUOUS and properties.get_external_count() == 0:
        offset = dataset.id.get_offset()
        is_stored = offset is not None and dataset.size > 0
        size = dataset.size * dataset.dtype.itemsize
        stored = [(0, offset, size, 0)] if is_stored else []
        columns = np.array(stored, np.uint64).reshape(-1, 4).T.copy()
        cells, offsets, sizes, masks = columns
        return [int(length) for length in dataset.shape], (cells, offsets, sizes, masks.astype(np.uint32))
    if layout == h5d.CHUNKED:
        chunk = [int(length) for length in dataset.chunks]
        grid = [-(-length // piece) for length, piece in zip(dataset.shape, chunk, strict=True)]
        return chunk, _columns(stored_chunks(dataset), chunk, grid)
    kind = {h5d.COMPACT: "compact", h5d.VIRTUAL: "virtual"}.get(layout, "external")
    raise UnsupportedError(f"{where}: {kind} storage is not supported: copy it with h5repack")


def _columns(found: StoredChunks, chunk: list[int], grid: list[int]) -> _Stored:
    strides = np.cumprod([1, *grid[:0:-1]], dtype=np.uint64)[::-1]
    cells = (found.starts // np.array(chunk, np.uint64)) @ strides
    return cells, found.offsets, found.sizes, found.masks


def _filter(described: Any, where: str) -> tuple[int, int]:
    identifier, _, parameters, name = described
    if identifier not in KNOWN_FILTERS:
        called = OTHER_FILTERS.get(identifier) or name.decode(errors="replace") or f"number {identifier}"
        known = ", ".join(KNOWN_FILTERS.values())
        raise UnsupportedError(f"{where}: the filter {called} is not supported; supported are {known}: use h5repack")
    return identifier, int(parameters[0]) if parameters else 0


def check_length(dataset: "h5py.Dataset", path: str) -> None:
    """Reject a dataset whose stated size is impossible for its file, before memory is allocated.

    Parameters
    ----------
    dataset : h5py.Dataset
        The dataset.
    path : str
        Path of the file.

    Raises
    ------
    FormatError
        If the stated size is impossible.
    """
    size = Path(path).stat().st_size
    if dataset.size * dataset.dtype.itemsize > MOST_EXPANSION * size:
        raise FormatError(
            f"{dataset.name}: the file of {size} bytes is too small for the shape {dataset.shape}", path=path
        )


def text_of(value: Any) -> str:
    """Return the text of an attribute, which can be stored in several ways in HDF5.

    Parameters
    ----------
    value : object
        A str, a bytes object, or an array that contains one of these.

    Returns
    -------
    str
        The text.
    """
    if isinstance(value, np.ndarray):
        value = value.ravel()[0] if value.size else ""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
