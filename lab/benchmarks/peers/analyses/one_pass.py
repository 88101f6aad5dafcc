"""mdreel: three analyses in one pass; or, as its floor, the costliest reading of one, and the computing of all."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from peers.job import Found, Job, Work, measure

if TYPE_CHECKING:
    from MDAnalysis import Universe

READING = ("open", "read", "decompress")
COMPUTING = ("compute", "reduce")


def prepare(job: Job) -> Work:
    """Make the analyses."""
    import MDAnalysis as mda

    import mdreel

    universe = mda.Universe(job.topology)

    def together() -> Found:
        analyses = make(universe, job)
        begin = time.perf_counter()
        mdreel.run(analyses, backend="serial")
        seconds = time.perf_counter() - begin
        return Found(analyses[0].n_frames, value_of(analyses), seconds=seconds)

    def apart() -> Found:
        analyses = [analysis.run(backend="serial") for analysis in make(universe, job)]
        reading, computing = (
            [sum(map(analysis.timing.seconds, kinds)) for analysis in analyses] for kinds in (READING, COMPUTING)
        )
        return Found(analyses[0].n_frames, value_of(analyses), seconds=max(reading) + sum(computing))

    return together if job.way == "together" else apart


def make(universe: Universe, job: Job) -> list[Any]:
    """Return an analysis of few atoms, one of many, and one that computes much."""
    from mdreel import RMSD, Ramachandran, Rg

    protein = universe.select_atoms("protein")
    return [
        RMSD(universe.atoms[job.indices()], trajectory=job.trajectory),
        Rg(protein, trajectory=job.trajectory),
        Ramachandran(protein, trajectory=job.trajectory),
    ]


def value_of(analyses: list[Any]) -> float:
    """Return a number in which all three results take part."""
    rmsd, rg, ramachandran = (analysis.results for analysis in analyses)
    return float(rmsd.rmsd[:, 2].mean() + rg.rgyr[:, 2].mean() + abs(ramachandran.angles).mean())


if __name__ == "__main__":
    measure(prepare)
