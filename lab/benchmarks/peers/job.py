"""The job that a contender does, and the clock that all contenders share."""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

ANGSTROM_PER_NM = 10.0

RELATIVE = 2e-3
"""How far what analyses have found may lie apart, as a share of it."""


@dataclass(frozen=True)
class Job:
    """What to do.

    Parameters
    ----------
    what
        ``rmsd`` (of the selection, after superposition on its first frame), ``read`` (all atoms, nothing computed),
        ``read-selected`` (the selection, nothing computed), what a program of ``storage.py`` is asked for, or an
        analysis of ``analyses.py``.
    way
        How the contender does it, where it has more than one way.
    n_workers
        Threads or processes.
    topology, reference, trajectory, selection
        Paths, see ``mdreel_lab.bench.data.System``.
    n_times
        How often the trajectory is read, one time after another, as a chain of segments.
    step
        Every how many frames are analysed.
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

    def to_json(self) -> str:
        """Return the job as one argument of a command line."""
        return json.dumps(asdict(self))

    def indices(self) -> npt.NDArray[np.intp]:
        """Return the selected atoms, shape (n_selected,), 0-based."""
        return np.loadtxt(self.selection, dtype=np.intp)


@dataclass(frozen=True)
class Read:
    """What reading gave: the proof that it was done.

    Parameters
    ----------
    n_frames, n_atoms
        Frames read, atoms in each.
    last
        Position of the first atom in the last frame, Å.
    """

    n_frames: int
    n_atoms: int
    last: tuple[float, float, float]

    @classmethod
    def of(cls, n_frames: int, last: npt.NDArray[np.floating], unit: float = 1.0) -> Read:
        """Report what was read.

        Parameters
        ----------
        n_frames
            How many frames.
        last : ndarray, shape (n_atoms, 3)
            The last of them.
        unit
            Å in the unit of ``last``.
        """
        x, y, z = last[0] * unit
        return cls(n_frames, len(last), (float(x), float(y), float(z)))


@dataclass(frozen=True)
class Found:
    """What an analysis has found: the proof that it was the same.

    Parameters
    ----------
    n_frames
        Frames analysed.
    value
        A number in which all of the result takes part, such as its mean.
    within
        How far it may lie from what others find, as a share of it.
    seconds
        What counts instead of the clock, where that is another time than all of the work took.
    """

    n_frames: int
    value: float
    within: float = RELATIVE
    seconds: float | None = None


Series = npt.NDArray[np.float64]
"""The RMSD of each frame, shape (n_frames,), Å."""

Work = Callable[[], "Series | Read | Found | Callable[[], Read]"]
"""The part of a job that is timed: open, read, compute. What it made may be looked at after the clock has stopped."""


def measure(prepare: Callable[[Job], Work]) -> None:
    """Prepare the job named on the command line, time it, print one line of JSON.

    Parameters
    ----------
    prepare
        Imports the contender, reads topology and selection, and returns the work to be timed.
    """
    warnings.simplefilter("ignore")
    job = Job(**json.loads(sys.argv[1]))
    work = prepare(job)
    begin = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - begin
    if callable(result):
        result = result()
    report: dict[str, object] = {"seconds": seconds}
    if isinstance(result, Found):
        report |= {name: value for name, value in asdict(result).items() if value is not None}
    elif isinstance(result, Read):
        report |= asdict(result)
        if job.what == "read-selected":
            report["last_selected"] = report.pop("last")
    else:
        report |= {"n_frames": len(result), "mean_rmsd": float(np.mean(result)), "last_rmsd": float(result[-1])}
    if int(os.environ.get("PMI_RANK", "0")) == 0:  # of several ranks of MPI
        print(json.dumps(report))
