"""Jobs of contenders, and the results that prove that a contender completed its job."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel_lab.bench.records import JsonLine

ANGSTROM_PER_NM = 10.0

RELATIVE = 2e-3
"""Relative deviation that the results of two libraries may have."""

Series: TypeAlias = NDArray[np.float64]
"""RMSD of each frame, shape (n_frames,), Å."""

Indices: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True)
class Job(JsonLine):
    """One job.

    Attributes
    ----------
    what
        ``rmsd`` (of the selection, after superposition on its first frame), ``read`` (all atoms), ``read-selected``
        (the selection), ``convert``, ``split``, ``chain``, or the name of an analysis.
    way
        The variant of the contender, if it has several.
    selection
        A file of indices, one a line, or a selection in MDAnalysis's language.
    n_times
        The trajectory is read this often, as a chain of segments.
    step
        Stride of the analysed frames.
    start, stop
        First frame, and the frame before which to stop. Only arrays and analyses of mdreel heed them.
    """

    what: str
    way: str
    n_workers: int
    topology: str
    reference: str
    trajectory: str
    selection: str
    n_times: int = 1
    step: int = 1
    start: int | None = None
    stop: int | None = None

    def indices(self) -> Indices:
        """Return the selected atoms, 0-based."""
        if Path(self.selection).is_file():
            return np.loadtxt(self.selection, dtype=np.intp)
        return self.select(self.selection)

    def select(self, selection: str) -> Indices:
        """Return the atoms of a selection in MDAnalysis's language, 0-based."""
        import MDAnalysis as mda

        indices: Indices = mda.Universe(self.topology).select_atoms(selection).ix
        return indices


@dataclass(frozen=True)
class Read:
    """Proof that a trajectory was read: numbers of frames and atoms, and the last position of the first atom, Å."""

    n_frames: int
    n_atoms: int
    last: tuple[float, float, float]

    @classmethod
    def of(cls, n_frames: int, last: NDArray[np.floating[Any]], unit: float = 1.0) -> Self:
        """Return the proof, given the positions of the last frame in a unit of so many Å."""
        x, y, z = last[0] * unit
        return cls(n_frames, len(last), (float(x), float(y), float(z)))


@dataclass(frozen=True)
class Found:
    """Proof that a contender completed an analysis.

    Attributes
    ----------
    value
        A number to which every part of the result contributes, such as its mean.
    within
        Relative deviation that it may have from the value of other libraries.
    seconds
        The measured time, if it is not that of the whole work.
    """

    n_frames: int
    value: float
    within: float = RELATIVE
    seconds: float | None = None


Work: TypeAlias = Callable[[], Series | Read | Found | Callable[[], Read]]
"""The timed part of a job: open, read, compute. A returned function is called after the clock has stopped."""

Prepare: TypeAlias = Callable[[Job], Work]
"""Imports the library, reads topology and selection, and returns the work."""


def report_of(prepare: Prepare, job: Job) -> dict[str, Any]:
    """Prepare a job, time it, and return ``seconds`` and the proof."""
    work = prepare(job)
    begin = perf_counter()
    result = work()
    seconds = perf_counter() - begin
    if callable(result):
        result = result()
    if isinstance(result, Found):
        return {"seconds": seconds} | {name: value for name, value in asdict(result).items() if value is not None}
    if isinstance(result, Read):
        found = {"seconds": seconds, **asdict(result)}
        return {
            ("last_selected" if name == "last" and job.what == "read-selected" else name): found[name] for name in found
        }
    return {
        "seconds": seconds,
        "n_frames": len(result),
        "mean_rmsd": float(np.mean(result)),
        "last_rmsd": float(result[-1]),
    }
