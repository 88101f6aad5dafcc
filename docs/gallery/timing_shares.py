"""Time spent on each kind of work.

Each bar shows how the time of a worker is divided among the kinds of work. The run
reads a short file 200 times, so that it takes long enough to be measured.
"""

import matplotlib.pyplot as plt
import MDAnalysis as mda
import numpy as np
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

protein = mda.Universe(PSF, DCD).select_atoms("protein")
timing = mdreel.RMSD(protein, trajectory=[DCD] * 200).run(n_workers=2).timing
figure, axes = plt.subplots(figsize=(8, 2.6), layout="constrained")
names, begin = (
    [f"worker {worker}" for worker in timing.workers],
    np.zeros(len(timing.workers)),
)
for kind in ("open", "read", "decompress", "compute", "wait"):
    axes.barh(names, timing.per_worker(kind), left=begin, label=kind)
    begin += timing.per_worker(kind)
axes.set(xlabel="Time (s)")
axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
figure.savefig("timing_shares.png", dpi=150)
