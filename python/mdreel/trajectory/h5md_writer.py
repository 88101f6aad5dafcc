"""Writer for H5MD files (https://nongnu.org/h5md/h5md.html)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSet, LentFile, Source, chunk_outline, convert_to_chunks, version
from mdreel.errors import MismatchError
from mdreel.execution.progress import Progress
from mdreel.timing.spans import spans_from_columns
from mdreel.timing.timing import Timing
from mdreel.trajectory.chunking import Chunking, check_chunk, choose_chunking
from mdreel.trajectory.output_file import find_h5py, naming
from mdreel.trajectory.write_report import Written

if TYPE_CHECKING:
    import h5py

GROUP = "trajectory"  # as in MDAnalysis

# Element of H5MD and unit of each quantity of the core.
ELEMENTS = {
    "positions": ("position", "Angstrom"),
    "velocities": ("velocity", "Angstrom ps-1"),
    "forces": ("force", "kJ mol-1 Angstrom-1"),
}
# Frames of a chunk of steps, times and cells, which gives 32 KiB of steps.
AXIS_CHUNK = 4096


@dataclass(frozen=True)
class H5mdSettings:
    """Settings for the H5MD writer.

    Attributes
    ----------
    access : {"frames", "atoms", "both"}
        How the file will be read, which determines the chunks.
    chunk : tuple of int, optional
        Numbers of frames and atoms in each chunk, to use instead of `access`.
    level : int, optional
        Compression level of gzip. If None, the chunks are not compressed.
    group : str
        Name of the particle group.
    """

    access: str = "frames"
    chunk: tuple[int, int] | None = None
    level: int | None = None
    group: str = GROUP

    def chunking(self, n_frames: int, n_atoms: int, n_quantities: int) -> Chunking:
        """Return the chunks for given numbers of frames, atoms and quantities."""
        if self.chunk is None:
            chosen = choose_chunking(self.access, n_frames, n_atoms, n_quantities)
        else:
            chosen = check_chunk(self.chunk, n_frames, n_atoms, n_quantities)
        return Chunking(chosen.frames, chosen.atoms, self.level)


@dataclass(frozen=True)
class Layout:
    """Chunk layout for the core. The attributes have the names that the core expects."""

    quantities: list[str]
    has_unit_cell: bool
    chunk_frames: int
    chunk_atoms: int
    deflate_level: int | None


def check_group(group: str) -> None:
    """Reject an invalid name for a particle group.

    Raises
    ------
    MismatchError
        If the name is empty or a path.
    """
    if group in ("", ".", "..") or "/" in group or "\0" in group:
        raise MismatchError(f"the particle group needs a name without /, not {group!r}")


def write_h5md(
    source: Source,
    atoms: NDArray[np.uint32],
    frames: FrameSet,
    path: Path,
    *,
    settings: H5mdSettings,
    n_workers: int,
    title: str = "converting",
    progress: bool = False,
) -> Written:
    """Write frames to an H5MD file.

    Parameters
    ----------
    source : Source
        The trajectory.
    atoms : ndarray, shape (n_atoms,), uint32
        Indices of the atoms, in ascending order.
    frames : FrameSet
        The frames.
    path : Path
        The output file. It appears only once it is complete, and then replaces an existing file.
    settings : H5mdSettings
        Chunks, compression and particle group.
    n_workers : int
        Number of threads. The output file is bitwise identical for any number of threads.
    title : str
        Title of the progress bar.
    progress : bool
        Whether to show progress.

    Returns
    -------
    Written
        The file and the timing.

    Raises
    ------
    UnsupportedError
        If h5py is not installed.
    MismatchError
        If the chunks are unsuitable, or if not all frames have the same quantities.
    FormatError
        If the trajectory is damaged.
    OSError
        If the file cannot be written. No partial file is left behind.

    Notes
    -----
    The format is described in de Buyl, Colberg and Höfling, Comput. Phys. Commun. 185 (2014) 1546. Positions are stored
    as float32 in Å, velocities in Å/ps, and forces in kJ/(mol Å). Times are stored as float64 in ps, and steps as
    int64. The box of each frame consists of three row vectors in Å, which are zero if the frame has no cell. The file
    contains the quantities that are found in the first two frames and the last frame.
    """
    h5py = find_h5py(path)
    with naming(source), Progress(title, len(frames), enabled=progress) as bar:
        quantities, has_cell = chunk_outline(source, atoms, frames)
        chunking = settings.chunking(len(frames), len(atoms), len(quantities))
        layout = Layout(quantities, has_cell, chunking.frames, chunking.atoms, chunking.level)
        with created(path, h5py) as (file, check):
            sink = Sink(file, layout, len(frames), len(atoms), settings.group, check)
            columns = convert_to_chunks(
                source, atoms, frames, layout, n_workers, sink.write, bar.update if progress else None
            )
    return Written((path,), len(frames), len(atoms), Timing(spans_from_columns(columns)))


@contextmanager
def created(path: Path, h5py: ModuleType) -> "Iterator[tuple[h5py.File, Callable[[], None]]]":
    """Yield a file that appears only once it is complete, and a function that raises any disk errors so far."""
    lent = LentFile(path)
    try:
        file = h5py.File(lent, "w")
        try:
            yield file, lent.check
        except BaseException:
            lent.give_up()
            raise
        finally:
            file.close()
        lent.finish()
    finally:
        lent.discard()


class Sink:
    """Datasets in a file, to which the chunks from the core are written.

    Parameters
    ----------
    file : h5py.File
        The empty file.
    layout : Layout
        Chunk layout.
    n_frames, n_atoms : int
        Numbers of frames and atoms.
    group : str
        Name of the particle group.
    check : callable
        Function that raises disk errors.
    """

    def __init__(
        self, file: "h5py.File", layout: Layout, n_frames: int, n_atoms: int, group: str, check: Callable[[], None]
    ) -> None:
        self._check = check
        _describe(file)
        particles = file.create_group(f"particles/{group}")
        self._values = {}
        first = particles.create_group(ELEMENTS[layout.quantities[0]][0])
        self._steps = _create_axis(first, "step", (n_frames,), "<i8")
        self._times = _create_axis(first, "time", (n_frames,), "<f8")
        self._times.attrs["unit"] = "ps"
        for quantity in layout.quantities:
            name, unit = ELEMENTS[quantity]
            element = particles.require_group(name)
            value = _create_value(element, layout, (n_frames, n_atoms, 3))
            value.attrs["unit"] = unit
            self._values[quantity] = value
            if element != first:
                self._link_axes(element)
        box = particles.create_group("box")
        box.attrs["dimension"] = 3
        box.attrs["boundary"] = ["periodic" if layout.has_unit_cell else "none"] * 3
        self._edges = None
        if layout.has_unit_cell:
            edges = box.create_group("edges")
            self._edges = _create_axis(edges, "value", (n_frames, 3, 3), "<f4")
            self._edges.attrs["unit"] = "Angstrom"
            self._link_axes(edges)

    def _link_axes(self, element: "h5py.Group") -> None:
        """Link to the steps and times of the first element, so that they are stored only once."""
        element["step"], element["time"] = self._steps, self._times

    def write(
        self,
        first: int,
        steps: NDArray[np.int64],
        times: NDArray[np.float64],
        cells: NDArray[np.float32] | None,
        chunks: Sequence[tuple[str, int, int, NDArray[np.uint8]]],
    ) -> None:
        """Write the next frames.

        Parameters
        ----------
        first : int
            Number of the first frame.
        steps : ndarray, shape (n_frames,), int64
            Integration steps.
        times : ndarray, shape (n_frames,), float64
            Times in ps.
        cells : ndarray, shape (n_frames * 9,), float32, or None
            Cell vectors in Å.
        chunks : sequence of tuple
            Quantity, first frame, first atom and bytes of each chunk.

        Raises
        ------
        OSError
            If the disk is full or fails.
        """
        here = slice(first, first + len(steps))
        self._steps[here], self._times[here] = steps, times
        if self._edges is not None and cells is not None:
            self._edges[here] = cells.reshape(-1, 3, 3)
        for quantity, frame, atom, stored in chunks:
            self._values[quantity].id.write_direct_chunk((frame, atom, 0), stored)
        self._check()


def _describe(file: "h5py.File") -> None:
    """Write the H5MD metadata, which consist of the version and the creator."""
    h5md = file.create_group("h5md")
    h5md.attrs["version"] = np.array([1, 1], np.int32)
    h5md.create_group("author").attrs["name"] = "N/A"
    creator = h5md.create_group("creator")
    creator.attrs["name"] = "mdreel"
    creator.attrs["version"] = version()
    h5md.create_group("modules/units").attrs["version"] = np.array([1, 0], np.int32)


def _create_value(element: "h5py.Group", layout: Layout, shape: tuple[int, int, int]) -> Any:
    compression: dict[str, Any] = {}
    if layout.deflate_level is not None:
        # h5py and the core apply the filters in the same order: shuffle, then deflate.
        compression = {"shuffle": True, "compression": "gzip", "compression_opts": layout.deflate_level}
    chunk = (layout.chunk_frames, layout.chunk_atoms, 3)
    return element.create_dataset(
        "value", shape, "<f4", chunks=chunk, maxshape=(None, *shape[1:]), track_times=False, **compression
    )


def _create_axis(group: "h5py.Group", name: str, shape: tuple[int, ...], number: str) -> Any:
    chunk = (min(shape[0], AXIS_CHUNK), *shape[1:])
    return group.create_dataset(name, shape, number, chunks=chunk, maxshape=(None, *shape[1:]), track_times=False)
