"""File systems and the striping of files."""

import os
import struct
from dataclasses import dataclass
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")

# Of Lustre's lustre_user.h: the extended attribute of a file's layout begins with one of these.
LAYOUT = "lustre.lov"
PLAIN = (0x0BD10BD0, 0x0BD30BD0)
COMPOSITE = 0x0BD60BD0
IN_USE = 0x10

# Number, pattern, object (16 bytes), bytes of a stripe, number of stripes.
_STRIPES = struct.Struct("<II16xIH")
# Number, size, generation, flags, components.
_COMPONENTS = struct.Struct("<IIIHH")
_COMPONENTS_SIZE = 32
# Identity, flags, first byte, last byte, where its layout is.
_COMPONENT = struct.Struct("<IIQQI")
_COMPONENT_SIZE = 48


@dataclass(frozen=True)
class Mount:
    """A file system, where it is seen.

    Attributes
    ----------
    kind : str
        As the system calls it (``ext4``, ``xfs``, ``lustre``, ``nfs4``).
    point : Path
        The folder on which it is mounted.
    """

    kind: str
    point: Path


@dataclass(frozen=True)
class Stripes:
    """How a file, or a part of it, is spread over servers.

    Attributes
    ----------
    count : int
        Number of targets that it is on.
    size : int
        Bytes that are on one of them before the next has its turn.
    """

    count: int
    size: int


def mount_of(path: Path) -> Mount | None:
    """Say on which of the mounted file systems a file lies.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    Mount or None
        None where there is no such file, or the system does not say.
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
        # The last of several file systems mounted on one another is the one that is seen.
        if resolved.is_relative_to(point) and (found is None or len(point.parts) >= len(found.point.parts)):
            found = Mount(rest.split(" ")[0], point)
    return found


def file_system(path: Path) -> str | None:
    """Say on which kind of file system a file lies.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    str or None
        As the system calls it (``ext4``, ``xfs``, ``lustre``, ``nfs4``); None where it does not say.
    """
    mount = mount_of(path)
    return None if mount is None else mount.kind


def _unescaped(text: str) -> str:
    """Undo how spaces and the like are written in the table of mounts."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text


def stripes(path: Path) -> tuple[Stripes, ...]:
    """Say how Lustre stripes a file.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    tuple of Stripes
        One, or one for each part of a file that has parts of different layout and that is in use; none for a file on
        another file system.
    """
    if not hasattr(os, "getxattr"):
        return ()
    try:
        layout = os.getxattr(path, LAYOUT)
    except OSError:
        return ()
    return stripes_of_layout(layout)


def stripes_of_layout(layout: bytes) -> tuple[Stripes, ...]:
    """Read Lustre's description of a file's layout.

    Parameters
    ----------
    layout : bytes
        The extended attribute ``lustre.lov``.

    Returns
    -------
    tuple of Stripes
        None of a layout that is not known.
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
