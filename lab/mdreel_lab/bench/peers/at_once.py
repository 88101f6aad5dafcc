"""Independent processes that each do all of the job on a core of their own: the limit of the machine.

All but the first begin in the middle of the file, so that none finds in a shared cache what another has just read.
"""

import os
from dataclasses import replace
from multiprocessing import get_context

from mdreel.trajectory.open import open as open_trajectory
from mdreel_lab.bench.peers import mdreel
from mdreel_lab.bench.peers.job import Job, Series, Work

PATIENCE = 600.0
"""Seconds after which one process no longer waits for the others."""


def prepare(job: Job) -> Work:
    """Start all but one of the processes, which wait for this one."""
    cores = sorted(os.sched_getaffinity(0))[: job.n_workers]
    context = get_context("fork")
    start, end = context.Barrier(len(cores)), context.Barrier(len(cores))
    alone = mdreel.prepare(replace(job, n_workers=1))
    analysis, middle = mdreel.analysis_of(job), open_trajectory(job.trajectory).n_frames // 2

    def run(core: int) -> Series:
        os.sched_setaffinity(0, {core})
        start.wait(PATIENCE)
        if core == cores[0]:
            series = alone()
        else:
            for frames in (slice(middle, None), slice(None, middle)):
                series = analysis.run(frames.start, frames.stop, n_workers=1).results.rmsd
        end.wait(PATIENCE)
        return series  # type: ignore[return-value]

    for core in cores[1:]:
        context.Process(target=run, args=(core,), daemon=True).start()
    return lambda: run(cores[0])
