"""Samples with the numbers of the papers, and of this house."""

from dataclasses import replace

from mdreel.cluster.advice.sample import FrameCost, Sample

# Khoshlessan et al. 2019, on Comet: 2,512,200 frames; one core computes 226 s and reads 791 s.
PAPER_FRAMES = 2_512_200
PAPER = Sample(
    n_frames=PAPER_FRAMES,
    alone=FrameCost(read=91 / PAPER_FRAMES, decompress=700 / PAPER_FRAMES, compute=226 / PAPER_FRAMES, n_bytes=12_000),
    spread=0.1,
    opening=1.0,
    row_bytes=24,
    file_bytes=12_000,
    n_atoms=3341,
    n_wanted_atoms=214,
    format="XTC",
)


def times(workload: float) -> Sample:
    """The same with so many times the computation."""
    return replace(PAPER, alone=replace(PAPER.alone, compute=workload * PAPER.alone.compute))


# Khoshlessan et al. 2018: 40 ms of dihedrals, 0.4 ms of reading.
DIHEDRALS = replace(
    PAPER,
    n_frames=100_000,
    alone=FrameCost(read=1e-4, decompress=3e-4, compute=0.04, n_bytes=12_000),
    row_bytes=8 * (2 + 848),
)

# AdK here, with two threads that get in each other's way a little.
HERE = replace(
    PAPER,
    alone=FrameCost(read=4e-7, decompress=3.4e-6, compute=8e-7, reduce=1e-8, n_bytes=12_500),
    together=FrameCost(read=5e-7, decompress=3.7e-6, compute=8e-7, reduce=1e-8, n_bytes=12_500),
    n_together=2,
    spread=0.02,
    opening=0.01,
)
