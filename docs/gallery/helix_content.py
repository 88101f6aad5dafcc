"""Helix and strand content.

The fraction of residues in a helix or a strand changes little while the domains move.
"""

import matplotlib.pyplot as plt
import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

run = mdreel.DSSP(mda.Universe(PSF, DCD)).run()
figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
for state, name in {"H": "helix", "E": "strand", "-": "other"}.items():
    axes.plot(run.times, 100 * (run.results.dssp == state).mean(axis=1), label=name)
axes.set(xlabel="Time (ps)", ylabel="Residues (%)", ylim=(0, 100))
axes.legend(ncols=3)
figure.savefig("helix_content.png", dpi=150)
