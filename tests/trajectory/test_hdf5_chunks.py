"""The chunk index that is read from a file is that of the HDF5 library."""

import io
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from mdreel.trajectory import hdf5_chunks
from mdreel.trajectory.hdf5_chunks import chunks_in_file, stored_chunks


def write(path: Path, n_frames: int, chunk: tuple[int, ...], written: Any = slice(None), **settings: Any) -> Path:
    random = np.random.default_rng(n_frames)
    libver = settings.pop("libver", "earliest")
    with h5py.File(path, "w", libver=libver, userblock_size=settings.pop("userblock", 0)) as file:
        group = file.create_group("particles/all/position")
        shape = (n_frames, 7, 3)
        data = group.create_dataset("value", shape, "f4", chunks=chunk, maxshape=(None, 7, 3), **settings)
        for i in range(12):  # so many that the object header needs a continuation
            data.attrs[f"attribute {i}"] = "text" * 20
        data[written] = random.random(data[written].shape, np.float32)
    return path


def assert_same(path: Path) -> int:
    with h5py.File(path) as file:
        data = file["particles/all/position/value"]
        found, expected = chunks_in_file(data), stored_chunks(data)
        assert found is not None
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)
        return len(found.offsets)


@pytest.mark.parametrize("libver", ["earliest", ("v108", "v108")])
@pytest.mark.parametrize("n_frames", [1, 70, 9_000])
def test_index_is_that_of_the_library(tmp_path: Path, libver: Any, n_frames: int) -> None:
    path = write(tmp_path / "made.h5", n_frames, (1, 7, 3), libver=libver)
    assert assert_same(path) == n_frames


@pytest.mark.parametrize(
    ("chunk", "settings", "n_chunks"),
    [
        ((16, 4, 3), {"compression": "gzip"}, 2 * 7),
        ((16, 7, 3), {"compression": "gzip", "shuffle": True, "fletcher32": True}, 7),
        ((10, 2, 2), {"written": slice(25, 61)}, 5 * 4 * 2),
        ((10, 7, 3), {"written": slice(0, 0)}, 0),
    ],
)
def test_filters_and_missing_chunks(tmp_path: Path, chunk: Any, settings: dict[str, Any], n_chunks: int) -> None:
    assert assert_same(write(tmp_path / "made.h5", 100, chunk, **settings)) == n_chunks


@pytest.mark.parametrize("settings", [{"libver": "latest"}, {"userblock": 1024}])
def test_other_indexes_are_left_to_the_library(tmp_path: Path, settings: dict[str, Any]) -> None:
    path = write(tmp_path / "made.h5", 100, (1, 7, 3), **settings)
    with h5py.File(path) as file:
        assert chunks_in_file(file["particles/all/position/value"]) is None


def read_tree(path: Path, content: bytes) -> int:
    """Read a changed index without the library, which does not survive every change; return the number of chunks."""
    with h5py.File(path) as file:
        header = h5py.h5o.get_info(file["particles/all/position/value"].id).addr
    changed = io.BytesIO(content)
    address = hdf5_chunks._index_address(changed, header)
    assert address is not None
    return sum(map(len, hdf5_chunks._leaves(changed, address, 3, 9_000)))


def nodes_of(content: bytes) -> list[int]:
    return [match.start() for match in re.finditer(b"TREE\x01", content)]


def test_damaged_nodes_are_found(tmp_path: Path) -> None:
    path = write(tmp_path / "made.h5", 9_000, (1, 7, 3))
    content = path.read_bytes()
    assert read_tree(path, content) == 9_000
    nodes = nodes_of(content)
    assert len(nodes) > 100
    for at in (nodes[0], nodes[len(nodes) // 2], nodes[-1]):
        for place in (3, 4, 5):  # signature, kind, level
            damaged = bytearray(content)
            damaged[at + place] ^= 0xFF
            with pytest.raises(ValueError, match=r"no B-tree of chunks|ends within"):
                read_tree(path, bytes(damaged))
    with pytest.raises(ValueError, match="ends within its index"):
        read_tree(path, content[: nodes[-1] + 100])


def test_tree_that_contains_itself_ends(tmp_path: Path) -> None:
    path = write(tmp_path / "made.h5", 9_000, (1, 7, 3))
    content = bytearray(path.read_bytes())
    for at in nodes_of(content):
        if content[at + 5]:  # the first child of each inner node is the node itself
            child = at + 24 + 8 + 8 * 4
            content[child : child + 8] = at.to_bytes(8, "little")
    with pytest.raises(ValueError, match="no B-tree of chunks"):
        read_tree(path, bytes(content))
