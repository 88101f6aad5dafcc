"""Autocorrelation.

Because the protein drifts, the autocorrelation of its radius of gyration decays slowly.
The frames are therefore far from independent.
"""

import matplotlib.pyplot as plt
import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from mdreel.analysis import autocorrelation, statistical_inefficiency

run = mdreel.Rg(mda.Universe(PSF, DCD).select_atoms("protein")).run()
radius = run.results.rgyr[:, 2]
figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
axes.plot(run.times[:49] - run.times[0], autocorrelation(radius)[:49])
axes.axhline(0, color="black", linewidth=0.8)
axes.set(xlabel="Lag (ps)", ylabel="Autocorrelation")
axes.set_title(
    f"One in {statistical_inefficiency(radius):.0f} frames is independent", loc="left"
)
figure.savefig("autocorrelation.png", dpi=150)
