# Transformations of frames, a part of the stub of _core.

from typing import final

import numpy as np
from numpy.typing import NDArray

@final
class Transformation:
    @property
    def needs_order(self) -> bool: ...

def spanning_forest(
    n_atoms: int, bonds: NDArray[np.uint32], roots: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.uint64], NDArray[np.uint64]]: ...
def superposed(
    atoms: NDArray[np.uint32], reference: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> Transformation: ...
def whole(
    groups: tuple[NDArray[np.uint32], NDArray[np.uint64]],
    parents: NDArray[np.uint64],
    weights: NDArray[np.float64] | None,
    is_centered: bool,
) -> Transformation: ...
def wrapped(
    groups: tuple[NDArray[np.uint32], NDArray[np.uint64]], weights: NDArray[np.float64] | None
) -> Transformation: ...
def centered(
    atoms: NDArray[np.uint32],
    weights: NDArray[np.float64] | None,
    point: tuple[float, float, float] | None,
    is_wrapped: bool,
) -> Transformation: ...
def without_jumps(scheme: str) -> Transformation: ...
