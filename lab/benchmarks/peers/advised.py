"""mdreel: what its advice predicts of a run with several threads, and what that run takes, in one process."""

from __future__ import annotations

import json
import sys
import time
import warnings

from peers.job import Job


def main() -> None:
    """Advise on the job named on the command line, run it, print one line of JSON."""
    warnings.simplefilter("ignore")
    job = Job(**json.loads(sys.argv[1]))
    from mdreel.cluster.advice import advise

    analysis = _analysis(job)
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


def _analysis(job: Job):  # type: ignore[no-untyped-def]
    """Return the analysis of a job; its trajectory is opened when it is run."""
    if job.what == "rmsd":
        from peers.mdreel import analysis_of

        return analysis_of(job)
    import MDAnalysis as mda

    from peers.analyses.mdreel import ANALYSES

    make, _ = ANALYSES[job.what]
    return make(mda.Universe(job.topology), job)


if __name__ == "__main__":
    main()
