"""The predictions of ``mdreel advise`` for 2 threads, beside the time of the runs, on three workloads.

``python -m mdreel_lab.bench.contests.advice JOB`` predicts and runs one job.
"""

import json
import statistics
import sys
import time
import warnings
from typing import Any

from mdreel_lab.bench.cache_state import held_in_memory
from mdreel_lab.bench.contests.cases import Case, Contender
from mdreel_lab.bench.contests.contenders import Entrant, job_of
from mdreel_lab.bench.contests.pages import bounded
from mdreel_lab.bench.contests.rounds import Settings, launch
from mdreel_lab.bench.peers.job import Job
from mdreel_lab.bench.peers.mdreel import analysis_of

N_WORKERS = 2
BOUND = 20.0
"""Largest deviation of a prediction, %."""

_ADVISED = Contender(label="mdreel", program="advice", kind="ours", cores=N_WORKERS)
_WORKLOADS = {
    "RMSD of Cα atoms, AdK in vacuum": Case(title="", what="rmsd", times=6, contenders=()),
    "Ramachandran angles, AdK in vacuum": Case(title="", what="dihedrals", contenders=()),
    "radial distribution of hydrogen about oxygen, AdK in water": Case(
        title="", what="rdf", systems=("water",), step=10, contenders=()
    ),
}


def measure(settings: Settings) -> dict[str, Any]:
    """Predict and run all workloads, in turn."""
    reports: dict[str, list[dict[str, Any]]] = {text: [] for text in _WORKLOADS}
    for number in range(settings.rounds):
        for text, case in _WORKLOADS.items():
            system = settings.make(case.system, "xtc")
            job = job_of(case, _ADVISED, system, case.times)
            entrant = Entrant(_ADVISED, (sys.executable, "-m", "mdreel_lab.bench.contests.advice", job.to_json()))
            with held_in_memory(system.trajectory("xtc")):
                if not number:
                    launch(entrant, settings.cache)  # leaves the index that all rounds find
                report = launch(entrant, settings.cache)
            reports[text].append(report)
            settings.log(f"  {text}: {report['predicted']:.3f} s predicted, {report['seconds']:.3f} s measured")
    figures = [_figure(text, several) for text, several in reports.items()]
    return {"title": f"What `mdreel advise` predicts for {N_WORKERS} threads", "figures": figures}


def _figure(text: str, reports: list[dict[str, Any]]) -> dict[str, Any]:
    ratios = [one["predicted"] / one["seconds"] for one in reports]
    predicted, seconds, n_frames = (
        statistics.median(one[name] for one in reports) for name in ("predicted", "seconds", "n_frames")
    )
    said = (
        f"{text}, {n_frames:,.0f} frames: {predicted:.3g} s predicted, {seconds:.3g} s measured, "
        f"{statistics.median(ratios):.2f}x ({min(ratios):.2f}–{max(ratios):.2f}); median deviation"
    )
    deviation = 100 * statistics.median(abs(ratio - 1) for ratio in ratios)
    return bounded(said, deviation, BOUND, "%") | {"reports": reports}


def main() -> None:
    """Advise on the job named on the command line, run it, print one line of JSON."""
    from mdreel.cluster.advice.advise import advise

    warnings.simplefilter("ignore")
    job = Job.of_json(sys.argv[1])
    analysis = analysis_of(job)
    advice = advise(analysis, step=job.step, n_cores=job.n_workers, n_workers=job.n_workers)
    begin = time.perf_counter()
    analysis.run(step=job.step, backend=advice.plan.executor, n_workers=job.n_workers)
    seconds = time.perf_counter() - begin
    sample = advice.sample
    report = {
        "seconds": seconds,
        "predicted": advice.chosen.seconds,
        "sampling": sample.seconds,
        "sampled": sample.n_sampled,
        "slowdown": sample.slowdown,
        "ratio_comp_io": advice.ratio_comp_io,
        "n_frames": analysis.n_frames,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
