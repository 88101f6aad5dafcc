"""Activity of each worker over time.

Each bar is a time interval in which a worker waited, read, decompressed or computed.
Each process first opens the trajectory and imports the modules that it needs.
"""

import matplotlib.pyplot as plt
import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from mdreel.timing.spans import KINDS

protein = mda.Universe(PSF, DCD).select_atoms("protein")
sasa = mdreel.SASA(protein, mode="total")
spans = sasa.run(step=3, backend="processes", n_workers=3, n_parts=12).timing.spans
figure, axes = plt.subplots(figsize=(8, 2.6), layout="constrained")
for kind in ("wait", "open", "read", "decompress", "compute"):
    of = spans[(spans["kind"] == KINDS.index(kind)) & (spans["worker"] < 3)]
    start, stop = of["start_ns"] / 1e9, of["stop_ns"] / 1e9
    axes.barh(of["worker"], stop - start, left=start, label=kind)
axes.set(xlabel="Time (s)", ylabel="Worker", yticks=range(3))
axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
figure.savefig("task_stream.png", dpi=150)
