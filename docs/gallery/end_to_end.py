"""End-to-end distances.

Each curve shows the distance between the first and the last Cα atom of one domain of
adenylate kinase.
"""

import matplotlib.pyplot as plt
import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

ca = mda.Universe(PSF, DCD).select_atoms("name CA")
domains = {
    "LID": ca.select_atoms("resid 122:159"),
    "NMP": ca.select_atoms("resid 30:59"),
}
run = mdreel.EndToEnd(list(domains.values())).run()
figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
axes.plot(run.times, run.results.distances, label=list(domains))
axes.set(xlabel="Time (ps)", ylabel="First to last Cα atom (Å)")
axes.legend()
figure.savefig("end_to_end.png", dpi=150)
