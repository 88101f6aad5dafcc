"""Small trajectories of every format, and where their frames are: to be damaged."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import h5py
import numpy as np
from MDAnalysis.lib.formats.libdcd import DCDFile
from MDAnalysis.lib.formats.libmdaxdr import TRRFile, XTCFile

from conformance.netcdf_writer import Make
from conformance.netcdf_writer import write as write_netcdf
from h5md_writer import write_h5md
from mdreel._core import FrameSet, Source
from mdreel.errors import FormatError
from mdreel.trajectory.open import open as open_trajectory

N_FRAMES, N_ATOMS = 9, 21
KINDS = ("xtc", "trr", "dcd", "nc", "h5md")


@dataclass(frozen=True)
class Sound:
    """A file that nothing is wrong with.

    `ranges` are the bytes of each frame, from `ranges[k][0]` to before `ranges[k][1]`.
    """

    path: Path
    content: bytes = field(repr=False)
    ranges: list[tuple[int, int]]

    def damaged(self, byte: int, value: int | None = None) -> Path:
        """Write a file in which one byte is another."""
        return self.with_bytes(byte, bytes([self.content[byte] ^ 0x5A if value is None else value]))

    def with_bytes(self, byte: int, replaced: bytes) -> Path:
        """Write a file in which some bytes are others."""
        return self.written(self.content[:byte] + replaced + self.content[byte + len(replaced) :])

    def written(self, content: bytes) -> Path:
        """Write other content."""
        path = self.path.with_name(f"damaged{self.path.suffix}")
        path.write_bytes(content)
        return path

    @cached_property
    def frames(self) -> frozenset[bytes]:
        """The bits of all frames."""
        return frozenset(frame_by_frame(open_trajectory(self.path, index="none")).values())

    def frame_of(self, byte: int) -> int:
        """The frame that a byte belongs to."""
        return next(k for k, (start, end) in enumerate(self.ranges) if start <= byte < end)


def write_sound(folder: Path, kind: str, n_frames: int = N_FRAMES, n_atoms: int = N_ATOMS) -> Sound:
    """Write a file of frames 1 ps apart, in a cube of 30 Å where the format has one."""
    positions = np.random.default_rng(8).uniform(1, 20, (n_frames, n_atoms, 3)).astype(np.float32)
    path = folder / f"sound.{kind}"
    box = np.eye(3, dtype=np.float32) * 3
    if kind in ("xtc", "trr"):
        with (XTCFile if kind == "xtc" else TRRFile)(str(path), "w") as file:
            for i, frame in enumerate(positions / np.float32(10)):
                rest = (box, i, float(i), 1000) if kind == "xtc" else (None, None, box, i, float(i), 0.0, n_atoms)
                file.write(frame, *rest)
        with (XTCFile if kind == "xtc" else TRRFile)(str(path)) as file:
            starts = [int(offset) for offset in file.offsets]
    elif kind == "dcd":
        with DCDFile(str(path), "w") as file:
            file.write_header("", n_atoms, 0, 1, 1 / 0.04888821, 1)
            for frame in positions:
                file.write(frame, [30, 90, 30, 90, 90, 30])
        with DCDFile(str(path)) as file:
            size = path.stat().st_size
            starts = [size - (n_frames - i) * file._framesize for i in range(n_frames)]
    elif kind == "nc":
        make = Make(variables=("time", "coordinates"), n_frames=n_frames, n_atoms=n_atoms)
        write_netcdf(path, make, {"coordinates": positions, "time": np.arange(n_frames)})
        size = 4 + 12 * n_atoms
        starts = [path.stat().st_size - (n_frames - i) * size for i in range(n_frames)]
    else:
        layout = {"chunks": (1, n_atoms, 3), "compression": "gzip"}
        write_h5md(path, {"position": positions}, layout=layout, box=np.eye(3) * 30)
        with h5py.File(path) as file:
            value = file["particles/atoms/position/value"]
            chunks = [value.id.get_chunk_info(i) for i in range(n_frames)]
        ranges = [(chunk.byte_offset, chunk.byte_offset + chunk.size) for chunk in chunks]
        return Sound(path, path.read_bytes(), ranges)
    content = path.read_bytes()
    return Sound(path, content, list(zip(starts, [*starts[1:], len(content)], strict=True)))


def frame_by_frame(source: Source) -> dict[int, bytes]:
    """Read every frame alone: the bits of those that can be read."""
    atoms = np.arange(source.n_atoms, dtype=np.uint32)
    whole = {}
    for i in range(source.n_frames):
        try:
            whole[i] = source.read(FrameSet.range(i, 1, 1), atoms).positions.tobytes()
        except FormatError:
            continue
    return whole
