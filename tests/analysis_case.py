"""What is known of an analysis that the tests of all analyses use."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from comparable_results import arrays_in
from mdreel.analysis.base.analysis import Analysis
from peptide_system import System


def everything(analysis: Analysis) -> list[np.ndarray]:
    """All that it has found."""
    return [array for name in sorted(analysis.results) for array in arrays_in(analysis.results[name])]


@dataclass(frozen=True)
class Case:
    """An analysis.

    `renumbered` is what of its results does not depend on how atoms are numbered, `unmoved` what a rigid `motion`
    leaves: one of each frame ("each"), one of all frames ("all"), or, where there is no such law, why. `tolerance` is
    what the rounding of moved coordinates may do. Of memory, the docstring says that results are there `copies` times,
    with so many bytes for each frame, and for each atom of it, `beside` them. `step` leaves out frames of what is slow.
    """

    make: Callable[[System], Analysis]
    renumbered: Callable[[Analysis], list[np.ndarray]] = everything
    unmoved: Callable[[Analysis], list[np.ndarray]] | None = None
    motion: str = "each"
    tolerance: float = 1e-3
    copies: int = 1
    beside: tuple[int, int] = (16, 0)
    step: int = 1


def result(*names: str) -> Callable[[Analysis], list[np.ndarray]]:
    """Some of the results."""
    return lambda analysis: [np.asarray(analysis.results[name]) for name in names]
