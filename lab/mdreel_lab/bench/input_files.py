"""Input files of points: made on demand, copied to a storage, striped, and split into segments."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mdreel.errors import UnsupportedError
from mdreel_lab.bench.data import N_ATOMS, System, bytes_of_frame, make
from mdreel_lab.bench.grid import Point
from mdreel_lab.bench.own_data import OwnData
from mdreel_lab.bench.processes import last_line
from mdreel_lab.bench.room import Room
from mdreel_lab.bench.scenario import PEERS

STORED = "mdreel-bench-data"
"""The folder of trajectories within each folder of a storage axis."""

_CHUNK_BYTES = 1 << 24


@dataclass(frozen=True)
class Inputs:
    """The files of a point; the reference is a structure for programs that need one."""

    topology: Path
    reference: Path
    paths: list[Path]


class InputFiles:
    """Provider of the input files of points, in a folder of data."""

    def __init__(self, data: Path, log: Callable[[str], object]) -> None:
        self._data = data.absolute()
        self._log = log
        self._made: set[tuple[str, int, str, bool]] = set()
        self._room = Room(self._data)

    def of(self, point: Point) -> Inputs:
        """Return the files of a point, and make those that do not exist.

        Raise an `UnsupportedError` if the storage of the point does not exist here, files have no stripes there, or the
        disk has no room for them.
        """
        storage = Path(point.storage)
        if point.storage and not storage.is_dir():
            raise UnsupportedError(f"the folder {storage} of the storage does not exist here")
        if point.stripes:
            _check_stripes(storage if point.storage else self._data)  # before large files are made
        topology, reference, path = self._own(point) if point.trajectory else self._of_system(point)
        whole = path
        if point.storage:
            path = _stored(path, storage / STORED)
        paths = [path] if point.n_segments == 1 else self._segments(path, point, whole)
        if (point.cache == "copy" or point.workload == "split") and paths[0].is_relative_to(self._data):
            needed = {whole, paths[0].parent}
            self._room.make(paths[0].with_name("copy"), sum(one.stat().st_size for one in paths), needed)
        if point.stripes:
            paths = [_striped(paths[0], point.stripes)]
        return Inputs(topology, reference, paths)

    def _of_system(self, point: Point) -> tuple[Path, Path, Path]:
        system = System(point.system, point.n_frames, self._data)
        path = system.trajectory(point.format)
        is_new = not path.exists()
        if is_new:
            self._room.make(path, point.n_frames * bytes_of_frame(point.format, N_ATOMS[point.system]))
            self._log(f"making {path}: {point.n_frames:,} frames")
        what = (point.system, point.n_frames, point.format, point.program in PEERS)
        if is_new or what not in self._made:
            make(*what[:2], self._data, (point.format,), scan=what[3])
            self._made.add(what)
        self._room.use(path, is_new=is_new)
        return system.topology, system.reference, path

    def _own(self, point: Point) -> tuple[Path, Path, Path]:
        # Nothing is written beside the file of a user.
        in_place = point.cache != "copy" and point.workload != "split" and not _writes_beside(point)
        own = OwnData(Path(point.topology), Path(point.trajectory), point.n_frames, self._data, in_place)
        is_new = not own.path(point.format).exists()
        if is_new:
            self._log(f"making {own.path(point.format)}: {point.n_frames:,} frames")
        reference = own.make_reference() if point.program in PEERS else own.reference
        path = own.make(point.format)
        self._room.use(path, is_new=is_new)
        return own.topology, reference, path

    def _segments(self, path: Path, point: Point, whole: Path) -> list[Path]:
        """Return a trajectory, split into files: beside files that the benchmark made, never beside those of users."""
        beside = path.parent if point.storage or not point.trajectory else self._data
        folder = beside / f"{path.stem}-{point.format}-in-{point.n_segments}"
        is_new = not folder.exists()
        if is_new and beside == self._data:
            self._room.make(folder, path.stat().st_size, {whole})
        if is_new:
            _split(path, folder, point.n_segments)
        self._room.use(folder, is_new=is_new)
        return sorted(folder.glob(f"part-*{path.suffix}"))

    def room(self) -> int:
        """Return the number of bytes that generated trajectories can have."""
        return self._room.size()


def _writes_beside(point: Point) -> bool:
    """Return whether a program would write an index beside the file of a user, as MDAnalysis does."""
    return not point.storage and point.program in ("mdanalysis", "published") and point.format in ("xtc", "trr")


def _split(path: Path, folder: Path, n_parts: int) -> None:
    """Split a trajectory into files in a folder, which appears when it is complete."""
    from mdreel.trajectory.split import split

    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        parts = Path(made, "parts")
        parts.mkdir()
        split(path, parts / f"part{path.suffix}", n_parts=n_parts)
        parts.rename(folder)


def _stored(path: Path, folder: Path) -> Path:
    """Return a copy of a trajectory in a folder; the copy appears when it is complete."""
    copy = folder / path.name
    if not copy.exists() or copy.stat().st_size != path.stat().st_size:
        folder.mkdir(parents=True, exist_ok=True)
        part = copy.with_name(f"{copy.stem}.part{copy.suffix}")
        shutil.copyfile(path, part)
        part.replace(copy)
    return copy


def _check_stripes(folder: Path) -> None:
    """Raise an `UnsupportedError` if files in a folder have no stripes; the folder is made unless it exists."""
    from mdreel.foundation.file_system import mount_of, stripes

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        if not stripes(Path(file.name)):
            mount = mount_of(folder)
            kind = "of the data" if mount is None else mount.kind
            raise UnsupportedError(f"the file system {kind} has no stripes, as Lustre has")


def _striped(path: Path, n_stripes: int) -> Path:
    """Return a copy of a file on `n_stripes` Lustre stripes; raise an `UnsupportedError` where they cannot be set."""
    copy = path.with_name(f"{path.stem}-on-{n_stripes}{path.suffix}")
    if copy.exists():
        return copy
    if shutil.which("lfs") is None:
        raise UnsupportedError("stripes are set with the program lfs, which is not installed")
    part = copy.with_name(f"{copy.stem}.part{copy.suffix}")
    done = subprocess.run(["lfs", "setstripe", "-c", str(n_stripes), str(part)], capture_output=True, text=True)
    if done.returncode:
        raise UnsupportedError(f"lfs setstripe: {last_line(done.stderr)}")
    with path.open("rb") as source, part.open("r+b") as target:
        shutil.copyfileobj(source, target, _CHUNK_BYTES)
    part.replace(copy)
    return copy
