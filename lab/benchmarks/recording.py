"""What recording costs: the number of spans of a run, times what one span takes, against the time of the run."""

from __future__ import annotations

import statistics
import warnings
from typing import TYPE_CHECKING

import contender
import measure

if TYPE_CHECKING:
    from pathlib import Path

    from mdreel_lab.bench.data import System

REPEATS = 5


def span_seconds(cache: Path) -> float:
    """Return what it takes the core to record a span, with the memory that it takes, s: median of 5.

    Parameters
    ----------
    cache
        A folder; programs of the benchmark have one.

    Raises
    ------
    RuntimeError
        If the program that does nothing else was not built.
    """
    recording = contender.example("record_spans", "recording")
    missing = recording.missing()
    if missing:
        raise RuntimeError(missing)
    reports = [measure.launch(recording, cache) for _ in range(REPEATS)]
    return statistics.median(report["seconds"] / report["n_spans"] for report in reports)


def share(system: System, form: str, n_workers: int, seconds: float) -> float:
    """Return how much of a run is recording, if each span takes ``seconds``, %: median of 5 runs of the RMSD job."""
    import MDAnalysis as mda

    from mdreel import RMSD
    from mdreel_lab.bench.data import SELECTION

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        atoms = mda.Universe(str(system.topology)).select_atoms(SELECTION)
    shares = []
    for _ in range(REPEATS):
        timing = RMSD(atoms, trajectory=system.trajectory(form)).run(n_workers=n_workers).timing
        shares.append(100 * len(timing.spans) * seconds / timing.seconds())
    return statistics.median(shares)
