# A part of what mdreel._core has, which is where it is imported from: files whose structure is read in Python.

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Source

@final
class OpenFiles:
    def __new__(cls, most: int | None = None) -> OpenFiles: ...
    def __reduce__(self) -> tuple[type[OpenFiles], tuple[()]]: ...

@final
class FileCheck:
    def begin(self) -> None: ...
    def are_unchanged(self) -> bool: ...

def is_hdf5(path: str | PathLike[str]) -> bool: ...
def chunked_source(
    path: str | PathLike[str],
    access: str,
    times: NDArray[np.float64],
    steps: NDArray[np.int64],
    quantities: Sequence[tuple[str, object]],
    cells: object,
    facts: dict[str, Any],
    recipe: tuple[object, object],
    open_files: OpenFiles,
    workers: Callable[[Source], tuple[Any, Any]] | None = None,
    stamp: NDArray[np.uint8] | None = None,
) -> Source: ...
def chain_sources(
    paths: Sequence[str | PathLike[str]],
    sources: Sequence[Source],
    overlaps: str,
    recipe: tuple[object, object],
    workers: Callable[[Source], tuple[Any, Any]] | None = None,
    facts: list[dict[str, Any]] | None = None,
) -> Source: ...
def kept_chain(
    paths: str,
    format: str | None,  # noqa: A002 (MDAnalysis's word)
    access: str,
    index: str,
    overlaps: str,
) -> tuple[Source, FileCheck | None] | None: ...
def described_chain(
    told: NDArray[np.uint8],
    format: str | None,  # noqa: A002 (MDAnalysis's word)
    access: str,
    index: str,
    overlaps: str,
) -> Source: ...
def keep_chain(
    source: Source,
    paths: str,
    format: str | None,  # noqa: A002 (MDAnalysis's word)
    index: str,
    overlaps: str,
    facts: str,
) -> bool: ...
def foreign_source(
    trajectory: object,
    path: str | PathLike[str],
    n_atoms: int,
    n_frames: int,
    n_bytes: int,
    names: Sequence[str],
    facts: dict[str, Any],
    recipe: tuple[object, object],
) -> Source: ...
