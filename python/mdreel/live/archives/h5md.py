"""H5MD archives, which are converted from a file of records after the simulation has ended.

The frames are not written to the HDF5 file directly, because it would become unreadable if its writer was killed. In
addition, its bytes would depend on when it was flushed.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel.live.archives.frames import ArchivedFrame, check_alike
from mdreel.live.archives.part_file import PartFile
from mdreel.trajectory.h5md_writer import H5mdSettings, Layout, Sink, created
from mdreel.trajectory.output_file import H5MD, find_h5py


class H5mdFrames:
    """Appends frames to a file of records, and converts this file to an H5MD file at the end.

    Parameters
    ----------
    part : PartFile
        The file of records, truncated to the committed length.
    n_atoms : int
        Number of atoms.
    state : dict
        Committed state.
    """

    def __init__(self, part: PartFile, n_atoms: int, state: dict[str, Any]) -> None:
        self._part = part
        self._n_atoms = n_atoms
        self._quantities: list[str] | None = state.get("quantities")
        self._has_cells = bool(state.get("has_cells"))
        self.n_frames: int = state.get("n_frames", 0)

    @property
    def whole(self) -> Path:
        """Path of the complete file before it is renamed."""
        return self._part.hidden.with_name(f"{self._part.hidden.name}.h5")

    def append(self, frame: ArchivedFrame) -> bool:
        """Append a frame. The method always returns True, because the frame is then in the file.

        Raises
        ------
        MismatchError
            If the quantities of the frame differ from those of the first frame.
        """
        if self._quantities is None:
            self._quantities = list(frame.quantities)
        check_alike(self._quantities, frame, H5MD)
        record = np.zeros((), self._record())
        record["step"], record["time"] = frame.step, frame.time
        if frame.cell is not None:
            record["cell"] = frame.cell.reshape(3, 3)
            self._has_cells = True
        for name, values in frame.quantities.items():
            record[name] = values
        self._part.append(record.tobytes())
        self.n_frames += 1
        return True

    def complete(self) -> None:
        """Write the H5MD file with the same chunks as `convert`, which consist of whole frames and have about 1 MiB."""
        h5py = find_h5py(self._part.path)
        self._part.sync()
        self.clear()
        quantities = self._quantities or []
        settings = H5mdSettings()
        chunking = settings.chunking(self.n_frames, self._n_atoms, len(quantities))
        layout = Layout(quantities, self._has_cells, chunking.frames, chunking.atoms, chunking.level)
        with created(self.whole, h5py) as (file, check):
            sink = Sink(file, layout, self.n_frames, self._n_atoms, settings.group, check)
            for first in range(0, self.n_frames, chunking.frames):
                records = self._records(first, min(first + chunking.frames, self.n_frames))
                cells = records["cell"].reshape(-1) if self._has_cells else None
                chunks = [(name, first, 0, _chunk(records[name], chunking.frames)) for name in quantities]
                sink.write(first, records["step"], records["time"], cells, chunks)

    def state(self) -> dict[str, object]:
        """Return the state that is needed to continue later."""
        return {"quantities": self._quantities, "has_cells": self._has_cells}

    def clear(self) -> None:
        """Remove temporary files of a process that was killed while it was writing the H5MD file."""
        for left in self.whole.parent.iterdir():
            if left.name.startswith(f".{self.whole.name}.") and left.suffix == ".part":
                left.unlink()

    def _record(self) -> np.dtype[Any]:
        per_atom = [(name, "<f4", (self._n_atoms, 3)) for name in self._quantities or ()]
        return np.dtype([("step", "<i8"), ("time", "<f8"), ("cell", "<f4", (3, 3)), *per_atom])

    def _records(self, first: int, end: int) -> NDArray[Any]:
        record = self._record()
        return np.frombuffer(self._part.read(first * record.itemsize, (end - first) * record.itemsize), record)


def _chunk(values: NDArray[np.float32], n_frames: int) -> NDArray[np.uint8]:
    """Return the bytes of a chunk, padded with zeros after the last frame."""
    chunk = np.zeros((n_frames, *values.shape[1:]), "<f4")
    chunk[: len(values)] = values
    return chunk.reshape(-1).view(np.uint8)
