# What each does is documented in Rust, and shown by help().
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from mdreel._channels import *
from mdreel._codecs import *
from mdreel._computations import *
from mdreel._managed import *
from mdreel._opening import *
from mdreel._transformations import *

__all__ = [
    "Blocks",
    "ChannelConsumer",
    "ChannelFrame",
    "ChannelProducer",
    "ChannelRelay",
    "Computation",
    "DirectoryArrivals",
    "DirectoryProducer",
    "DirectoryReader",
    "DirectoryWriter",
    "FileCheck",
    "FrameEncoder",
    "FrameReader",
    "FrameSelection",
    "FrameSet",
    "Frames",
    "LentFile",
    "OpenFiles",
    "Part",
    "Pass",
    "SelectedAtoms",
    "Source",
    "Transformation",
    "await_arrival",
    "centered",
    "chain_sources",
    "changing_gyration",
    "changing_linear_density",
    "changing_surface_area",
    "channel_declare_group",
    "channel_frame_identity",
    "channel_most_consumers",
    "channel_source",
    "channel_status",
    "channel_xtc_positions",
    "check",
    "chunk_outline",
    "chunked_source",
    "commit",
    "contact_count",
    "contacts_of",
    "convert",
    "convert_to_chunks",
    "covariance",
    "cross_correlation",
    "density",
    "density_clusters",
    "described_chain",
    "dihedrals",
    "distance_matrix",
    "distances",
    "end_to_end",
    "fluctuation",
    "fold",
    "follow_file",
    "foreign_source",
    "frame_distances",
    "frame_linkage",
    "function",
    "gromos_clusters",
    "group_rmsd",
    "gyration",
    "helix_eigenvalues",
    "hydrogen_bonds",
    "interaction_fingerprint",
    "is_hdf5",
    "keep_chain",
    "keep_freed_memory",
    "kept_chain",
    "kept_positions",
    "linear_density",
    "local_distances",
    "map_blocks",
    "mean_square_displacements",
    "medoids",
    "native_contacts",
    "nearest_centers",
    "online_clusters",
    "output_formats",
    "paths",
    "plan",
    "preload_library",
    "projection",
    "radial_distribution",
    "read_into",
    "repeated",
    "residue_contacts",
    "rmsd",
    "run",
    "secondary_structure",
    "selected",
    "selected_vectors",
    "site_distribution",
    "span_kinds",
    "spanning_forest",
    "split",
    "superposed",
    "superposed_fluctuation",
    "superposed_rows",
    "surface_area",
    "symmetric_rmsd",
    "template_scores",
    "version",
    "water_bridges",
    "whole",
    "without_jumps",
    "wrapped",
]

_Counts: TypeAlias = NDArray[np.uint64]
_Numbers: TypeAlias = NDArray[np.uint32]
_Columns: TypeAlias = tuple[NDArray[np.uint8], _Numbers, _Numbers, _Counts, _Counts, _Counts, _Counts]
_Damage: TypeAlias = tuple[int | None, Path, int | None, str]
_Reals: TypeAlias = NDArray[np.float64]
_Found: TypeAlias = tuple[_Reals, _Reals, _Counts, list[_Reals], list[Any]]
_Results: TypeAlias = tuple[_Found, _Columns, list[_Damage]]

@final
class Source:
    @staticmethod
    def open(
        paths: Sequence[Any],
        format: str | None = None,  # noqa: A002 (MDAnalysis's word)
        access: str = "auto",
        index: str = "cache",
        overlaps: str = "keep",
        among: OpenFiles | None = None,
    ) -> Source: ...
    @staticmethod
    def open_announced(
        paths: Sequence[Any],
        format: str | None,  # noqa: A002 (MDAnalysis's word)
        access: str,
        index: str,
        overlaps: str,
        told: NDArray[np.uint8],
        among: OpenFiles | None = None,
    ) -> Source: ...
    def for_workers(self) -> Source: ...
    def stamp(self) -> NDArray[np.uint8] | None: ...
    def ensure_open(self) -> None: ...
    @staticmethod
    def memory(
        positions: NDArray[np.float32], times: NDArray[np.float64], dimensions: NDArray[np.float32] | None = None
    ) -> Source: ...
    def with_on_error(self, on_error: str) -> Source: ...
    @property
    def on_error(self) -> str: ...
    def with_transformations(self, transformations: Sequence[Transformation]) -> Source: ...
    @property
    def transformations(self) -> list[Transformation]: ...
    @property
    def format(self) -> str: ...
    @property
    def n_segments(self) -> int: ...
    def consists_of(self, sources: Sequence[Source]) -> bool: ...
    @property
    def n_atoms(self) -> int: ...
    @property
    def is_growing(self) -> bool: ...
    @property
    def left_out(self) -> tuple[int, int] | None: ...
    @property
    def n_frames(self) -> int: ...
    @property
    def files(self) -> list[tuple[str, Path | None]]: ...
    def read_by(self, reads: Any) -> Source: ...
    @property
    def n_bytes(self) -> int: ...
    @property
    def n_fetched(self) -> int | None: ...
    @property
    def is_located(self) -> bool: ...
    def places(self) -> NDArray[np.uint8]: ...
    def take_places(self, places: NDArray[np.uint8]) -> None: ...
    def keep_index(self) -> None: ...
    def times(self) -> NDArray[np.float64]: ...
    def check_end(self) -> None: ...
    def describe(self) -> list[dict[str, Any]]: ...
    @property
    def quantities(self) -> list[str]: ...
    def read(self, frames: FrameSet, atoms: NDArray[np.uint32], wanted: Sequence[str] = ...) -> Frames: ...
    def reader(self, atoms: NDArray[np.uint32], wanted: Sequence[str] = ...) -> FrameReader: ...

def read_into(
    source: Source,
    frames: FrameSet,
    atoms: NDArray[np.uint32],
    places: NDArray[np.uint32] | None,
    outs: Sequence[tuple[str, NDArray[Any]]],
    portion_frames: int,
    n_workers: int,
    monitor: Callable[[int], object] | None = None,
) -> tuple[
    NDArray[np.uint64], NDArray[np.float64], NDArray[np.int64], NDArray[np.float32], list[int], list[_Damage]
]: ...

@final
class FrameReader:
    def read(self, frames: FrameSet) -> Frames: ...

@final
class Frames:
    @property
    def positions(self) -> NDArray[np.float32]: ...
    @property
    def velocities(self) -> NDArray[np.float32] | None: ...
    @property
    def forces(self) -> NDArray[np.float32] | None: ...
    @property
    def has_positions(self) -> NDArray[np.bool_]: ...
    @property
    def has_velocities(self) -> NDArray[np.bool_]: ...
    @property
    def has_forces(self) -> NDArray[np.bool_]: ...
    @property
    def has_cell(self) -> NDArray[np.bool_]: ...
    @property
    def vectors(self) -> NDArray[np.float32]: ...
    @property
    def dimensions(self) -> NDArray[np.float32]: ...
    @property
    def times(self) -> NDArray[np.float64]: ...
    @property
    def steps(self) -> NDArray[np.int64]: ...
    @property
    def lambdas(self) -> NDArray[np.float32]: ...

@final
class FrameSet:
    @staticmethod
    def range(start: int, step: int, count: int) -> FrameSet: ...
    @staticmethod
    def list(frames: NDArray[np.uint64]) -> FrameSet: ...
    @staticmethod
    def endless(start: int, step: int) -> FrameSet: ...
    @property
    def is_endless(self) -> bool: ...
    def numbers(self) -> NDArray[np.uint64]: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Blocks:
    def __len__(self) -> int: ...
    def __getitem__(
        self, index: int, /
    ) -> tuple[Literal["frames"], FrameSet] | tuple[Literal["bytes"], tuple[int, int]]: ...
    def frames_before(self, block: int) -> int: ...
    @property
    def are_of_bytes(self) -> bool: ...
    def shares(self, ranges: Sequence[tuple[int, int]], n_workers: int) -> list[int]: ...
    @staticmethod
    def from_bytes(content: bytes) -> Blocks: ...
    def to_bytes(self) -> bytes: ...

@final
class Pass:
    def __new__(cls, n_atoms: int, members: Sequence[tuple[Computation, NDArray[np.uint32] | None]]) -> Pass: ...
    @staticmethod
    def of(computation: Computation) -> Pass: ...
    @property
    def row_width(self) -> int: ...
    @property
    def computations(self) -> list[Computation]: ...
    @property
    def places(self) -> list[list[tuple[int, int]]]: ...

@final
class Part:
    @staticmethod
    def empty(first: int, kernel: Pass) -> Part: ...
    @staticmethod
    def of(content: bytes, rows: NDArray[np.float64]) -> Part: ...
    @staticmethod
    def from_bytes(content: bytes) -> Part: ...
    def to_bytes(self) -> bytes: ...
    @property
    def first(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def n_frames(self) -> int: ...
    @property
    def is_last(self) -> bool: ...
    def move_to(self, first: int) -> None: ...
    def forget_spans(self) -> None: ...
    def done_by(self, worker: int) -> None: ...
    def shift(self, offset_ns: int) -> None: ...
    def take_rows(self) -> NDArray[np.float64]: ...
    def give_rows(self, rows: NDArray[np.float64]) -> None: ...
    def reserve(self, n_frames: int, touch: bool = False) -> None: ...
    def merge(self, next: Part) -> None: ...  # noqa: A002 (the core's name)
    def finish(self, source: Source) -> _Results | None: ...

def plan(
    source: Source,
    frames: FrameSet | None,
    n_parts: int | None,
    n_workers: int,
    keep_to_segments: bool = False,
    row_bytes: int = 0,
) -> Blocks: ...
def run(
    source: Source,
    atoms: NDArray[np.uint32],
    kernel: Pass,
    blocks: Blocks,
    n_workers: int,
    monitor: Callable[[int], object] | None = None,
    schedule: str = "demand",
) -> _Results | None: ...
def map_blocks(
    source: Source,
    atoms: NDArray[np.uint32],
    kernel: Pass,
    blocks: Blocks,
    first: int,
    end: int,
    n_workers: int = 1,
    monitor: Callable[[int], object] | None = None,
    schedule: str = "demand",
    worker: int = 0,
) -> Part: ...
def check(
    source: Source, blocks: Blocks, n_workers: int, monitor: Callable[[int], object] | None = None
) -> tuple[list[tuple[str, int, int | None, str]], list[_Damage], int, _Columns]: ...
def convert(
    source: Source,
    atoms: NDArray[np.uint32],
    frames: FrameSet,
    path: str | PathLike[str],
    precision: float | None,
    n_workers: int,
    monitor: Callable[[int], object] | None = None,
) -> tuple[int, _Columns, list[_Damage]]: ...
def split(
    source: Source,
    atoms: NDArray[np.uint32],
    segments: Sequence[tuple[str | PathLike[str], int, int]],
    precision: float | None,
    n_workers: int,
    monitor: Callable[[int], object] | None = None,
) -> _Columns: ...
def chunk_outline(source: Source, atoms: NDArray[np.uint32], frames: FrameSet) -> tuple[list[str], bool]: ...
def convert_to_chunks(
    source: Source,
    atoms: NDArray[np.uint32],
    frames: FrameSet,
    layout: object,
    n_workers: int,
    sink: Callable[
        [
            int,
            NDArray[np.int64],
            NDArray[np.float64],
            NDArray[np.float32] | None,
            list[tuple[str, int, int, NDArray[np.uint8]]],
        ],
        object,
    ],
    monitor: Callable[[int], object] | None = None,
) -> _Columns: ...
def output_formats() -> list[tuple[str, str, bool, bool]]: ...
def span_kinds() -> list[str]: ...
def version() -> str: ...
def commit() -> str | None: ...
def keep_freed_memory() -> None: ...
def follow_file(
    path: str | PathLike[str],
    n_frames: int | None,
    idle: float | None,
    stop_file: str | PathLike[str] | None,
    process: int | None,
    timeout: float | None,
    format: str | None,  # noqa: A002 (MDAnalysis's word)
    index: str,
    notify: bool,
    recipe: tuple[object, object],
) -> Source: ...
def await_arrival(source: Source, frame: int, step: int, seconds: float) -> tuple[int, bool]: ...
