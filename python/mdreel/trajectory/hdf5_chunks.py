"""Chunk index of HDF5 datasets.

Versions of HDF5 before 1.12.3 cannot iterate over the chunks of a dataset. They find the n-th chunk by passing all
chunks before it, so the time to list all chunks would grow with the square of their number. With these versions, mdreel
reads the index from the file if it is a version 1 B-tree, which HDF5 uses by default.

Source: HDF5 File Format Specification, version 3.0, sections III.A.1 (version 1 B-trees), IV.A.1 (object headers) and
IV.A.2.i (data layout message).
"""

from collections.abc import Iterator
from itertools import chain
from operator import attrgetter
from pathlib import Path
from struct import unpack_from
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import h5py

_LAYOUT, _CONTINUATION = 0x0008, 0x0010
_CHUNKED = 2
_DRIVERS = ("sec2", "stdio")


class StoredChunks(NamedTuple):
    """The stored chunks of a dataset.

    Attributes
    ----------
    starts : ndarray, shape (n_chunks, n_dimensions), uint64
        Index of the first element of each chunk.
    offsets, sizes : ndarray, shape (n_chunks,), uint64
        First byte of each chunk in the file, and its size in bytes.
    masks : ndarray, shape (n_chunks,), uint32
        Bit mask of the filters that were skipped for each chunk.
    """

    starts: NDArray[np.uint64]
    offsets: NDArray[np.uint64]
    sizes: NDArray[np.uint64]
    masks: NDArray[np.uint32]


def stored_chunks(dataset: "h5py.Dataset") -> StoredChunks:
    """Return the stored chunks of a chunked dataset."""
    if hasattr(dataset.id, "chunk_iter"):
        found: list[Any] = []
        dataset.id.chunk_iter(found.append)
        return _of_library(found, dataset.ndim)
    return chunks_in_file(dataset) or _of_library(
        [dataset.id.get_chunk_info(i) for i in range(dataset.id.get_num_chunks())], dataset.ndim
    )


def _of_library(chunks: list[Any], n_dimensions: int) -> StoredChunks:
    # There can be millions of chunks, and each of these lines costs a tenth of a loop over them.
    n_chunks = len(chunks)
    corners = chain.from_iterable(map(attrgetter("chunk_offset"), chunks))
    return StoredChunks(
        np.fromiter(corners, np.uint64, n_chunks * n_dimensions).reshape(n_chunks, n_dimensions),
        np.fromiter(map(attrgetter("byte_offset"), chunks), np.uint64, n_chunks),
        np.fromiter(map(attrgetter("size"), chunks), np.uint64, n_chunks),
        np.fromiter(map(attrgetter("filter_mask"), chunks), np.uint32, n_chunks),
    )


def chunks_in_file(dataset: "h5py.Dataset") -> StoredChunks | None:
    """Read the chunk index of a dataset from its file, without the HDF5 library.

    Parameters
    ----------
    dataset : h5py.Dataset
        A chunked dataset.

    Returns
    -------
    StoredChunks or None
        The chunks in the order of the library. None if the index is not a version 1 B-tree, or if the file cannot be
        opened as a regular file. None also if the library reports another number of chunks or another first chunk.
    """
    from h5py import h5o

    file = dataset.file
    if file.driver not in _DRIVERS or file.userblock_size or not Path(file.filename).is_file():
        return None
    n_chunks = int(dataset.id.get_num_chunks())
    with Path(file.filename).open("rb") as bytes_of_file:
        try:
            address = _index_address(bytes_of_file, h5o.get_info(dataset.id).addr)
            if address is None:
                return None
            pieces = list(_leaves(bytes_of_file, address, dataset.ndim, n_chunks)) if n_chunks else []
        except (ValueError, OSError, OverflowError):
            return None
    entries = np.concatenate(pieces) if pieces else np.empty(0, _entry_type(dataset.ndim))
    found = StoredChunks(
        np.ascontiguousarray(entries["start"][:, : dataset.ndim]),
        entries["address"].copy(),
        entries["size"].astype(np.uint64),
        entries["mask"].copy(),
    )
    return found if len(found.offsets) == n_chunks and _agrees(dataset, found) else None


def _agrees(dataset: "h5py.Dataset", found: StoredChunks) -> bool:
    if not len(found.offsets):
        return True
    first = dataset.id.get_chunk_info(0)
    ours = (tuple(map(int, found.starts[0])), int(found.offsets[0]), int(found.sizes[0]), int(found.masks[0]))
    return ours == (first.chunk_offset, first.byte_offset, first.size, first.filter_mask)


def _read(file: BinaryIO, address: int, n_bytes: int) -> bytes:
    """Read bytes of a file; raise a `ValueError` if there are fewer."""
    file.seek(address)
    found = file.read(n_bytes)
    if len(found) < n_bytes:
        raise ValueError("the file ends within its index")
    return found


def _index_address(file: BinaryIO, header: int) -> int | None:
    """Return the address of the B-tree of a dataset, given the address of its object header."""
    superblock = _read(file, 0, 15)
    sizes = superblock[13:15] if superblock[8] < 2 else superblock[9:11]
    if sizes != b"\x08\x08":
        return None
    for kind, content in _messages(file, header):
        if kind == _LAYOUT:
            version, second, third = content[:3]
            if version == 3 and second == _CHUNKED:
                return int(unpack_from("<Q", content, 3)[0])
            if version in (1, 2) and third == _CHUNKED:
                return int(unpack_from("<Q", content, 8)[0])
            return None
    return None


def _messages(file: BinaryIO, header: int) -> Iterator[tuple[int, bytes]]:
    """Yield the type and the content of each message of an object header."""
    start = _read(file, header, 16)
    is_old = start[0] == 1
    if is_old:
        blocks = [_read(file, header + 16, unpack_from("<I", start, 8)[0])]
        head_bytes = 8
    elif start[:5] == b"OHDR\x02":
        flags = start[5]
        at = header + 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
        width = 1 << (flags & 3)
        n_bytes = int.from_bytes(_read(file, at, width), "little")
        blocks = [_read(file, at + width, n_bytes)]
        head_bytes = 6 if flags & 4 else 4
    else:
        raise ValueError("this is no object header")
    while blocks:
        block = blocks.pop(0)
        at = 0
        while at + head_bytes <= len(block):
            kind, n_bytes = unpack_from("<HH" if is_old else "<BH", block, at)
            content = block[at + head_bytes : at + head_bytes + n_bytes]
            at += head_bytes + n_bytes
            if kind == _CONTINUATION:
                address, length = unpack_from("<QQ", content, 0)
                more = _read(file, address, length)
                blocks.append(more if is_old else more[4:-4])  # without the signature and the checksum
            else:
                yield kind, content


def _entry_type(n_dimensions: int) -> np.dtype[Any]:
    """Return the layout of a key of a B-tree of chunks, and of the address that follows the key."""
    return np.dtype([("size", "<u4"), ("mask", "<u4"), ("start", "<u8", (n_dimensions + 1,)), ("address", "<u8")])


def _leaves(file: BinaryIO, root: int, n_dimensions: int, n_chunks: int) -> Iterator[NDArray[Any]]:
    """Yield the entries of the leaves of a B-tree, in order; raise a `ValueError` if the tree is damaged."""
    entry = _entry_type(n_dimensions)
    waiting: list[tuple[int, int | None]] = [(root, None)]
    n_nodes = 0
    while waiting:
        address, expected = waiting.pop()
        head = _read(file, address, 24)
        level, n_entries = head[5], unpack_from("<H", head, 6)[0]
        n_nodes += 1
        if head[:5] != b"TREE\x01" or (expected is not None and level != expected) or n_nodes > 2 * n_chunks + 64:
            raise ValueError("this is no B-tree of chunks")
        entries = np.frombuffer(_read(file, address + 24, n_entries * entry.itemsize), entry)
        if level:
            waiting += [(int(child), level - 1) for child in entries["address"][::-1]]
        else:
            yield entries
