"""Where a file lies: file systems, mounts, and Lustre's stripes."""

import os
import struct
import subprocess
from pathlib import Path

import pytest

from mdreel.foundation.file_system import Stripes, file_system, mount_of, stripes, stripes_of_layout


def test_file_system_is_the_one_that_the_system_names(tmp_path: Path) -> None:
    done = subprocess.run(["stat", "-f", "-c", "%T", tmp_path], capture_output=True, text=True, check=True)
    named = done.stdout.strip()
    found = file_system(tmp_path)
    assert found is not None
    # coreutils has one name for what the kernel calls ext2, ext3 and ext4, and others of its own.
    assert found == {"overlayfs": "overlay"}.get(named, named) or (named == "ext2/ext3" and found.startswith("ext"))
    assert file_system(Path("/proc/self/mountinfo")) == "proc"
    assert file_system(tmp_path / "gone") is None


def plain(magic: int, count: int, size: int) -> bytes:
    """A layout as in lustre_user.h: number, pattern, object, bytes and number of stripes, first target, targets."""
    return struct.pack("<II16sIHH", magic, 1, b"object", size, count, 0) + b"\0" * 24 * count


def test_stripes_are_read_from_the_layout_of_a_file() -> None:
    assert stripes_of_layout(plain(0x0BD10BD0, 4, 1 << 20)) == (Stripes(4, 1 << 20),)
    assert stripes_of_layout(plain(0x0BD30BD0, 16, 4 << 20)) == (Stripes(16, 4 << 20),)
    assert stripes_of_layout(plain(0x0BD40BD0, 16, 4 << 20)) == ()


def test_stripes_of_a_file_of_several_layouts_are_those_in_use() -> None:
    parts = [(1, 1 << 20, 0x10), (8, 4 << 20, 0x10), (64, 4 << 20, 0)]
    layouts = [plain(0x0BD10BD0, count, size) for count, size, _ in parts]
    at = 32 + 48 * len(parts)
    head = struct.pack("<IIIHHH6s8s", 0x0BD60BD0, 0, 1, 0, len(parts), 0, b"", b"")
    table = b""
    for number, ((_, _, flags), layout) in enumerate(zip(parts, layouts, strict=True)):
        table += struct.pack("<IIQQIIIQI", number, flags, 0, 1 << 30, at, len(layout), 0, 0, 0)
        at += len(layout)
    whole = head + table + b"".join(layouts)
    assert stripes_of_layout(whole) == (Stripes(1, 1 << 20), Stripes(8, 4 << 20))
    for n in range(len(head + table)):
        assert stripes_of_layout(whole[:n]) == ()


@pytest.mark.skipif(not hasattr(os, "getxattr"), reason="the system has no extended attributes")
def test_stripes_are_none_where_there_is_no_lustre(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    assert stripes(tmp_path / "file") == ()


def test_mount_is_the_one_that_the_system_names(tmp_path: Path) -> None:
    done = subprocess.run(["stat", "-c", "%m", tmp_path], capture_output=True, text=True, check=True)
    mount = mount_of(tmp_path)
    assert mount is not None
    assert mount.point == Path(done.stdout.strip())
    assert mount.kind == file_system(tmp_path)
    assert mount_of(tmp_path / "gone") is None
