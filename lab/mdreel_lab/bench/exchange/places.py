"""File systems for the exchange of frames, created where they are missing."""

import os
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

from mdreel.errors import UnsupportedError
from mdreel.foundation.file_system import mount_of
from mdreel_lab.bench.exchange.catalogue import SHARED

MEMORY = Path("/dev/shm")  # noqa: S108 - where channels are

_MET_BY_FILE = ("sst",)
"""Solutions whose processes find each other by a file."""

_XFS_BYTES = 16 << 30
"""Largest size of the sparse file with an XFS."""


class Places(ExitStack):
    """The folders of a run, each on its file system; created file systems exist until ``with`` ends."""

    def __init__(self, local: Path, shared: Path | None) -> None:
        super().__init__()
        self._local = local
        self._shared = shared
        self._xfs: Path | None = None

    def of(self, solution: str, *, are_apart: bool = False) -> Path:
        """Return the folder for the files of a solution, on a shared file system if the nodes are different hosts.

        Raise an `UnsupportedError` if there is no such file system, and none can be created.
        """
        if solution == SHARED or (are_apart and solution in _MET_BY_FILE):
            if self._shared is None:
                raise UnsupportedError("there is no shared file system: --shared names a folder on one")
            return self._shared
        self._local.mkdir(parents=True, exist_ok=True)
        if solution != "xfs":
            return self._local
        mount = mount_of(self._local)
        if mount is not None and mount.kind == "xfs":
            return self._local
        if self._xfs is None:
            self._xfs = self._mounted_xfs()
        return self._xfs

    def _mounted_xfs(self) -> Path:
        """Mount an XFS that lies in a file."""
        if os.geteuid() != 0:
            raise UnsupportedError("the data are on no XFS, and only root can make one")
        place = Path(self.enter_context(tempfile.TemporaryDirectory(dir=self._local)))
        image, folder = place / "image", place / "xfs"
        folder.mkdir()
        with image.open("wb") as file:
            file.truncate(_XFS_BYTES)
        for command in (["mkfs.xfs", "-q", str(image)], ["mount", "-o", "loop", str(image), str(folder)]):
            try:
                done = subprocess.run(command, capture_output=True, text=True)
            except FileNotFoundError:
                message = f"the data are on no XFS, and {command[0]} was not found (Debian: xfsprogs)"
                raise UnsupportedError(message) from None
            if done.returncode:
                raise UnsupportedError(f"{command[0]}: {done.stderr.strip()[-200:]}")
        self.callback(subprocess.run, ["umount", str(folder)], check=True)
        return folder


def kind_of(folder: Path) -> str:
    """Return the real name of the file system that a folder is on."""
    mount = mount_of(folder)
    return "an unknown file system" if mount is None else mount.kind
