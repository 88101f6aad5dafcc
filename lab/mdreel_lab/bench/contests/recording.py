"""The cost of recording: the number of spans of a run, times that of one span, against the time of the run."""

import statistics
import warnings
from typing import Any

from mdreel_lab.bench.contests.cases import Contender
from mdreel_lab.bench.contests.contenders import Entrant, program_of
from mdreel_lab.bench.contests.pages import bounded
from mdreel_lab.bench.contests.rounds import Settings, launch
from mdreel_lab.bench.data import SELECTION, System
from mdreel_lab.bench.processes import ProcessError

REPEATS = 5
BOUND = 1.0
"""Largest share of the time of a run, %."""


def measure(settings: Settings) -> dict[str, Any]:
    """Measure the share of the RMSD job that recording takes at most."""
    span = _span_seconds(settings)
    figures = []
    for name, form in (("adk", "xtc"), ("adk", "dcd"), ("water", "xtc")):
        system = settings.make(name, form)
        for n_workers in (1, 2):
            what = f"{form.upper()} of {name}, {system.n_frames:,} frames, {n_workers} thread{'s' * (n_workers > 1)}"
            figures.append(bounded(what, _share(system, form, n_workers, span), BOUND, "%"))
    return {"title": f"Recording spans, share of the RMSD job at {1e9 * span:.0f} ns a span", "figures": figures}


def _span_seconds(settings: Settings) -> float:
    """Return how long the core takes to record a span, with its memory, s: the median of several processes."""
    path = program_of("record_spans")
    recording = Contender(label="recording", program="record_spans", kind="ours", needs=f"file:{path}")
    entrant = Entrant(recording, (str(path),))
    if missing := entrant.missing():
        raise ProcessError(missing)
    reports = [launch(entrant, settings.cache) for _ in range(REPEATS)]
    return statistics.median(float(report["seconds"]) / int(report["n_spans"]) for report in reports)


def _share(system: System, form: str, n_workers: int, seconds: float) -> float:
    """Return the share of recording in a run, %, if each span takes so long: the median of several runs."""
    import MDAnalysis as mda

    from mdreel.analysis.rmsd import RMSD

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        atoms = mda.Universe(str(system.topology)).select_atoms(SELECTION)
    shares = []
    for _ in range(REPEATS):
        timing = RMSD(atoms, trajectory=system.trajectory(form)).run(n_workers=n_workers).timing
        shares.append(100 * len(timing.spans) * seconds / timing.seconds())
    return statistics.median(shares)
