"""The core: reading, mapping and reducing frames, in Rust."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

_Columns: TypeAlias = tuple[
    NDArray[np.uint8],
    NDArray[np.uint32],
    NDArray[np.uint32],
    NDArray[np.uint64],
    NDArray[np.uint64],
    NDArray[np.uint64],
    NDArray[np.uint64],
]

@final
class Source:
    """A trajectory that has been opened: immutable, and safe to use from several threads.

    Files are opened again where a source is unpickled. Calls that may take long see Ctrl-C.
    """

    @staticmethod
    def open(
        paths: Sequence[str | PathLike[str]], format: str | None = None, access: str = "auto", index: str = "cache"
    ) -> Source:
        """Open files as one trajectory; see `mdreel.sources.open.open_source`."""

    @staticmethod
    def memory(
        positions: NDArray[np.float32], times: NDArray[np.float64], dimensions: NDArray[np.float32] | None = None
    ) -> Source:
        """Copy positions (n_frames, n_atoms, 3) in Å, times in ps, cells (n_frames, 6) in Å and degrees (zeros: none)."""

    @property
    def format(self) -> str:
        """The format's name; ``chain`` for several files, ``memory`` for arrays."""

    @property
    def n_atoms(self) -> int:
        """Atoms in each frame."""

    @property
    def n_frames(self) -> int:
        """Number of frames; locates them if nobody has."""

    @property
    def n_bytes(self) -> int:
        """Size in storage."""

    @property
    def is_located(self) -> bool:
        """Whether it is known where each frame is."""

    def times(self) -> NDArray[np.float64]:
        """Time of each frame, shape (n_frames,), ps; locates the frames if nobody has."""

    def check_end(self) -> None:
        """Raise FormatError if there is a torn frame behind the last whole one."""

    def describe(self) -> list[dict[str, Any]]:
        """Facts about each file: format, path, size, and what only that format has."""

    def read(
        self, frames: FrameSet, atoms: NDArray[np.uint32]
    ) -> tuple[
        NDArray[np.float32],
        NDArray[np.float32],
        NDArray[np.float32],
        NDArray[np.bool_],
        NDArray[np.float64],
        NDArray[np.int64],
    ]:
        """Read positions (n, a, 3) in Å, cell vectors (n, 3, 3) in Å, cell lengths and angles (n, 6), whether there is
        a cell (n,) (where there is none the other two are NaN), times (n,) in ps, and integration steps (n,)."""

@final
class FrameSet:
    """Frames of a trajectory, in the order in which they are to be read."""

    @staticmethod
    def range(start: int, step: int, count: int) -> FrameSet:
        """``start``, ``start + step``, ... for `count` frames."""

    @staticmethod
    def list(frames: NDArray[np.uint64]) -> FrameSet:
        """Any frames in any order, repetitions allowed."""

    def numbers(self) -> NDArray[np.uint64]:
        """Return the frame numbers."""

    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Blocks:
    """The blocks of a run, in the order of merging."""

    def __len__(self) -> int: ...
    def __getitem__(
        self, index: int, /
    ) -> tuple[Literal["frames"], FrameSet] | tuple[Literal["bytes"], tuple[int, int]]: ...

@final
class RmsdKernel:
    """RMSD to a reference, shape (n_atoms, 3), Å."""

    def __new__(
        cls, reference: NDArray[np.float64], weights: NDArray[np.float64] | None, superposition: bool
    ) -> RmsdKernel: ...

def plan(source: Source, frames: FrameSet | None, n_parts: int | None, n_workers: int) -> Blocks:
    """Cut `frames`, or the whole trajectory if None, into `n_parts` blocks, or as many as suit file and workers."""

def run(
    source: Source,
    atoms: NDArray[np.uint32],
    kernel: RmsdKernel,
    blocks: Blocks,
    n_workers: int,
    monitor: Callable[[int], object] | None = None,
) -> tuple[NDArray[np.uint64], NDArray[np.float64], NDArray[np.float64], _Columns] | None:
    """Map `blocks` with `kernel` on `n_workers` threads: frames, times (ps), values, columns of spans.

    `monitor` is called about every 50 ms with the number of frames done; what it raises stops the run. None is
    returned when blocks of bytes did not join: plan by frames then.
    """

def span_kinds() -> list[str]:
    """Return the names of the kinds of spans, in the order of their numbers."""
