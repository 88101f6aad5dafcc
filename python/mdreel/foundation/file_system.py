"""File system types, and the striping of files."""

import os
import struct
from dataclasses import dataclass
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")

# Magic numbers of the extended attribute for the layout of a file, from lustre_user.h.
LAYOUT = "lustre.lov"
PLAIN = (0x0BD10BD0, 0x0BD30BD0)
COMPOSITE = 0x0BD60BD0
IN_USE = 0x10

# Number, pattern, object (16 bytes), bytes of a stripe, number of stripes.
_STRIPES = struct.Struct("<II16xIH")
# Number, size, generation, flags, components.
_COMPONENTS = struct.Struct("<IIIHH")
_COMPONENTS_SIZE = 32
# Identity, flags, first byte, last byte, offset of its layout.
_COMPONENT = struct.Struct("<IIQQI")
_COMPONENT_SIZE = 48


@dataclass(frozen=True)
class Mount:
    """A mounted file system.

    Attributes
    ----------
    kind : str
        File system type as reported by the operating system (``ext4``, ``xfs``, ``lustre``, ``nfs4``).
    point : Path
        Mount point.
    """

    kind: str
    point: Path


@dataclass(frozen=True)
class Stripes:
    """How a file, or a part of it, is striped over servers.

    Attributes
    ----------
    count : int
        Number of storage targets.
    size : int
        Size of a stripe, in bytes.
    """

    count: int
    size: int


def mount_of(path: Path) -> Mount | None:
    """Return the mounted file system that contains a file.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    Mount or None
        The file system, or None if the file does not exist or the operating system does not list its mounts.
    """
    try:
        lines = MOUNTS.read_text().splitlines()
        resolved = path.resolve(strict=True)
    except OSError:
        return None
    found: Mount | None = None
    for line in lines:
        fields, _, rest = line.partition(" - ")
        point = Path(_unescaped(fields.split(" ")[4]))
        # Of several file systems on the same mount point, the last is visible.
        if resolved.is_relative_to(point) and (found is None or len(point.parts) >= len(found.point.parts)):
            found = Mount(rest.split(" ")[0], point)
    return found


def file_system(path: Path) -> str | None:
    """Return the type of the file system of a file.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    str or None
        File system type as reported by the operating system (``ext4``, ``xfs``, ``lustre``, ``nfs4``), or None if it is
        unknown.
    """
    mount = mount_of(path)
    return None if mount is None else mount.kind


def _unescaped(text: str) -> str:
    """Decode escaped characters, such as spaces, in the mount table."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text


def stripes(path: Path) -> tuple[Stripes, ...]:
    """Return the stripes of a file on Lustre.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    tuple of Stripes
        The stripes of each part of the file that is in use. The tuple is empty on other file systems.
    """
    if not hasattr(os, "getxattr"):
        return ()
    try:
        layout = os.getxattr(path, LAYOUT)
    except OSError:
        return ()
    return stripes_of_layout(layout)


def stripes_of_layout(layout: bytes) -> tuple[Stripes, ...]:
    """Parse the Lustre layout of a file.

    Parameters
    ----------
    layout : bytes
        The extended attribute ``lustre.lov``.

    Returns
    -------
    tuple of Stripes
        The stripes. The tuple is empty if the layout is unknown.
    """
    try:
        if layout[:4] != COMPOSITE.to_bytes(4, "little"):
            return _plain(layout)
        n_components = _COMPONENTS.unpack_from(layout)[-1]
        found: list[Stripes] = []
        for number in range(n_components):
            _, flags, _, _, at = _COMPONENT.unpack_from(layout, _COMPONENTS_SIZE + number * _COMPONENT_SIZE)
            if flags & IN_USE:
                found += _plain(layout[at:])
        return tuple(found)
    except struct.error:
        return ()


def _plain(layout: bytes) -> tuple[Stripes, ...]:
    magic, _, size, count = _STRIPES.unpack_from(layout)
    return (Stripes(count, size),) if magic in PLAIN else ()
