"""What ``mdreel advise`` predicts, beside what is then measured: the time of 2 threads, on three workloads."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import measure
import results
from contender import job, python
from mdreel_lab.bench import data

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

N_WORKERS = 2
BOUND = 20.0
"""How far a prediction may lie from what is measured, %."""


@dataclass(frozen=True)
class Workload:
    """What is run, how often over, of every how many frames, and what the table calls it."""

    what: str
    system: str
    n_times: int
    step: int
    text: str


WORKLOADS = (
    Workload("rmsd", "adk", 6, 1, "RMSD of Cα atoms, AdK in vacuum"),
    Workload("dihedrals", "adk", 1, 1, "Ramachandran angles, AdK in vacuum"),
    Workload("rdf", "water", 1, 10, "radial distribution of hydrogen about oxygen, AdK in water"),
)


def figures(
    lengths: dict[str, int], rounds: int, folder: Path, log: Callable[[str], None]
) -> list[dict[str, Any]] | None:
    """Measure all workloads, and say how far predictions were off; None if one could not be run.

    Parameters
    ----------
    lengths
        Frames of each system.
    rounds
        How often each is predicted and run, in turn.
    folder
        Where data and indices are kept.
    log
        Takes progress, a line at a time.
    """
    reports: dict[str, list[dict[str, Any]]] = {one.what: [] for one in WORKLOADS}
    for number in range(rounds):
        for workload in WORKLOADS:
            system = data.make(workload.system, lengths[workload.system], folder, ("xtc",))
            work = job(system, "xtc", workload.what, n_workers=N_WORKERS, n_times=workload.n_times)
            work = replace(work, step=workload.step)
            contender = python("advised", workload.text, work, N_WORKERS, needs="python:mdreel")
            with measure.in_memory(system.trajectory("xtc")):
                try:
                    if not number:
                        measure.launch(contender, folder / "cache")  # leaves the index that all rounds find
                    report = measure.launch(contender, folder / "cache")
                except RuntimeError as error:
                    log(f"  FAILED {workload.text}: {error}")
                    return None
            reports[workload.what].append(report)
            log(f"  {workload.text}: {report['predicted']:.3f} s predicted, {report['seconds']:.3f} s measured")
    return [_figure(workload, reports[workload.what]) for workload in WORKLOADS]


def _figure(workload: Workload, reports: list[dict[str, Any]]) -> dict[str, Any]:
    ratios = [one["predicted"] / one["seconds"] for one in reports]
    predicted, seconds, n_frames = (
        statistics.median(one[name] for one in reports) for name in ("predicted", "seconds", "n_frames")
    )
    text = (
        f"{workload.text}, {n_frames:,.0f} frames: {predicted:.3g} s predicted, {seconds:.3g} s measured, "
        f"{statistics.median(ratios):.2f}x ({min(ratios):.2f}–{max(ratios):.2f}); median deviation"
    )
    deviation = 100 * statistics.median(abs(ratio - 1) for ratio in ratios)
    return results.bounded(text, deviation, BOUND, "%") | {"reports": reports}
